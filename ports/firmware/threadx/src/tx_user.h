/* ThreadX configured for speed, as its manual says. */
#ifndef TX_USER_H
#define TX_USER_H

#define TX_DISABLE_ERROR_CHECKING
#define TX_INLINE_THREAD_RESUME_SUSPEND
#define TX_DISABLE_NOTIFY_CALLBACKS
#define TX_DISABLE_PREEMPTION_THRESHOLD
/* The processor sleeps while no thread is ready. */
#define TX_ENABLE_WFI
#define TX_TIMER_TICKS_PER_SECOND ((ULONG)1000)

#endif
