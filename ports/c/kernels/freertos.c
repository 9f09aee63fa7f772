/* Chronoscope's port to FreeRTOS, for any machine. Semaphores are FreeRTOS's counting semaphores. With
 * CHRONO_NOTIFICATIONS they are task notifications, which wake one task without an object between;
 * the port then has no queues and no mutexes.
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

#ifdef CHRONO_NOTIFICATIONS

/* One notification of the task that takes: the first to do so. */
struct notification {
    TaskHandle_t taker;
    UBaseType_t index;
    /* Given before there was a taker. */
    uint32_t early;
};

/* The notifications of a task that has taken some. */
struct taker {
    TaskHandle_t task;
    UBaseType_t count;
};

/* The most tasks that take; the library creates no more at a time. */
#define TAKERS 128
static struct taker takers[TAKERS];

chrono_object chrono_semaphore(uint32_t initial)
{
    struct notification *own = (struct notification *)chrono_alloc(sizeof *own);
    if (own != NULL)
        own->early = initial;
    return (chrono_object)own;
}

/* Makes the caller the taker, by the next of its notifications. */
static void adopt(struct notification *own)
{
    static const char none[] = "a task takes more semaphores than it has notifications";
    const TaskHandle_t task = xTaskGetCurrentTaskHandle();
    struct taker *taker = takers;
    taskENTER_CRITICAL();
    while (taker < takers + TAKERS && taker->task != NULL && taker->task != task)
        taker++;
    if (taker == takers + TAKERS || taker->count == configTASK_NOTIFICATION_ARRAY_ENTRIES)
        chrono_fail(none, sizeof none - 1);
    taker->task = task;
    own->index = taker->count++;
    own->taker = task;
    for (; own->early > 0; own->early--)
        xTaskNotifyGiveIndexed(task, own->index);
    taskEXIT_CRITICAL();
}

void chrono_take(chrono_object semaphore)
{
    struct notification *own = (struct notification *)semaphore;
    if (own->taker == NULL)
        adopt(own);
    ulTaskNotifyTakeIndexed(own->index, pdFALSE, portMAX_DELAY);
}

/* Gives before there is a taker. Returns false if there is one. */
static bool is_early(struct notification *own)
{
    taskENTER_CRITICAL();
    const bool is_free = own->taker == NULL;
    if (is_free)
        own->early++;
    taskEXIT_CRITICAL();
    return is_free;
}

void chrono_give(chrono_object semaphore)
{
    struct notification *own = (struct notification *)semaphore;
    if (own->taker != NULL || !is_early(own))
        xTaskNotifyGiveIndexed(own->taker, own->index);
}

void chrono_give_from_handler(chrono_object semaphore)
{
    struct notification *own = (struct notification *)semaphore;
    BaseType_t is_woken = pdFALSE;
    if (own->taker == NULL) {
        /* Handlers of the kernel's levels do not interrupt each other. */
        own->early++;
        return;
    }
    vTaskNotifyGiveIndexedFromISR(own->taker, own->index, &is_woken);
    portYIELD_FROM_ISR(is_woken);
}

#else

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

#endif
