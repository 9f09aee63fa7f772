/* FreeRTOS as its users configure it for speed; with CHECKED, as its demos do: FreeRTOS's own defaults,
 * assertions, checks of stacks, and the registry of queues. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#ifndef configCPU_CLOCK_HZ
#define configCPU_CLOCK_HZ 1000000000
#endif
#define configTICK_RATE_HZ 1000
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configUSE_PREEMPTION 1
/* The kernel's idle task, and the suite's ten priorities. */
#define configMAX_PRIORITIES 11
#define configMINIMAL_STACK_SIZE 128
#define configMAX_TASK_NAME_LEN 12
#define configUSE_IDLE_HOOK 1
#ifndef configUSE_TICK_HOOK
#define configUSE_TICK_HOOK 0
#endif
#define configUSE_TIMERS 0
#define configUSE_COUNTING_SEMAPHORES 1
#define configUSE_MUTEXES 1
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 1
/* The heap is heap.c. */
#define configTOTAL_HEAP_SIZE 0

/* The count of switches, which is the evidence of experiments. */
#define configUSE_TRACE_FACILITY 1
#define traceTASK_SWITCHED_IN() CHRONO_COUNT_SWITCH()
#include "chronoscope_freertos_count.h"

#define INCLUDE_vTaskDelete 1
/* Waits without a time limit take no place in the list of timed waits. */
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_xTaskDelayUntil 1
#define INCLUDE_uxTaskGetStackHighWaterMark 1

#ifdef CHRONO_NOTIFICATIONS
#define configTASK_NOTIFICATION_ARRAY_ENTRIES 4
#endif

#ifdef CHECKED
#define configUSE_RECURSIVE_MUTEXES 1
#define configQUEUE_REGISTRY_SIZE 8
#define configCHECK_FOR_STACK_OVERFLOW 2
void image_assert(const char *condition);
#define configASSERT(condition)         \
    do {                                \
        if (!(condition))               \
            image_assert(#condition);   \
    } while (0)
#else
/* Tasks of one priority run in the order in which they became ready. */
#define configUSE_TIME_SLICING 0
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 1
#define configCHECK_FOR_STACK_OVERFLOW 0
#endif

#ifdef __arm__
/* The most urgent priority from which FreeRTOS may be called, in the upper four bits. */
#define configMAX_SYSCALL_INTERRUPT_PRIORITY (5 << 4)
#define configKERNEL_INTERRUPT_PRIORITY (15 << 4)
/* The names of the handlers in the vector table. */
#define vPortSVCHandler SVCall
#define xPortPendSVHandler PendSV
#define xPortSysTickHandler SysTick
#endif

#ifdef __riscv
/* machine_tick() is the tick. */
#define configMTIME_BASE_ADDRESS 0
#define configMTIMECMP_BASE_ADDRESS 0
#define configISR_STACK_SIZE_WORDS 512
#endif

#endif
