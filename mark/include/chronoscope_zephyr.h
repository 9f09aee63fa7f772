/* The hooks of Zephyr: its threads appear by name in `chronoscope watch --stream`, with their times on the
 * processor and their waits from ready to running. For the board form of the marks; without
 * CHRONO_MARK_BOARD, and with CHRONO_MARK_OFF, they are nothing.
 *
 *     CONFIG_TRACING=y, CONFIG_TRACING_USER=y, CONFIG_THREAD_NAME=y     in prj.conf
 *
 *     #define CHRONO_MARK_IMPLEMENTATION                                in one file
 *     #include <chronoscope_zephyr.h>
 *
 * Two marks a switch, one a thread that becomes ready, and two a handler, which is within `interrupt`;
 * names are sent by chrono_drain. The idle thread runs as the others do.
 */
#ifndef CHRONOSCOPE_ZEPHYR_H
#define CHRONOSCOPE_ZEPHYR_H

#include <chronoscope_mark.h>
#include <zephyr/kernel.h>

#if defined(CHRONO_MARK_BOARD) && !defined(CHRONO_MARK_OFF) && defined(CHRONO_MARK_IMPLEMENTATION)
void sys_trace_thread_name_set_user(struct k_thread *thread);
void sys_trace_thread_sched_ready_user(struct k_thread *thread);
/* By their symbols: up to Zephyr 3.2 their declarations have an argument, which is not looked at. */
void chrono_zephyr_in(void) __asm__("sys_trace_thread_switched_in_user");
void chrono_zephyr_out(void) __asm__("sys_trace_thread_switched_out_user");
void chrono_zephyr_enter(void) __asm__("sys_trace_isr_enter_user");
void chrono_zephyr_exit(void) __asm__("sys_trace_isr_exit_user");

void sys_trace_thread_name_set_user(struct k_thread *thread) {
    chrono_name((uint32_t)thread, k_thread_name_get(thread));
}
void chrono_zephyr_in(void) {
    CHRONO_VALUE(task_runs, (uint32_t)_current);
}
void chrono_zephyr_out(void) { CHRONO_VALUE(task_runs, 0); }
void sys_trace_thread_sched_ready_user(struct k_thread *thread) {
    CHRONO_VALUE(task_ready, (uint32_t)thread);
}
void chrono_zephyr_enter(void) { CHRONO_BEGIN(interrupt); }
void chrono_zephyr_exit(void) { CHRONO_END(interrupt); }
#endif

#endif
