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
    const int64_t before = k_uptime_ticks();
    while (k_uptime_ticks() == before)
        ;
    chrono_ticks_start(chrono_clock_now() - (uint64_t)k_uptime_ticks() * TICK, TICK);
    chrono_main(&target, chrono_semihosting_request());
    chrono_semihosting_exit(true);
    return 0;
}
