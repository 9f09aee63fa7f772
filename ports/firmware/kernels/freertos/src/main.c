/* The image: FreeRTOS on the machines cortex-m4 and rv32. */
#include <FreeRTOS.h>
#include <task.h>

#include "chronoscope.h"
#include "chronoscope_freertos.h"
#include "chronoscope_machine.h"

#define TICK (MACHINE_HERTZ / configTICK_RATE_HZ)

#ifdef __arm__
/* QEMU's SysTick loses ticks while the processor sleeps: the machine's alarm pends the exception. */
void vPortSetupTimerInterrupt(void)
{
}

void machine_tick(void)
{
    *(volatile uint32_t *)0xE000ED04 = 1u << 26;
}

/* The most urgent level from which FreeRTOS may be called. */
#define LEVEL (configMAX_SYSCALL_INTERRUPT_PRIORITY >> 4)
#define MEMORY (108 * 1024)

static void set_up_traps(void)
{
}
#endif

#ifdef __riscv
void vPortSetupTimerInterrupt(void)
{
}

void machine_tick(void)
{
    if (xTaskIncrementTick() != pdFALSE)
        vTaskSwitchContext();
}

/* The chip's handlers of the two interrupts. */
void MachineSoft(void);
void MachineExternal(void);

/* Called by FreeRTOS's handler, on the stack of handlers. */
void freertos_risc_v_application_interrupt_handler(uint32_t cause)
{
    if ((cause & 0x7fffffff) == 3)
        MachineSoft();
    else
        MachineExternal();
}

void freertos_risc_v_application_exception_handler(uint32_t cause)
{
    static const char text[] = "exception in a task";
    (void)cause;
    chrono_fail(text, sizeof text - 1);
}

#define LEVEL 0
#define MEMORY (120 * 1024)

extern void freertos_risc_v_trap_handler(void);

/* The same handler for each cause, for a core that always jumps into a table, as Ibex does. */
__attribute__((naked, aligned(256))) static void handlers(void)
{
    __asm volatile(".option push\n"
                   ".option norvc\n"
                   ".rept 32\n"
                   "j freertos_risc_v_trap_handler\n"
                   ".endr\n"
                   ".option pop");
}

static void set_up_traps(void)
{
    const uintptr_t handler = (uintptr_t)freertos_risc_v_trap_handler;
    uintptr_t taken;
    __asm volatile("csrw mtvec, %1\n"
                   "csrr %0, mtvec"
                   : "=r"(taken)
                   : "r"(handler));
    if (taken != handler)
        __asm volatile("csrw mtvec, %0" ::"r"((uintptr_t)handlers | 1));
}
#endif

void vApplicationIdleHook(void)
{
    machine_sleep();
}

#ifdef CHECKED
static void fail(const char *text)
{
    size_t length = 0;
    while (text[length] != 0)
        length++;
    chrono_fail(text, length);
}

void image_assert(const char *condition)
{
    fail(condition);
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    (void)name;
    fail("stack overflow in a task");
}

#define CHECKS "configASSERT and stack checks on"
#else
#define CHECKS "configASSERT off"
#endif

#ifdef CHRONO_NOTIFICATIONS
#define SEMAPHORES ", semaphores are task notifications"
#else
#define SEMAPHORES ""
#endif

static uint64_t memory[MEMORY / sizeof(uint64_t)];

static void director(void *unused)
{
    static chrono_target target = {
        .abi = CHRONO_ABI,
        .kernel = KERNEL,
        .release = tskKERNEL_VERSION_NUMBER,
        .build = CHRONO_BUILD OPTIONS ", " CHECKS SEMAPHORES,
        .tick_us = 1000000 / configTICK_RATE_HZ,
        .memory = memory,
        .bytes = sizeof memory,
    };
    (void)unused;
    machine_start(LEVEL);
    const uint64_t zero = chrono_clock_now();
    machine_tick_every(TICK);
    /* Ticks before the first are as good as none. */
    chrono_freertos_start(zero - (uint64_t)xTaskGetTickCount() * TICK, TICK);
    target.domain = machine_domain();
    target.hertz = machine_hertz();
    chrono_main(&target, machine_request());
    machine_exit();
}

void vApplicationGetIdleTaskMemory(StaticTask_t **task, StackType_t **stack,
                                   configSTACK_DEPTH_TYPE *words)
{
    static StaticTask_t idle;
    static StackType_t idle_stack[configMINIMAL_STACK_SIZE] __attribute__((aligned(16)));
    *task = &idle;
    *stack = idle_stack;
    *words = configMINIMAL_STACK_SIZE;
}

int main(void)
{
    static StaticTask_t task;
    static StackType_t stack[2048] __attribute__((aligned(16)));
    set_up_traps();
    xTaskCreateStatic(director, "director", sizeof stack / sizeof *stack, NULL,
                      chrono_freertos_priority(CHRONO_ORDINARY), stack, &task);
    vTaskStartScheduler();
    return 0;
}
