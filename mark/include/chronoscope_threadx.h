/* The hooks of ThreadX: its threads appear by name in `chronoscope watch --stream`, with their times on
 * the processor and their waits from ready to running. For the board form of the marks; without
 * CHRONO_MARK_BOARD, and with CHRONO_MARK_OFF, they are nothing.
 *
 *     #include <chronoscope_threadx.h>             at the end of tx_user.h
 *
 *     #define CHRONO_MARK_IMPLEMENTATION           in one file
 *     #include <tx_api.h>
 *
 * ThreadX and the program are compiled with TX_INCLUDE_USER_DEFINE_FILE. Two marks a switch and one a
 * thread that becomes ready; names are sent by chrono_drain. A handler that calls
 * _tx_thread_context_save and _restore is within `interrupt`; others are named by marks of their own.
 */
#ifndef CHRONOSCOPE_THREADX_H
#define CHRONOSCOPE_THREADX_H

#if defined(CHRONO_MARK_BOARD) && !defined(CHRONO_MARK_OFF)

/* The kernel's assembly reads tx_user.h, too. */
#ifndef TX_ENABLE_EXECUTION_CHANGE_NOTIFY
#define TX_ENABLE_EXECUTION_CHANGE_NOTIFY
#endif

#ifndef __ASSEMBLER__
#include <chronoscope_mark.h>

#define TX_THREAD_CREATE_INTERNAL_EXTENSION(thread)                                                \
    chrono_name((uint32_t)(thread), (thread)->tx_thread_name);
#define TX_THREAD_STATE_CHANGE(thread, state)                                                      \
    if ((state) == TX_READY)                                                                       \
        CHRONO_VALUE(task_ready, (uint32_t)(thread));

#ifdef CHRONO_MARK_IMPLEMENTATION
extern struct TX_THREAD_STRUCT *_tx_thread_current_ptr;
void _tx_execution_initialize(void);
void _tx_execution_thread_enter(void);
void _tx_execution_thread_exit(void);
void _tx_execution_isr_enter(void);
void _tx_execution_isr_exit(void);

void _tx_execution_initialize(void) {}
void _tx_execution_thread_enter(void) { CHRONO_VALUE(task_runs, (uint32_t)_tx_thread_current_ptr); }
void _tx_execution_thread_exit(void) { CHRONO_VALUE(task_runs, 0); }
void _tx_execution_isr_enter(void) { CHRONO_BEGIN(interrupt); }
void _tx_execution_isr_exit(void) { CHRONO_END(interrupt); }
#endif

#endif
#endif
#endif
