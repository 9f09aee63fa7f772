/* The image: ThreadX on the machine cortex-m4. */
#include "tx_api.h"
#include "tx_initialize.h"
#include "tx_thread.h"
#include "tx_timer.h"

#include "chronoscope.h"
#include "chronoscope_machine.h"
#include "chronoscope_ticks.h"

#define TICK (MACHINE_HERTZ / TX_TIMER_TICKS_PER_SECOND)
#define MEMORY (96 * 1024)

/* The most urgent level: ThreadX masks by PRIMASK, so it may be called from every level. The alarm
 * has level 1, and SysTick level 4. */
#define LEVEL 0

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number
#define RELEASE TEXT(THREADX_MAJOR_VERSION) "." TEXT(THREADX_MINOR_VERSION) "." \
    TEXT(THREADX_PATCH_VERSION)

/* QEMU's SysTick loses ticks while the processor sleeps: the machine's alarm pends the exception. */
void machine_tick(void)
{
    *(volatile uint32_t *)0xE000ED04 = 1u << 26;
}

void _tx_timer_interrupt(void);

/* The names of the handlers in the vector table. */
void SysTick(void)
{
    _tx_timer_interrupt();
}

void SVCall(void)
{
    static const char text[] = "a supervisor call";
    chrono_fail(text, sizeof text - 1);
}

extern uint32_t __sheap;
extern uint32_t _stack_start;

/* Called by tx_kernel_enter() first of all: the end of the memory that is used, the stack of
 * handlers, and the priorities of SVC, PendSV and SysTick. */
VOID _tx_initialize_low_level(VOID)
{
    __asm volatile("cpsid i");
    _tx_initialize_unused_memory = (VOID *)&__sheap;
    _tx_thread_system_stack_ptr = (VOID *)&_stack_start;
    *(volatile uint32_t *)0xE000ED1C = 0xFF000000;
    *(volatile uint32_t *)0xE000ED20 = 0x40FF0000;
}

static uint64_t memory[MEMORY / sizeof(uint64_t)];

static VOID director(ULONG unused)
{
    static chrono_target target = {
        .abi = CHRONO_ABI,
        .kernel = KERNEL,
        .release = RELEASE,
        .build = CHRONO_BUILD OPTIONS ", error checking off",
        .tick_us = 1000000 / TX_TIMER_TICKS_PER_SECOND,
        .memory = memory,
        .bytes = sizeof memory,
    };
    (void)unused;
    machine_start(LEVEL);
    const uint64_t zero = chrono_clock_now();
    machine_tick_every(TICK);
    chrono_ticks_start(zero - (uint64_t)tx_time_get() * TICK, TICK);
    target.domain = machine_domain();
    target.hertz = machine_hertz();
    chrono_main(&target, machine_request());
    machine_exit();
}

VOID tx_application_define(VOID *unused)
{
    static TX_THREAD thread;
    static uint64_t stack[1024];
    const UINT priority = chrono_kernel_priority(CHRONO_ORDINARY);
    (void)unused;
    tx_thread_create(&thread, (CHAR *)"director", director, 0, stack, sizeof stack, priority,
                     priority, TX_NO_TIME_SLICE, TX_AUTO_START);
}

int main(void)
{
    tx_kernel_enter();
    return 0;
}
