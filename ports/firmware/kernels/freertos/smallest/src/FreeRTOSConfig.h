/* FreeRTOS as its smallest programs have it: static tasks and the tick, nothing else. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#define configCPU_CLOCK_HZ 168000000
#define configTICK_RATE_HZ 1000
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 0
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 1
#define configMAX_PRIORITIES 2
/* In words, like the tasks' stacks. */
#define configMINIMAL_STACK_SIZE 64
#define configMAX_TASK_NAME_LEN 1
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configUSE_TIMERS 0
#define configUSE_MUTEXES 0
#define configUSE_TASK_NOTIFICATIONS 0
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#define configCHECK_FOR_STACK_OVERFLOW 0

/* The most urgent priority from which FreeRTOS may be called, in the upper four bits. */
#define configMAX_SYSCALL_INTERRUPT_PRIORITY (5 << 4)
#define configKERNEL_INTERRUPT_PRIORITY (15 << 4)
/* The names of the handlers in the vector table. */
#define vPortSVCHandler SVCall
#define xPortPendSVHandler PendSV
#define xPortSysTickHandler SysTick

#endif
