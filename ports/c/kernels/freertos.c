/* Chronoscope's port to FreeRTOS, for any machine. Semaphores are FreeRTOS's counting semaphores;
 * with CHRONO_FREERTOS_NOTIFY they are task notifications, the kernel's lightest primitive, which
 * allow one waiting task.
 *
 * It needs these settings of FreeRTOSConfig.h, and works with any value of the others:
 *   configUSE_TRACE_FACILITY 1, configUSE_COUNTING_SEMAPHORES 1, configUSE_MUTEXES 1,
 *   configSUPPORT_DYNAMIC_ALLOCATION 1, configMAX_PRIORITIES 11 or more,
 *   INCLUDE_xTaskDelayUntil 1, INCLUDE_vTaskDelete 1, INCLUDE_vTaskSuspend 1,
 *   INCLUDE_uxTaskGetStackHighWaterMark 1,
 *   #include "chronoscope_freertos_count.h"
 *   #define traceTASK_SWITCHED_IN() CHRONO_COUNT_SWITCH()
 *   with CHRONO_FREERTOS_NOTIFY: configTASK_NOTIFICATION_ARRAY_ENTRIES CHRONO_NOTIFICATIONS + 1
 *   and configNUM_THREAD_LOCAL_STORAGE_POINTERS 1 */
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

#ifndef CHRONO_FREERTOS_NOTIFY

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

#else

/* A semaphore on top of task notifications. The first take makes the task its owner, and one of the
 * task's notifications its count; gives before that are kept in `early`. */
struct notified {
    TaskHandle_t owner;
    UBaseType_t index;
    uint32_t early;
};

chrono_object chrono_semaphore(uint32_t initial)
{
    struct notified *semaphore = (struct notified *)chrono_alloc(sizeof *semaphore);
    if (semaphore != NULL)
        semaphore->early = initial;
    return semaphore;
}

/* Makes the calling task the owner. Index 0 is FreeRTOS's own, of stream buffers. */
static void own(struct notified *semaphore)
{
    static const char many[] = "a task takes more semaphores than it has notifications";
    const UBaseType_t taken = (UBaseType_t)pvTaskGetThreadLocalStoragePointer(NULL, 0);
    if (taken == CHRONO_NOTIFICATIONS)
        chrono_fail(many, sizeof many - 1);
    vTaskSetThreadLocalStoragePointer(NULL, 0, (void *)(taken + 1));
    taskENTER_CRITICAL();
    semaphore->index = taken + 1;
    semaphore->owner = xTaskGetCurrentTaskHandle();
    taskEXIT_CRITICAL();
    for (; semaphore->early > 0; semaphore->early--)
        xTaskNotifyGiveIndexed(semaphore->owner, semaphore->index);
}

void chrono_take(chrono_object object)
{
    struct notified *semaphore = (struct notified *)object;
    if (semaphore->owner == NULL)
        own(semaphore);
    ulTaskNotifyTakeIndexed(semaphore->index, pdFALSE, portMAX_DELAY);
}

void chrono_give(chrono_object object)
{
    struct notified *semaphore = (struct notified *)object;
    taskENTER_CRITICAL();
    const TaskHandle_t owner = semaphore->owner;
    if (owner == NULL)
        semaphore->early++;
    taskEXIT_CRITICAL();
    if (owner != NULL)
        xTaskNotifyGiveIndexed(owner, semaphore->index);
}

void chrono_give_from_handler(chrono_object object)
{
    struct notified *semaphore = (struct notified *)object;
    BaseType_t is_woken = pdFALSE;
    if (semaphore->owner == NULL) {
        semaphore->early++;
        return;
    }
    vTaskNotifyGiveIndexedFromISR(semaphore->owner, semaphore->index, &is_woken);
    portYIELD_FROM_ISR(is_woken);
}

#endif

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
