/* The experiments on Zephyr, on the board of this folder: an STM32F405 as QEMU has it. */
#include <zephyr/drivers/timer/system_timer.h>
#include <zephyr/kernel.h>
#if __has_include(<zephyr/version.h>)
#include <zephyr/version.h>
#else
/* Up to Zephyr 3.2. */
#include <version.h>
#endif

#include "chronoscope.h"
#include "chronoscope_semihosting.h"
#include "chronoscope_ticks.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))

/* ---- Clock ----------------------------------------------------------------------------------- */

/* TIM5, of 32 bits, and TIM4: control, count, prescaler. In QEMU the timers count at 1 GHz, an
 * instruction a nanosecond. */
#define HERTZ ((uint32_t)CONFIG_SYS_CLOCK_HW_CYCLES_PER_SEC)
#define FINE_CONTROL REGISTER(0x40000C00)
#define FINE_COUNT REGISTER(0x40000C24)
#define COARSE_CONTROL REGISTER(0x40000800)
#define COARSE_COUNT REGISTER(0x40000824)
#define COARSE_PRESCALER REGISTER(0x40000828)

/* TIM4 counts the upper bits: 48 bits in all. */
uint64_t chrono_clock_now(void)
{
    const uint64_t coarse = (uint64_t)COARSE_COUNT << 16;
    /* Read after the other, so it is ahead of it by less than 65536 and a few ticks. */
    return coarse + (FINE_COUNT - (uint32_t)coarse);
}

static void start_clock(void)
{
    uint32_t before;
    COARSE_PRESCALER = 65535;
    FINE_CONTROL = 1;
    COARSE_CONTROL = 1;
    /* Again, if TIM5 has just come to a multiple of 65536. */
    do {
        before = FINE_COUNT;
        COARSE_COUNT = before >> 16;
    } while (FINE_COUNT >> 16 != before >> 16);
}

/* ---- Interrupts ------------------------------------------------------------------------------ */

/* Their lines: TIM2, TIM3, and EXTI15_10, which software raises. Zephyr's level 0 is the most urgent
 * that it masks; the tick is less urgent than the experiments, as on this machine's other kernels. */
#define TICK_LINE 28
#define TICK_LEVEL 2
#define TIMER_LINE 29
#define SOFTWARE_LINE 40

/* TIM2 makes Zephyr's ticks, TIM3 the experiments' interrupts: control, interrupt enable, status, reload.
 * QEMU has no compare channels: it interrupts at the reload value, counted from its write. */
#define CONTROL(timer) REGISTER((timer) + 0x00)
#define ENABLE(timer) REGISTER((timer) + 0x0C)
#define STATUS(timer) REGISTER((timer) + 0x10)
#define RELOAD(timer) REGISTER((timer) + 0x2C)
#define TIM2 0x40000000u
#define TIM3 0x40000400u

/* The shortest and the longest time that the experiments' timer is set to, in ticks of the clock. */
#define SHORTEST 8
#define LONGEST (1 << 30)

#define TICK (HERTZ / CONFIG_SYS_CLOCK_TICKS_PER_SEC)

/* QEMU's SysTick loses time while the processor sleeps, so Zephyr's driver of it is not chosen, and a
 * timer makes the ticks, as on this machine's other kernels. */
static void on_tick(const void *unused)
{
    (void)unused;
    STATUS(TIM2) = 0;
    sys_clock_announce(1);
}

/* Zephyr asks a driver with ticks: none has passed that was not announced. */
uint32_t sys_clock_elapsed(void)
{
    return 0;
}

uint32_t sys_clock_cycle_get_32(void)
{
    return FINE_COUNT;
}

/* Starts the ticks, and returns the clock's value at Zephyr's tick 0, or less by the few instructions
 * of the loop: a tick is never taken to be later than it is, which would make a late task look less
 * late. */
static uint64_t start_ticks(void)
{
    IRQ_CONNECT(TICK_LINE, TICK_LEVEL, on_tick, NULL, 0);
    CONTROL(TIM2) = 1;
    RELOAD(TIM2) = TICK;
    ENABLE(TIM2) = 1;
    irq_enable(TICK_LINE);
    uint64_t edge = chrono_clock_now();
    const int64_t before = k_uptime_ticks();
    while (k_uptime_ticks() == before)
        edge = chrono_clock_now();
    return edge - (uint64_t)(before + 1) * TICK;
}

static void on_timer(const void *unused)
{
    (void)unused;
    /* Otherwise it fires again after as many ticks. */
    ENABLE(TIM3) = 0;
    STATUS(TIM3) = 0;
    chrono_on_timer();
}

static void on_software(const void *unused)
{
    (void)unused;
    chrono_on_software();
}

bool chrono_attach(bool timer)
{
    if (timer) {
        IRQ_CONNECT(TIMER_LINE, 0, on_timer, NULL, 0);
        CONTROL(TIM3) = 1;
        irq_enable(TIMER_LINE);
    } else {
        IRQ_CONNECT(SOFTWARE_LINE, 0, on_software, NULL, 0);
        irq_enable(SOFTWARE_LINE);
    }
    return true;
}

void chrono_raise(void)
{
    REGISTER(0xE000E204) = 1u << (SOFTWARE_LINE - 32);
    __asm volatile("dsb\nisb");
}

void chrono_arm(uint64_t due)
{
    const int64_t left = (int64_t)(due - chrono_clock_now());
    if (left < SHORTEST)
        RELOAD(TIM3) = SHORTEST;
    else if (left > LONGEST)
        RELOAD(TIM3) = LONGEST;
    else {
        /* Read again: each tick from here to the write makes the interrupt late by one. */
        const int32_t now_left = (int32_t)((uint32_t)due - FINE_COUNT);
        RELOAD(TIM3) = now_left < SHORTEST ? SHORTEST : (uint32_t)now_left;
    }
    ENABLE(TIM3) = 1;
}

/* ---- Start ----------------------------------------------------------------------------------- */

#define MEMORY (64 * 1024)

static uint64_t memory[MEMORY / sizeof(uint64_t)];

int main(void)
{
    static chrono_target target = {
        .abi = CHRONO_ABI,
        .domain = CHRONO_INSTRUCTIONS,
        .kernel = "zephyr",
        .release = KERNEL_VERSION_STRING,
        .build = CHRONO_BUILD "SPEED_OPTIMIZATIONS, FPU_SHARING, no MPU",
        .hertz = HERTZ,
        .tick_us = 1000000 / CONFIG_SYS_CLOCK_TICKS_PER_SEC,
        .memory = memory,
        .bytes = sizeof memory,
    };
    start_clock();
    chrono_ticks_start(start_ticks(), TICK);
    chrono_main(&target, chrono_semihosting_request());
    chrono_semihosting_exit(true);
    return 0;
}
