/* The experiments on Zephyr's board qemu_riscv32. It has been compiled against declarations only, and
 * never run. */
#include <zephyr/kernel.h>
#include <zephyr/version.h>

#include "chronoscope.h"
#include "chronoscope_semihosting.h"
#include "chronoscope_ticks.h"

/* Ticks of mcycle a second: QEMU executes an instruction in a nanosecond. */
#define HERTZ 1000000000u
#define TICK (HERTZ / CONFIG_SYS_CLOCK_TICKS_PER_SEC)
#define MEMORY (96 * 1024)

/* The machine's software interrupt. */
#define MSIP (*(volatile uint32_t *)0x02000000)
/* The machine's time, of which Zephyr makes its ticks: the low and the high half. */
#define MTIME ((volatile uint32_t *)0x0200BFF8)

uint64_t chrono_clock_now(void)
{
    uint32_t high, low, again;
    do {
        __asm volatile("csrr %0, mcycleh" : "=r"(high));
        __asm volatile("csrr %0, mcycle" : "=r"(low));
        __asm volatile("csrr %0, mcycleh" : "=r"(again));
    } while (high != again);
    return (uint64_t)high << 32 | low;
}

static uint64_t mtime(void)
{
    uint32_t high, low;
    do {
        high = MTIME[1];
        low = MTIME[0];
    } while (high != MTIME[1]);
    return (uint64_t)high << 32 | low;
}

/* Returns the clock's value at Zephyr's tick 0, or less by the few instructions of the loops: a tick
 * is never taken to be later than it is, which would make a late task look less late. */
static uint64_t tick_zero(void)
{
    const uint32_t hertz = (uint32_t)sys_clock_hw_cycles_per_sec();
    uint64_t last, next = mtime();
    const int64_t before = k_uptime_ticks();
    do {
        last = next;
        next = mtime();
    } while (k_uptime_ticks() == before);
    /* The next tick began when mtime was last + 1 at the earliest. */
    const uint64_t zero = last + 1 - (uint64_t)(before + 1) * (hertz / CONFIG_SYS_CLOCK_TICKS_PER_SEC);
    uint64_t edge, now = chrono_clock_now();
    const uint64_t time = mtime();
    do {
        edge = now;
        now = chrono_clock_now();
    } while (mtime() == time);
    return edge - (time + 1 - zero) * (HERTZ / hertz);
}

static void on_software(const void *unused)
{
    (void)unused;
    MSIP = 0;
    chrono_on_software();
}

bool chrono_attach(bool timer)
{
    if (timer)
        return false;
    IRQ_CONNECT(RISCV_IRQ_MSOFT, 0, on_software, NULL, 0);
    irq_enable(RISCV_IRQ_MSOFT);
    return true;
}

void chrono_raise(void)
{
    MSIP = 1;
    while (MSIP != 0)
        ;
}

/* There is no timer line. */
void chrono_arm(uint64_t due)
{
    (void)due;
}

static uint64_t memory[MEMORY / sizeof(uint64_t)];

int main(void)
{
    static chrono_target target = {
        .abi = CHRONO_ABI,
        .domain = CHRONO_INSTRUCTIONS,
        .kernel = "zephyr",
        .release = KERNEL_VERSION_STRING,
        .build = CHRONO_BUILD "SPEED_OPTIMIZATIONS, no PMP, TRACING_USER",
        .hertz = HERTZ,
        .tick_us = 1000000 / CONFIG_SYS_CLOCK_TICKS_PER_SEC,
        .memory = memory,
        .bytes = sizeof memory,
    };
    chrono_ticks_start(tick_zero(), TICK);
    chrono_main(&target, chrono_semihosting_request());
    chrono_semihosting_exit(true);
    return 0;
}
