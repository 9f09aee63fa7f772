/* Chronoscope's port to FreeRTOS, for any machine. Semaphores are FreeRTOS's counting semaphores.
 *
 * It needs these settings of FreeRTOSConfig.h, and works with any value of the others:
 *   configUSE_TRACE_FACILITY 1, configUSE_COUNTING_SEMAPHORES 1, configUSE_MUTEXES 1,
 *   configSUPPORT_DYNAMIC_ALLOCATION 1, configMAX_PRIORITIES 11 or more,
 *   INCLUDE_xTaskDelayUntil 1, INCLUDE_vTaskDelete 1, INCLUDE_vTaskSuspend 1,
 *   INCLUDE_uxTaskGetStackHighWaterMark 1,
 *   #include "chronoscope_freertos_count.h"
 *   #define traceTASK_SWITCHED_IN() CHRONO_COUNT_SWITCH() */
#include "chronoscope_freertos.h"

#include <FreeRTOS.h>
#include <queue.h>
#include <semphr.h>
#include <task.h>

#include "chronoscope.h"

/* Stack of a task, in words. */
#ifndef CHRONO_STACK_WORDS
#define CHRONO_STACK_WORDS 192
#endif

/* The clock's value at FreeRTOS's tick 0, and the ticks of the clock from one to the next. */
static uint64_t zero;
static uint32_t period;

void *chrono_freertos_running;

/* The fewest words of stack that an ended task had left. */
static UBaseType_t least = CHRONO_STACK_WORDS;

void chrono_freertos_start(uint64_t tick_zero, uint32_t clock_ticks_per_tick)
{
    zero = tick_zero;
    period = clock_ticks_per_tick;
}

UBaseType_t chrono_freertos_priority(chrono_priority priority)
{
    return tskIDLE_PRIORITY + 1 + priority;
}

struct start {
    void (*entry)(void *);
    void *argument;
};

/* A task of FreeRTOS may not return: it deletes itself. */
static void task(void *argument)
{
    const struct start *start = (const struct start *)argument;
    start->entry(start->argument);
    /* The search takes long, and interrupts must not wait for it. */
    const UBaseType_t left = uxTaskGetStackHighWaterMark(NULL);
    taskENTER_CRITICAL();
    if (left < least)
        least = left;
    taskEXIT_CRITICAL();
    vTaskDelete(NULL);
}

bool chrono_spawn(void (*entry)(void *), void *argument, chrono_priority priority)
{
    struct start *start = (struct start *)chrono_alloc(sizeof *start);
    if (start == NULL)
        return false;
    start->entry = entry;
    start->argument = argument;
    return xTaskCreate(task, "experiment", CHRONO_STACK_WORDS, start,
                       chrono_freertos_priority(priority), NULL) == pdPASS;
}

void chrono_yield(void)
{
    taskYIELD();
}

void chrono_delay_until(uint64_t due)
{
    if (chrono_clock_now() >= due)
        return;
    TickType_t now = xTaskGetTickCount();
    const TickType_t tick = (TickType_t)((due - zero + period - 1) / period);
    if ((int32_t)(tick - now) > 0)
        xTaskDelayUntil(&now, tick - now);
}

uint64_t chrono_tick_after(uint64_t time)
{
    return zero + (time - zero + period - 1) / period * period;
}

uint32_t chrono_switches(void)
{
    return (uint32_t)uxTaskGetTaskNumber(xTaskGetCurrentTaskHandle());
}

void chrono_report(void)
{
    chrono_evidence("stack that each task had left, in words", (uint32_t)least, 8,
                    CHRONO_STACK_WORDS);
}

chrono_object chrono_semaphore(uint32_t initial)
{
    return (chrono_object)xSemaphoreCreateCounting(UINT32_MAX, initial);
}

void chrono_take(chrono_object semaphore)
{
    xSemaphoreTake((SemaphoreHandle_t)semaphore, portMAX_DELAY);
}

void chrono_give(chrono_object semaphore)
{
    xSemaphoreGive((SemaphoreHandle_t)semaphore);
}

void chrono_give_from_handler(chrono_object semaphore)
{
    BaseType_t is_woken = pdFALSE;
    xSemaphoreGiveFromISR((SemaphoreHandle_t)semaphore, &is_woken);
    portYIELD_FROM_ISR(is_woken);
}

chrono_object chrono_queue(uint32_t capacity)
{
    return (chrono_object)xQueueCreate(capacity, sizeof(uint32_t));
}

void chrono_send(chrono_object queue, uint32_t word)
{
    xQueueSend((QueueHandle_t)queue, &word, portMAX_DELAY);
}

uint32_t chrono_receive(chrono_object queue)
{
    uint32_t word = 0;
    xQueueReceive((QueueHandle_t)queue, &word, portMAX_DELAY);
    return word;
}

chrono_object chrono_mutex(uint32_t protocol, chrono_priority ceiling)
{
    (void)ceiling;
    switch (protocol) {
    case CHRONO_PLAIN:
        return (chrono_object)xSemaphoreCreateCounting(1, 1);
    case CHRONO_INHERITANCE:
        return (chrono_object)xSemaphoreCreateMutex();
    default:
        return NULL;
    }
}

void chrono_lock(chrono_object mutex)
{
    xSemaphoreTake((SemaphoreHandle_t)mutex, portMAX_DELAY);
}

void chrono_unlock(chrono_object mutex)
{
    xSemaphoreGive((SemaphoreHandle_t)mutex);
}
