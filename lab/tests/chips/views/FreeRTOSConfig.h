#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#define configCPU_CLOCK_HZ 168000000
#define configTICK_RATE_HZ 1000
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 0
#define configMAX_PRIORITIES 7
#define configMINIMAL_STACK_SIZE 128
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configUSE_MUTEXES 1
#define configSUPPORT_DYNAMIC_ALLOCATION 1
#define configTOTAL_HEAP_SIZE 16384
#define configCHECK_FOR_STACK_OVERFLOW 0
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_vTaskDelay 1
#define INCLUDE_uxTaskGetStackHighWaterMark 1

#define configMAX_SYSCALL_INTERRUPT_PRIORITY (5 << 4)
#define configKERNEL_INTERRUPT_PRIORITY (15 << 4)
#define vPortSVCHandler SVCall
#define xPortPendSVHandler PendSV
#define xPortSysTickHandler SysTick

#ifdef CHRONO_MARK_BOARD
#include <chronoscope_freertos.h>
#endif

#endif
