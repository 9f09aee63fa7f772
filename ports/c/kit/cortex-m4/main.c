/* FreeRTOS on a Cortex-M4 with nothing but the kit: an STM32F405, or QEMU's machine netduinoplus2 on
 * which it was tried. README.md of the kit has the commands.
 *
 * CLOCK is 32 (the register TIM5), 64 (a call) or 16 (a call, of a counter of 16 bits). The sink is
 * semihosting, or with UART, USART1 as it is after a reset of the chip, at 115200 baud. */
#include <FreeRTOS.h>
#include <task.h>

#if CLOCK == 64
#define CHRONO_CLOCK_64
#endif
#include "chronoscope.h"
#include "chronoscope_clock16.h"
#include "chronoscope_freertos.h"
#include "chronoscope_semihosting.h"
#include "chronoscope_uart.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))

/* ---- Clock ----------------------------------------------------------------------------------- */

/* TIM5, of 32 bits, and TIM4: control, count, prescaler. In QEMU both count at 1 GHz. */
#define FINE_CONTROL REGISTER(0x40000C00)
#define FINE_COUNT REGISTER(0x40000C24)
#define COARSE_CONTROL REGISTER(0x40000800)
#define COARSE_COUNT REGISTER(0x40000824)
#define COARSE_PRESCALER REGISTER(0x40000828)

#if CLOCK == 16
/* A period of 3.3 ms: half of it is longer than a tick of FreeRTOS. */
#define DIVIDER 50
#define DOMAIN CHRONO_WALL

uint16_t chrono_counter16(void)
{
    return (uint16_t)COARSE_COUNT;
}

void vApplicationTickHook(void)
{
    chrono_clock16_tick();
}
#else
/* TIM4 counts the upper bits: 48 bits in all. */
#define DIVIDER 65536
#define DOMAIN CHRONO_INSTRUCTIONS

uint64_t chrono_clock_now(void)
{
    const uint64_t coarse = (uint64_t)COARSE_COUNT << 16;
    /* Read after the other, so it is ahead of it by less than 65536 and a few ticks. */
    return coarse + (FINE_COUNT - (uint32_t)coarse);
}

#if CLOCK == 64
uint64_t chrono_clock_read(void)
{
    return chrono_clock_now();
}
#endif

void vApplicationTickHook(void)
{
}
#endif

#define HERTZ (DIVIDER == 65536 ? 1000000000u : 1000000000u / DIVIDER)

static void start_clock(void)
{
    COARSE_PRESCALER = DIVIDER - 1;
    FINE_CONTROL = 1;
    COARSE_CONTROL = 1;
    if (DIVIDER == 65536) {
        uint32_t before;
        /* Again, if TIM5 has just come to a multiple of 65536. */
        do {
            before = FINE_COUNT;
            COARSE_COUNT = before >> 16;
        } while (FINE_COUNT >> 16 != before >> 16);
    }
}

/* ---- Output ---------------------------------------------------------------------------------- */

#ifdef UART
#define STATUS REGISTER(0x40011000)
#define DATA REGISTER(0x40011004)

static void start_output(void)
{
    /* Clocks of port A and USART1; PA9 and PA10 are its pins. */
    REGISTER(0x40023830) |= 1u;
    REGISTER(0x40023844) |= 1u << 4;
    REGISTER(0x40020024) = (REGISTER(0x40020024) & ~0xFF0u) | 0x770u;
    REGISTER(0x40020000) = (REGISTER(0x40020000) & ~(0xFu << 18)) | 0xAu << 18;
    /* The rate for a clock of 16 MHz; on, both ways. */
    REGISTER(0x40011008) = 16000000 / 115200 + 1;
    REGISTER(0x4001100C) = 1u << 13 | 1u << 3 | 1u << 2;
}

uint8_t chrono_uart_get(void)
{
    while ((STATUS & 1u << 5) == 0)
        ;
    return (uint8_t)DATA;
}

void chrono_uart_put(uint8_t byte)
{
    DATA = byte;
    while ((STATUS & 1u << 6) == 0)
        ;
}

void chrono_uart_restart(void)
{
    REGISTER(0xE000ED0C) = 0x05FA0004;
    for (;;)
        ;
}

#define request chrono_uart_request
#define end chrono_uart_restart
#else
static void start_output(void)
{
}

#define request chrono_semihosting_request
#define end() chrono_semihosting_exit(true)
#endif

/* ---- The experiments' line ------------------------------------------------------------------- */

/* The most urgent level from which FreeRTOS may be called. */
#ifndef LEVEL
#define LEVEL configMAX_SYSCALL_INTERRUPT_PRIORITY
#endif

/* EXTI15_10, line 40 of the interrupt controller, raised by software. There is no timer line. */
#define LINE 40

bool chrono_attach(bool timer)
{
    if (timer)
        return false;
    volatile uint8_t *priority = (volatile uint8_t *)(0xE000E400 + LINE);
    *priority = LEVEL;
    /* A lower number is a level from which FreeRTOS may not be called: no figure may come of it. */
    chrono_evidence("priority of the experiments' line", *priority,
                    configMAX_SYSCALL_INTERRUPT_PRIORITY, 255);
    REGISTER(0xE000E104) = 1u << (LINE - 32);
    return true;
}

void chrono_raise(void)
{
    REGISTER(0xE000E204) = 1u << (LINE - 32);
    __asm volatile("dsb\nisb");
}

void chrono_arm(uint64_t due)
{
    (void)due;
}

void on_software(void);
void on_software(void)
{
    chrono_on_software();
}

/* ---- FreeRTOS -------------------------------------------------------------------------------- */

void vApplicationIdleHook(void)
{
}

#ifdef CHECKED
static void fail(const char *text)
{
    size_t length = 0;
    while (text[length] != 0)
        length++;
    chrono_fail(text, length);
}

void image_assert(const char *condition)
{
    fail(condition);
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    (void)name;
    fail("stack overflow in a task");
}
#endif

void vApplicationGetIdleTaskMemory(StaticTask_t **task, StackType_t **stack,
                                   configSTACK_DEPTH_TYPE *words)
{
    static StaticTask_t idle;
    static StackType_t idle_stack[configMINIMAL_STACK_SIZE];
    *task = &idle;
    *stack = idle_stack;
    *words = configMINIMAL_STACK_SIZE;
}

static uint64_t memory[64 * 1024 / sizeof(uint64_t)];

static void director(void *unused)
{
    static const chrono_target target = {
        .abi = CHRONO_ABI,
        .domain = DOMAIN,
        .kernel = "freertos",
        .release = tskKERNEL_VERSION_NUMBER,
        .build = CHRONO_BUILD OPTIONS,
        .hertz = HERTZ,
        .tick_us = 1000000 / configTICK_RATE_HZ,
        .memory = memory,
        .bytes = sizeof memory,
    };
    (void)unused;
    /* The time before the tick changes is at most that of the tick: no task looks early. */
    uint64_t before = chrono_clock_now();
    const TickType_t tick = xTaskGetTickCount();
    while (xTaskGetTickCount() == tick)
        before = chrono_clock_now();
    const uint32_t period = HERTZ / configTICK_RATE_HZ;
    chrono_freertos_start(before - (uint64_t)(tick + 1) * period, period);
    chrono_main(&target, request());
    end();
}

int main(void)
{
    static StaticTask_t task;
    static StackType_t stack[2048];
    start_clock();
    start_output();
    xTaskCreateStatic(director, "director", sizeof stack / sizeof *stack, NULL,
                      chrono_freertos_priority(CHRONO_ORDINARY), stack, &task);
    vTaskStartScheduler();
    return 0;
}
