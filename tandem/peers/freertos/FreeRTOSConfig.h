/* FreeRTOS at its fastest. With GUARDS, its check of the stack pointer at each switch; with SLICES,
 * its time slices. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include "board.h"

#define configCPU_CLOCK_HZ 168000000
#define configTICK_RATE_HZ BOARD_TICK_HERTZ
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configUSE_PREEMPTION 1
#ifdef SLICES
#define configUSE_TIME_SLICING 1
#else
#define configUSE_TIME_SLICING 0
#endif
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 1
#define configMAX_PRIORITIES 8
/* In words, as all stacks. */
#define configMINIMAL_STACK_SIZE 128
#define configMAX_TASK_NAME_LEN 1
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configUSE_TIMERS 0
#define configUSE_TASK_NOTIFICATIONS 0
#define configUSE_COUNTING_SEMAPHORES 1
#define configUSE_MUTEXES 1
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#ifdef GUARDS
#define configCHECK_FOR_STACK_OVERFLOW 1
#else
#define configCHECK_FOR_STACK_OVERFLOW 0
#endif

/* Waits without a time limit take no place in the list of timed waits. */
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_vTaskDelay 1

/* The most urgent level from which FreeRTOS may be called. */
#define configMAX_SYSCALL_INTERRUPT_PRIORITY BOARD_LEVEL
#define configKERNEL_INTERRUPT_PRIORITY 0xf0
/* The names of the handlers in the vector table. */
#define vPortSVCHandler SVC_Handler
#define xPortPendSVHandler PendSV_Handler

#endif
