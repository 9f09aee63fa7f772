/* Start and vector table of an STM32F405. */
#include <stdint.h>

#include "chronoscope.h"

extern uint32_t stack_top[], data_source[], data_start[], data_end[], bss_start[], bss_end[];

int main(void);
/* FreeRTOS's, by the names in FreeRTOSConfig.h. */
void SVCall(void);
void PendSV(void);
void SysTick(void);
/* The experiments' line: see main.c. */
void on_software(void);

void Reset(void)
{
    /* The coprocessor of floating point is off after a reset. */
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
    __asm volatile("dsb\nisb");
    for (uint32_t *to = data_start, *from = data_source; to < data_end;)
        *to++ = *from++;
    for (uint32_t *to = bss_start; to < bss_end;)
        *to++ = 0;
    main();
    for (;;)
        ;
}

static void fault(void)
{
    static const char text[] = "a fault of the processor";
    chrono_fail(text, sizeof text - 1);
}

/* The number of the line EXTI15_10. */
#define SOFTWARE 40

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[15 + SOFTWARE + 1])(void);
} vectors = {
    stack_top,
    {
        [0] = Reset, [1] = fault, [2] = fault, [3] = fault, [4] = fault, [5] = fault,
        [10] = SVCall, [13] = PendSV, [14] = SysTick, [15 + SOFTWARE] = on_software,
    },
};
