/* Firmware for a board that nobody observes, an STM32F405 after its reset (16 MHz): the marks of main.c
 * beside this file, which the main loop sends over USART1 (PA9) at 115200 baud.
 *
 *     cd mark/examples/firmware
 *     arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -O2 -g -nostdlib -DCHRONO_MARK_BOARD \
 *         -I ../../include -T link.ld board.c -o board.elf
 *     chronoscope watch board.elf --stream /dev/ttyUSB0
 *
 * With -DCHRONO_MARK_RTT it sends by RTT in place of the UART, and ends when the debugger has read all:
 *
 *     chronoscope watch board.elf --stream tcp://localhost:9090
 *
 * QEMU has no cycle counter, and there TIM2, which it lets run at 1 GHz, is the clock. With shift=0 each
 * instruction takes 1 ns:
 *
 *     qemu-system-arm -M netduinoplus2 -kernel board.elf -semihosting -icount shift=0,sleep=off \
 *         -display none -monitor none -serial file:marks.bin
 *     chronoscope watch board.elf --stream marks.bin
 */
#define CHRONO_MARK_IMPLEMENTATION
#include <chronoscope_mark.h>
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define SYSTICK_CONTROL REGISTER(0xE000E010)
#define SYSTICK_RELOAD REGISTER(0xE000E014)
#define SYSTICK_VALUE REGISTER(0xE000E018)
#define CLOCKS_AHB1 REGISTER(0x40023830)
#define CLOCKS_APB1 REGISTER(0x40023840)
#define CLOCKS_APB2 REGISTER(0x40023844)
#define PORT_A_MODE REGISTER(0x40020000)
#define PORT_A_FUNCTION REGISTER(0x40020024)
#define SERIAL_STATUS REGISTER(0x40011000)
#define SERIAL_DATA REGISTER(0x40011004)
#define SERIAL_RATE REGISTER(0x40011008)
#define SERIAL_CONTROL REGISTER(0x4001100C)
#define TIMER_CONTROL REGISTER(0x40000000)
#define TIMER_COUNT REGISTER(0x40000024)

#ifndef ROUNDS
#define ROUNDS 100
#endif
#ifndef BETWEEN_DRAINS
#define BETWEEN_DRAINS 1
#endif
enum { HERTZ = 16000000, TICKS = 20000 };

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

#ifdef CHRONO_MARK_RTT
#define put chrono_put_rtt
#else
static void put(uint8_t byte) {
    while (!(SERIAL_STATUS & 1u << 7)) {
    }
    SERIAL_DATA = byte;
}
#endif

static void end(void) {
    register uint32_t call __asm__("r0") = 0x18;
    register uint32_t reason __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xab" : : "r"(call), "r"(reason) : "memory");
    for (;;) {
    }
}

void start(void) {
    CLOCKS_AHB1 |= 1;
    CLOCKS_APB1 |= 1;
    CLOCKS_APB2 |= 1u << 4;
    PORT_A_MODE |= 2u << 18;
    PORT_A_FUNCTION |= 7u << 4;
    SERIAL_RATE = HERTZ / 115200;
    SERIAL_CONTROL = 1u << 13 | 1u << 3;
    if (!chrono_start_dwt(HERTZ)) {
        TIMER_CONTROL = 1;
        chrono_start_counter(&TIMER_COUNT, 1000000000, 0xffffffff, 0);
    }
    SYSTICK_RELOAD = TICKS - 1;
    SYSTICK_VALUE = 0;
    SYSTICK_CONTROL = 7;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        while (sampled <= round)
            __asm__ volatile("wfi");
        CHRONO_BEGIN(control);
        control(round % 10);
        CHRONO_END(control);
        CHRONO_VALUE(state, state);
        if (round % BETWEEN_DRAINS == BETWEEN_DRAINS - 1)
            chrono_drain(put);
    }
    SYSTICK_CONTROL = 0;
    chrono_drain(put);
#ifdef CHRONO_MARK_RTT
    while (chrono_room_rtt() < CHRONO_MARK_RTT_BYTES - 1) {
    }
#endif
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
