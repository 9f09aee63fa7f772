/* Chronoscope's port to CMSIS-RTOS2, for any machine and any kernel below it. A fallback: the layer
 * is part of the figures (65 instructions a switch above FreeRTOS), it counts no switches, so `switch`
 * has no evidence, and a port to the kernel itself is better. */
#include "cmsis_os2.h"

#include "chronoscope.h"
#include "chronoscope_ticks.h"

/* Stack of a task, in bytes. */
#ifndef CHRONO_STACK_BYTES
#define CHRONO_STACK_BYTES 1024
#endif

/* The clock's value at the kernel's tick 0, and the ticks of the clock from one to the next. */
static uint64_t zero;
static uint32_t period = 1;

void chrono_ticks_start(uint64_t tick_zero, uint32_t clock_ticks_per_tick)
{
    zero = tick_zero;
    period = clock_ticks_per_tick;
}

uint32_t chrono_kernel_priority(chrono_priority priority)
{
    return (uint32_t)osPriorityLow + priority;
}

struct task {
    void (*entry)(void *);
    void *argument;
};

static void enter(void *argument)
{
    const struct task *task = (const struct task *)argument;
    task->entry(task->argument);
    osThreadExit();
}

bool chrono_spawn(void (*entry)(void *), void *argument, chrono_priority priority)
{
    struct task *task = (struct task *)chrono_alloc(sizeof *task);
    if (task == NULL)
        return false;
    task->entry = entry;
    task->argument = argument;
    osThreadAttr_t attributes = {0};
    attributes.name = "experiment";
    attributes.stack_size = CHRONO_STACK_BYTES;
    attributes.priority = (osPriority_t)chrono_kernel_priority(priority);
    return osThreadNew(enter, task, &attributes) != NULL;
}

void chrono_yield(void)
{
    osThreadYield();
}

void chrono_delay_until(uint64_t due)
{
    if (chrono_clock_now() < due)
        osDelayUntil((uint32_t)((due - zero + period - 1) / period));
}

uint64_t chrono_tick_after(uint64_t time)
{
    return zero + (time - zero + period - 1) / period * period;
}

/* The interface counts no switches. */
uint32_t chrono_switches(void)
{
    return UINT32_MAX;
}

chrono_object chrono_semaphore(uint32_t initial)
{
    return osSemaphoreNew(0xFFFF, initial, NULL);
}

void chrono_take(chrono_object semaphore)
{
    osSemaphoreAcquire(semaphore, osWaitForever);
}

void chrono_give(chrono_object semaphore)
{
    osSemaphoreRelease(semaphore);
}

/* The same call: the layer finds out that it is in a handler. */
void chrono_give_from_handler(chrono_object semaphore)
{
    osSemaphoreRelease(semaphore);
}

chrono_object chrono_queue(uint32_t capacity)
{
    return osMessageQueueNew(capacity, sizeof(uint32_t), NULL);
}

void chrono_send(chrono_object queue, uint32_t word)
{
    osMessageQueuePut(queue, &word, 0, osWaitForever);
}

uint32_t chrono_receive(chrono_object queue)
{
    uint32_t word = 0;
    osMessageQueueGet(queue, &word, NULL, osWaitForever);
    return word;
}

/* Mutexes inherit priorities, if asked to; there are no ceilings. */
chrono_object chrono_mutex(uint32_t protocol, chrono_priority ceiling)
{
    (void)ceiling;
    if (protocol == CHRONO_CEILING)
        return NULL;
    osMutexAttr_t attributes = {0};
    attributes.attr_bits = protocol == CHRONO_INHERITANCE ? osMutexPrioInherit : 0;
    return osMutexNew(&attributes);
}

void chrono_lock(chrono_object mutex)
{
    osMutexAcquire(mutex, osWaitForever);
}

void chrono_unlock(chrono_object mutex)
{
    osMutexRelease(mutex);
}
