/* Start-up, tick and output of an STM32F405 in QEMU, and the functions of <string.h> that kernels
 * call. */
#include "board.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define TIM5_CR1 REGISTER(0x40000c00)
#define TIM5_ARR REGISTER(0x40000c2c)
#define SYST_CSR REGISTER(0xe000e010)
#define SYST_RVR REGISTER(0xe000e014)
#define SYST_CVR REGISTER(0xe000e018)
#define NVIC_ISER0 REGISTER(0xe000e100)
#define NVIC_IPR0 REGISTER(0xe000e400)
#define SHPR3 REGISTER(0xe000ed20)
#define CPACR REGISTER(0xe000ed88)

/* ---- Start-up, with the handlers' names of CMSIS ---- */

extern uint32_t stack_top, data_start, data_end, data_load, bss_start, bss_end;

static void set_up(void)
{
    CPACR = 0xf << 20;
    __asm volatile("dsb\nisb" ::: "memory");
    TIM5_ARR = UINT32_MAX;
    TIM5_CR1 = 1;
    NVIC_IPR0 = BOARD_LEVEL;
    SHPR3 = (uint32_t)BOARD_LEVEL << 24;
    NVIC_ISER0 = 1;
}

__attribute__((used)) void Reset_Handler(void)
{
    for (uint32_t *to = &data_start, *from = &data_load; to < &data_end;)
        *to++ = *from++;
    for (uint32_t *to = &bss_start; to < &bss_end;)
        *to++ = 0;
    set_up();
    main();
    leave(false);
}

__attribute__((used)) void Default_Handler(void)
{
    print("an interrupt without a handler\n");
    leave(false);
}

__attribute__((weak, alias("Default_Handler"))) void HardFault_Handler(void);
__attribute__((weak, alias("Default_Handler"))) void MemManage_Handler(void);
__attribute__((weak, alias("Default_Handler"))) void SVC_Handler(void);
__attribute__((weak, alias("Default_Handler"))) void PendSV_Handler(void);

__attribute__((section(".vectors"), used)) static const void *const vectors[17] = {
    [0] = &stack_top,         [1] = Reset_Handler,      [2] = Default_Handler,
    [3] = HardFault_Handler,  [4] = MemManage_Handler,  [5] = Default_Handler,
    [6] = Default_Handler,    [11] = SVC_Handler,       [12] = Default_Handler,
    [14] = PendSV_Handler,    [15] = tick_handler,      [16] = interrupt_handler,
};

/* ---- The tick ---- */

void board_start_tick(void)
{
    SYST_RVR = 168000000 / BOARD_TICK_HERTZ - 1;
    SYST_CVR = 0;
    SYST_CSR = 7;
}

void board_stop_tick(void)
{
    SYST_CSR = 4;
}

/* ---- Output, by semihosting ---- */

static void semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void print_bytes(const char *text, size_t count)
{
    /* Initialized, so at the start of the RAM: the emulator refuses to read for the debugger from a
     * page of memory that begins with a guard. */
    static char next = ' ';
    while (count--) {
        next = *text++;
        semihosting(3, &next); /* SYS_WRITEC */
    }
}

void print(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    print_bytes(text, length);
}

void print_number(uint32_t number)
{
    char text[12];
    unsigned at = sizeof text - 1;
    text[at] = 0;
    do {
        text[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    print(&text[at]);
}

void leave(bool success)
{
    enum { APPLICATION_EXIT = 0x20026, RUN_TIME_ERROR = 0x20023 };
    semihosting(0x18, (void *)(success ? APPLICATION_EXIT : RUN_TIME_ERROR)); /* SYS_EXIT */
    for (;;)
        ;
}

/* ---- <string.h>, which the compiler must not take for calls of itself ---- */

#define BY_HAND __attribute__((used, optimize("no-tree-loop-distribute-patterns")))

BY_HAND void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
    uint8_t *byte = to;
    const uint8_t *source = from;
    if (((uintptr_t)to | (uintptr_t)from) % 4 == 0)
        for (; count >= 4; count -= 4, byte += 4, source += 4)
            *(uint32_t *)(void *)byte = *(const uint32_t *)(const void *)source;
    while (count--)
        *byte++ = *source++;
    return to;
}

BY_HAND void *memset(void *to, int value, size_t count)
{
    for (uint8_t *byte = to; count--;)
        *byte++ = (uint8_t)value;
    return to;
}
