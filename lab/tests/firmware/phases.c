/* A controller on FreeRTOS and an STM32F405. TIM2's interrupt brings a sample each PERIOD counts of 16 MHz;
 * the task that computes an output from it shares a lock with the logger, which is the least urgent task.
 * How long it takes from the interrupt to the output depends on what the logger does just then. */
#include <FreeRTOS.h>
#include <queue.h>
#include <semphr.h>
#include <task.h>

#define TIMER 28
#include "start.h"

#define RCC(offset) REGISTER(0x40023800 + (offset))
#define TIM2(offset) REGISTER(0x40000000 + (offset))
#define NVIC(offset) REGISTER(0xe000e100 + (offset))

static SemaphoreHandle_t lock;
static QueueHandle_t samples;
static volatile int32_t output;
static int32_t estimate;

void timer_handler(void)
{
    BaseType_t woken = pdFALSE;
    int32_t sample = (int32_t)TIM2(0x24);
    TIM2(0x10) = ~1u;
    xQueueSendFromISR(samples, &sample, &woken);
    portYIELD_FROM_ISR(woken);
}

__attribute__((noinline)) void actuate(void)
{
    output = estimate;
}

static void turn(volatile int turns)
{
    while (turns > 0)
        turns--;
}

static void control(void *unused)
{
    (void)unused;
    for (;;) {
        int32_t sample;
        xQueueReceive(samples, &sample, portMAX_DELAY);
        xSemaphoreTake(lock, portMAX_DELAY);
        estimate += (sample - estimate) >> 2;
        xSemaphoreGive(lock);
        actuate();
    }
}

static void log_values(void *unused)
{
    (void)unused;
    for (;;) {
        xSemaphoreTake(lock, portMAX_DELAY);
        turn(HELD);
        xSemaphoreGive(lock);
        vTaskDelay(3);
    }
}

static void talk(void *unused)
{
    (void)unused;
    for (;;) {
        turn(60000);
        vTaskDelay(4);
    }
}

int main(void)
{
    static StaticSemaphore_t mutex;
    static StaticQueue_t queue;
    static uint8_t waiting[8 * sizeof(int32_t)];
    static StaticTask_t tasks[3];
    static StackType_t stacks[3][256];
    RCC(0x40) |= 1;
    TIM2(0x2c) = PERIOD - 1;
    TIM2(0x14) = 1;
    TIM2(0x10) = 0;
    TIM2(0x0c) = 1;
    REGISTER(0xe000e41c) |= 6u << 4;
    NVIC(0) = 1u << 28;
    lock = xSemaphoreCreateMutexStatic(&mutex);
    samples = xQueueCreateStatic(8, sizeof(int32_t), waiting, &queue);
    xTaskCreateStatic(control, "control", 256, NULL, 3, stacks[0], &tasks[0]);
    xTaskCreateStatic(talk, "talk", 256, NULL, 2, stacks[1], &tasks[1]);
    xTaskCreateStatic(log_values, "log", 256, NULL, 1, stacks[2], &tasks[2]);
    TIM2(0x00) = 1;
    vTaskStartScheduler();
    return 0;
}
