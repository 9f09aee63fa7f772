/* ThreadX configured for speed. */
#ifndef TX_USER_H
#define TX_USER_H

#define TX_DISABLE_ERROR_CHECKING

/* The options that tx_user_sample.h of ThreadX names for the highest speed. TX_MAX_PRIORITIES is 32
 * by default. */
#define TX_DISABLE_PREEMPTION_THRESHOLD
#define TX_DISABLE_REDUNDANT_CLEARING
#define TX_DISABLE_NOTIFY_CALLBACKS
#define TX_NOT_INTERRUPTABLE
#define TX_TIMER_PROCESS_IN_ISR
#define TX_REACTIVATE_INLINE
#define TX_DISABLE_STACK_FILLING
#define TX_INLINE_THREAD_RESUME_SUSPEND

/* The processor sleeps while no thread is ready. */
#define TX_ENABLE_WFI
#define TX_TIMER_TICKS_PER_SECOND ((ULONG)1000)

#endif
