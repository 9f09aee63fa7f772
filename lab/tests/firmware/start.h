/* The vectors and the start of a program on FreeRTOS and an STM32F405, and the compiler's functions: a part of
 * the program's unit, which defines TIMER, the number of its interrupt, and `timer_handler`. */
#ifndef START_H
#define START_H

#include <stddef.h>
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))

void *memset(void *to, int value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)to)[i] = (unsigned char)value;
    return to;
}

void *memcpy(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
    return to;
}

void error_handler(void)
{
    for (;;) {
    }
}

int main(void);
void timer_handler(void);
void vPortSVCHandler(void);
void xPortPendSVHandler(void);
void xPortSysTickHandler(void);
extern uint32_t data_at[], data_start[], data_end[];

/* The memory starts as zeros. */
void reset(void)
{
    REGISTER(0xe000ed88) |= 0xfu << 20;
    for (uint32_t *to = data_start, *from = data_at; to < data_end;)
        *to++ = *from++;
    main();
}

typedef void (*handler)(void);

__attribute__((section(".vectors"), used)) static const handler vectors[16 + TIMER + 1] = {
    (handler)0x20020000,
    reset,
    [2 ... 10] = error_handler,
    vPortSVCHandler,
    [12 ... 13] = error_handler,
    xPortPendSVHandler,
    xPortSysTickHandler,
    [16 ... 15 + TIMER] = error_handler,
    timer_handler,
};

#endif
