/* Firmware with marks, in C for a Cortex-M4: SysTick samples, the main loop filters what was sampled.
 *
 *     cd mark/examples/firmware
 *     arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -O2 -g -nostdlib -I ../../include -T link.ld main.c -o app.elf
 *     chronoscope watch app.elf --chip stm32f405 --clock 84MHz
 */
#include <chronoscope_mark.h>
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define SYSTICK_CONTROL REGISTER(0xE000E010)
#define SYSTICK_RELOAD REGISTER(0xE000E014)
#define SYSTICK_VALUE REGISTER(0xE000E018)

enum { ROUNDS = 100, TICKS = 20000 };

static volatile uint32_t sampled;
static volatile int32_t input, state;

/* The work depends on the input: the longest round is the one with the largest. */
static __attribute__((noinline)) void control(uint32_t steps) {
    for (uint32_t step = 0; step <= steps; step++)
        state += (input - state) >> 2;
}

static void sample(void) {
    CHRONO_INSTANT(sample);
    input = (int32_t)(sampled * 37 & 0xff);
    sampled++;
}

static void end(void) {
    register uint32_t call __asm__("r0") = 0x18;
    register uint32_t reason __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xab" : : "r"(call), "r"(reason) : "memory");
    for (;;) {
    }
}

void start(void) {
    SYSTICK_RELOAD = TICKS - 1;
    SYSTICK_VALUE = 0;
    SYSTICK_CONTROL = 7;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        while (sampled == round)
            __asm__ volatile("wfi");
        CHRONO_BEGIN(control);
        control(sampled % 10);
        CHRONO_END(control);
        CHRONO_VALUE(state, state);
    }
    end();
}

extern uint32_t stack_top[];

static void (*const vectors[16])(void) __attribute__((section(".vectors"), used)) = {
    (void (*)(void))stack_top,
    [1] = start,
    [2] = end,
    [3] = end,
    [15] = sample,
};
