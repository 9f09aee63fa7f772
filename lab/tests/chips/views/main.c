/* An application of FreeRTOS: every 193 µs a timer's handler sends a sample through a queue to the task
 * `control`, which works on it under a mutex and gives its output. `logger`, the least urgent task, holds
 * the mutex for a long time, and `net` pre-empts it. */
#include <FreeRTOS.h>
#include <queue.h>
#include <semphr.h>
#include <task.h>

#include "chronoscope_mark.h"

#define WORD(address) (*(volatile uint32_t *)(address))
#define SAMPLES 60

extern uint32_t stack_top[], bss_start[], bss_end[];

static SemaphoreHandle_t state_lock;
static QueueHandle_t samples;
static TaskHandle_t logger_task;
static volatile int32_t state, output;
static volatile uint32_t lines;

/* The C library's functions that FreeRTOS calls. */
void *memset(void *start, int value, size_t bytes)
{
    for (uint8_t *at = start; bytes > 0; bytes--) {
        *at++ = (uint8_t)value;
        __asm__ volatile("");
    }
    return start;
}

void *memcpy(void *to, const void *from, size_t bytes)
{
    uint8_t *at = to;
    for (const uint8_t *next = from; bytes > 0; bytes--) {
        *at++ = *next++;
        __asm__ volatile("");
    }
    return to;
}

static void end(void)
{
    register uint32_t operation __asm__("r0") = 0x18;
    register uint32_t reason __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xab" : : "r"(operation), "r"(reason));
}

void TIM2_Handler(void)
{
    BaseType_t woken = pdFALSE;
    int32_t sample = (int32_t)(WORD(0x40000024) & 0xff);
    WORD(0x40000010) = 0;
    xQueueSendFromISR(samples, &sample, &woken);
    portYIELD_FROM_ISR(woken);
}

static void control(void *unused)
{
    (void)unused;
    for (int round = 0; round < SAMPLES; round++) {
        int32_t sample;
        xQueueReceive(samples, &sample, portMAX_DELAY);
        CHRONO_BEGIN(work);
        xSemaphoreTake(state_lock, portMAX_DELAY);
        for (int step = 0; step < 8; step++) {
            state += (sample - state) / 4;
        }
        xSemaphoreGive(state_lock);
        output = state;
        CHRONO_END(work);
    }
#ifdef STACK
    uint32_t left = sizeof(StackType_t) * uxTaskGetStackHighWaterMark(logger_task);
    CHRONO_VALUE(left, left);
#endif
    end();
}

/* With the marks of a board, the task that is least urgent sends them over USART1. TIM5 is their clock,
 * in ns. */
#ifdef CHRONO_MARK_BOARD
static void put(uint8_t byte)
{
    WORD(0x40011004) = byte;
}

static void start_marks(void)
{
    WORD(0x4001100c) = 1u << 13 | 1u << 3;
    WORD(0x40000c00) = 1;
    chrono_start_counter((const volatile void *)0x40000c24, 1000000000, 0xffffffff, 0);
}
#else
#define start_marks()
#define chrono_drain(put)
#endif

static void work(uint32_t turns)
{
    for (volatile uint32_t turn = 0; turn < turns; turn++) {
    }
}

static void net(void *unused)
{
    (void)unused;
    for (;;) {
        work(5000);
        vTaskDelay(1);
    }
}

static void logger(void *unused)
{
    (void)unused;
    for (;;) {
        xSemaphoreTake(state_lock, portMAX_DELAY);
        work(20000);
        lines++;
        xSemaphoreGive(state_lock);
        chrono_drain(put);
        vTaskDelay(1);
    }
}

void start(void)
{
    for (uint32_t *at = bss_start; at < bss_end; at++) {
        *at = 0;
    }
    /* The FPU. */
    WORD(0xe000ed88) |= 0xfu << 20;
    __asm__ volatile("dsb\nisb");
    start_marks();
    state_lock = xSemaphoreCreateMutex();
    samples = xQueueCreate(8, sizeof(int32_t));
    xTaskCreate(control, "control", 200, NULL, 5, NULL);
    xTaskCreate(net, "net", 200, NULL, 3, NULL);
    xTaskCreate(logger, "logger", 200, NULL, 1, &logger_task);
    /* TIM2 counts ns in QEMU. Its interrupt has FreeRTOS' most urgent priority. */
    WORD(0x4000002c) = 193000 - 1;
    WORD(0x4000000c) = 1;
    *(volatile uint8_t *)(0xe000e400 + 28) = 6 << 4;
    WORD(0xe000e100) = 1u << 28;
    WORD(0x40000000) = 1;
    vTaskStartScheduler();
}

static void fault(void)
{
    for (;;) {
    }
}

void SVCall(void);
void PendSV(void);
void SysTick(void);

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[15 + 29])(void);
} vectors = { stack_top,
              { [0] = start, [1] = fault, [2] = fault, [3] = fault, [4] = fault, [5] = fault,
                [10] = SVCall, [13] = PendSV, [14] = SysTick, [15 + 28] = TIM2_Handler } };
