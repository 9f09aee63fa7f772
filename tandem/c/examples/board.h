/* The board of the examples: QEMU's netduinoplus2, an STM32F405. Its output goes to the debugger
 * (semihosting), so that it appears where the emulator was started. */
#ifndef BOARD_H
#define BOARD_H

#include "tandem.h"

/* Ticks of the clock in a millisecond. In the emulator a tick is an instruction. */
#define MILLISECOND 1000000ull

/* The number of instructions executed, modulo 2^32. */
static inline uint32_t ticks(void)
{
    return *(volatile uint32_t *)0x40000c24;
}

/* Starts the clock, and enables the FPU and the interrupts 0 and 1. */
void board_set_up(void);

/* Raises interrupt 0 or 1, whose handlers are handler_0 and handler_1. */
static inline void raise_interrupt(uint32_t number)
{
    *(volatile uint32_t *)0xe000ef00 = number;
    __asm volatile("dsb" ::: "memory");
}

void handler_0(void);
void handler_1(void);

/* Called first by the alarm's handler. */
void on_alarm(void);

/* Prints text with %s, %u and %4u, as printf does. */
void print(const char *format, ...);

/* Ends the emulation with status 0 or 1. */
TANDEM_NORETURN void leave(bool success);

/* Ends the emulation with status 1 unless the condition holds. */
#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            print("line %u: " #condition "\n", __LINE__); \
            leave(false); \
        } \
    } while (0)

#endif
