/* The board of the benchmark: QEMU's netduinoplus2, an STM32F405. It knows no kernel. */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of instructions executed, modulo 2^32: TIM5 counts at 1 GHz there, and an instruction
 * takes 1 ns. */
static inline uint32_t instructions(void)
{
    return *(volatile uint32_t *)0x40000c24;
}

/* Raises interrupt 0. */
static inline void raise_interrupt(void)
{
    *(volatile uint32_t *)0xe000ef00 = 0;
}

/* Starts SysTick: an interrupt every 100,000 instructions. Until then there is none. */
void board_start_tick(void);

void board_stop_tick(void);

/* The length of the ticks, for kernels that ask for it. */
#define BOARD_TICK_HERTZ 10000

/* The levels of interrupt 0 and of SysTick: kernels mask this level. */
#define BOARD_LEVEL 0x80

/* Called by the board, defined by the benchmark. */
int main(void);
void interrupt_handler(void);
void tick_handler(void);

void print(const char *text);
void print_bytes(const char *text, size_t count);
void print_number(uint32_t number);

/* Ends the emulation with status 0 or 1. */
_Noreturn void leave(bool success);

#endif
