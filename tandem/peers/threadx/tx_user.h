/* ThreadX at its fastest: the options that its tx_user_sample.h names. With GUARDS, its check of
 * stacks. Its assembly reads this file too. */
#ifndef TX_USER_H
#define TX_USER_H

#define TX_DISABLE_ERROR_CHECKING
#define TX_DISABLE_PREEMPTION_THRESHOLD
#define TX_DISABLE_REDUNDANT_CLEARING
#define TX_DISABLE_NOTIFY_CALLBACKS
#define TX_NOT_INTERRUPTABLE
#define TX_TIMER_PROCESS_IN_ISR
#define TX_REACTIVATE_INLINE
#define TX_INLINE_THREAD_RESUME_SUSPEND
#ifdef GUARDS
#define TX_ENABLE_STACK_CHECKING
#else
#define TX_DISABLE_STACK_FILLING
#endif

#endif
