/* FreeRTOS on an STM32F405 at 168 MHz, as a maker's tools have it start: each ready bit is waited for, with
 * a limit. TIM3's interrupt wakes a task each millisecond; another one blinks; the first reports over
 * USART2, and ends by semihosting. */
#include <FreeRTOS.h>
#include <semphr.h>
#include <task.h>

#define TIMER 29
#include "start.h"

#define RCC(offset) REGISTER(0x40023800 + (offset))
#define PWR(offset) REGISTER(0x40007000 + (offset))
#define FLASH(offset) REGISTER(0x40023c00 + (offset))
#define GPIOA(offset) REGISTER(0x40020000 + (offset))
#define TIM3(offset) REGISTER(0x40000400 + (offset))
#define USART2(offset) REGISTER(0x40004400 + (offset))
#define NVIC(offset) REGISTER(0xe000e100 + (offset))
#define LIMIT 1000000

static void wait_for(volatile uint32_t *word, uint32_t mask, uint32_t value)
{
    for (int tries = 0; (*word & mask) != value; tries++)
        if (tries == LIMIT)
            error_handler();
}

static void configure_clocks(void)
{
    RCC(0x40) |= 1u << 28;
    PWR(0) |= 1u << 14;
    RCC(0) |= 1u << 16;
    wait_for(&RCC(0), 1u << 17, 1u << 17);
    RCC(0) &= ~(1u << 24);
    wait_for(&RCC(0), 1u << 25, 0);
    RCC(4) = 4 | 168 << 6 | 1 << 22 | 7 << 24;
    RCC(0) |= 1u << 24;
    wait_for(&RCC(0), 1u << 25, 1u << 25);
    wait_for(&PWR(4), 1u << 14, 1u << 14);
    FLASH(0) = 0x705;
    wait_for(&FLASH(0), 7, 5);
    RCC(8) = 5 << 10 | 4 << 13;
    RCC(8) |= 2;
    wait_for(&RCC(8), 3 << 2, 2 << 2);
}

static SemaphoreHandle_t ticked;

void timer_handler(void)
{
    BaseType_t woken = pdFALSE;
    TIM3(0x10) = ~1u;
    xSemaphoreGiveFromISR(ticked, &woken);
    portYIELD_FROM_ISR(woken);
}

static void print(const char *text)
{
    for (; *text; text++) {
        wait_for(&USART2(0), 1u << 7, 1u << 7);
        USART2(4) = (uint32_t)*text;
    }
}

static void print_number(uint32_t number)
{
    char digits[11] = { 0 };
    int at = 10;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    print(&digits[at]);
}

static void work(void *unused)
{
    (void)unused;
    /* 84 MHz / 84 / 1000: APB1 is divided, so its timers have twice its rate. */
    TIM3(0x28) = 83;
    TIM3(0x2c) = 999;
    TIM3(0x14) = 1;
    TIM3(0x10) = 0;
    TIM3(0x0c) = 1;
    TickType_t start = xTaskGetTickCount();
    TIM3(0x00) = 1;
    for (int i = 0; i < 5; i++)
        xSemaphoreTake(ticked, portMAX_DELAY);
    TickType_t ticks = xTaskGetTickCount() - start;
    print("five timer interrupts in ");
    print_number(ticks);
    print(" ticks\r\nthe pin is ");
    print_number(GPIOA(0x10) >> 5 & 1);
    print("\r\n");
    wait_for(&USART2(0), 1u << 6, 1u << 6);
    register uint32_t operation __asm("r0") = 0x18;
    register uint32_t reason __asm("r1") = 0x20026;
    __asm volatile("bkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
}

static void blink(void *unused)
{
    (void)unused;
    for (;;) {
        GPIOA(0x18) = 1u << 5;
        vTaskDelay(3);
        GPIOA(0x18) = 1u << 21;
        vTaskDelay(3);
    }
}

int main(void)
{
    static StaticSemaphore_t semaphore;
    static StaticTask_t tasks[2];
    static StackType_t stacks[2][256];
    configure_clocks();
    RCC(0x30) |= 1;
    RCC(0x40) |= 1u << 1 | 1u << 17;
    GPIOA(0) = (GPIOA(0) & ~(0xffu << 4)) | 1u << 10 | 2u << 4;
    GPIOA(0x20) |= 7u << 8;
    /* 42 MHz / 115,200. */
    USART2(8) = 365;
    USART2(0x0c) = 1u << 13 | 1u << 3;
    REGISTER(0xe000e41c) |= 6u << 12;
    NVIC(0) = 1u << 29;
    ticked = xSemaphoreCreateBinaryStatic(&semaphore);
    xTaskCreateStatic(work, "work", 256, NULL, 2, stacks[0], &tasks[0]);
    xTaskCreateStatic(blink, "blink", 256, NULL, 1, stacks[1], &tasks[1]);
    vTaskStartScheduler();
    return 0;
}
