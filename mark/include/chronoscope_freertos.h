/* The hooks of FreeRTOS: its tasks appear by name in `chronoscope watch --stream`, with their times on
 * the processor and their waits from ready to running. For the board form of the marks; without
 * CHRONO_MARK_BOARD, and with CHRONO_MARK_OFF, they are nothing.
 *
 *     #include <chronoscope_freertos.h>      at the end of FreeRTOSConfig.h
 *
 * One mark a switch and one a task that becomes ready (14 instructions each); names are sent by
 * chrono_drain. Handlers are named by marks of their own: CHRONO_BEGIN(uart) ... CHRONO_END(uart).
 */
#ifndef CHRONOSCOPE_FREERTOS_H
#define CHRONOSCOPE_FREERTOS_H

#include <chronoscope_mark.h>

#if defined(CHRONO_MARK_BOARD) && !defined(CHRONO_MARK_OFF)
#define traceTASK_SWITCHED_IN() CHRONO_VALUE(task_runs, (uint32_t)pxCurrentTCB)
#define traceMOVED_TASK_TO_READY_STATE(tcb) CHRONO_VALUE(task_ready, (uint32_t)(tcb))
#define traceTASK_CREATE(tcb) chrono_name((uint32_t)(tcb), (tcb)->pcTaskName)
#endif

#endif
