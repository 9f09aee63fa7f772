/* Start-up, clock, alarm and output of an STM32F405 in QEMU. */
#include "board.h"

#include <stdarg.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define TIM5_CR1 REGISTER(0x40000c00)
#define TIM5_ARR REGISTER(0x40000c2c)
#define SYST_CSR REGISTER(0xe000e010)
#define SYST_RVR REGISTER(0xe000e014)
#define SYST_CVR REGISTER(0xe000e018)
#define NVIC_ISER0 REGISTER(0xe000e100)
#define CPACR REGISTER(0xe000ed88)

/* ---- Start-up, with the handlers' names of CMSIS ---- */

extern uint32_t stack_top, data_start, data_end, data_load, bss_start, bss_end;
int main(void);

void Reset_Handler(void)
{
    for (uint32_t *to = &data_start, *from = &data_load; to < &data_end;)
        *to++ = *from++;
    for (uint32_t *to = &bss_start; to < &bss_end;)
        *to++ = 0;
    main();
    leave(false);
}

void Default_Handler(void)
{
    static const char message[] = "an interrupt without a handler";
    tandem_panic(message, sizeof message - 1);
}

__attribute__((weak, alias("Default_Handler"))) void HardFault_Handler(void);
__attribute__((weak, alias("Default_Handler"))) void MemManage_Handler(void);
__attribute__((weak, alias("Default_Handler"))) void SVC_Handler(void);
__attribute__((weak, alias("Default_Handler"))) void PendSV_Handler(void);
__attribute__((weak, alias("Default_Handler"))) void handler_0(void);
__attribute__((weak, alias("Default_Handler"))) void handler_1(void);
void SysTick_Handler(void);

__attribute__((section(".vectors"), used)) static const void *const vectors[18] = {
    [0] = &stack_top,         [1] = Reset_Handler,      [2] = Default_Handler,
    [3] = HardFault_Handler,  [4] = MemManage_Handler,  [5] = Default_Handler,
    [6] = Default_Handler,    [11] = SVC_Handler,       [12] = Default_Handler,
    [14] = PendSV_Handler,    [15] = SysTick_Handler,   [16] = handler_0,
    [17] = handler_1,
};

void board_set_up(void)
{
    CPACR = 0xf << 20;
    __asm volatile("dsb\nisb" ::: "memory");
    TIM5_ARR = UINT32_MAX;
    TIM5_CR1 = 1;
    NVIC_ISER0 = 3;
}

/* ---- Clock and alarm ---- */

uint64_t tandem_board_now(void)
{
    static uint32_t high, last; /* used with interrupts masked */
    uint32_t low = ticks();
    if (low < last)
        high++;
    last = low;
    return (uint64_t)high << 32 | low;
}

/* SysTick has 24 bits, at 168 MHz; the clock counts 1 GHz. An alarm that comes early is set again
 * by tandem_expire. */
void tandem_board_arm(uint64_t due)
{
    uint64_t now = tandem_board_now();
    uint64_t left = due > now ? due - now : 0;
    uint32_t near = left < 0x4000000 ? (uint32_t)left : 0x4000000;
    SYST_RVR = (near >> 6) * 2753 / 256 + 12;
    SYST_CVR = 0;
    SYST_CSR = 7;
}

__attribute__((weak)) void on_alarm(void)
{
}

void SysTick_Handler(void)
{
    on_alarm();
    SYST_CSR = 4;
    tandem_expire();
}

/* ---- Output ---- */

static void semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void print_char(char c)
{
    /* Initialized, so at the start of the RAM: the emulator refuses to read for the debugger from a
     * page of memory that begins with a guard. */
    static char next = ' ';
    next = c;
    semihosting(3, &next); /* SYS_WRITEC */
}

static void print_number(uint32_t number, unsigned width)
{
    char text[12];
    unsigned at = sizeof text;
    do {
        text[--at] = '0' + number % 10;
        number /= 10;
    } while (number);
    while (sizeof text - at < width && at)
        text[--at] = ' ';
    while (at < sizeof text)
        print_char(text[at++]);
}

void print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    for (; *format; format++) {
        if (*format != '%') {
            print_char(*format);
            continue;
        }
        unsigned width = 0;
        for (format++; *format >= '0' && *format <= '9'; format++)
            width = width * 10 + (unsigned)(*format - '0');
        if (*format == 's') {
            const char *text = va_arg(arguments, const char *);
            unsigned length = 0;
            for (; text[length]; length++)
                print_char(text[length]);
            for (; length < width; length++)
                print_char(' ');
        } else {
            print_number(va_arg(arguments, uint32_t), width);
        }
    }
    va_end(arguments);
}

void tandem_panic(const char *message, size_t length)
{
    while (length--)
        print_char(*message++);
    print_char('\n');
    leave(false);
}

void leave(bool success)
{
    enum { APPLICATION_EXIT = 0x20026, RUN_TIME_ERROR = 0x20023 };
    semihosting(0x18, (void *)(success ? APPLICATION_EXIT : RUN_TIME_ERROR)); /* SYS_EXIT */
    for (;;)
        ;
}
