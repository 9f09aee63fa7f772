/* Chronoscope's port to tandem by its C interface, for any machine: the proof of what chronoscope.h
 * costs, beside the port in Rust.
 *
 * tandem.h has no count of switches: an application that has one defines chrono_switches(). */
#include "tandem.h"

#include "chronoscope.h"

/* Stack of a task, in bytes. */
#ifndef CHRONO_STACK_BYTES
#define CHRONO_STACK_BYTES 768
#endif

struct task {
    tandem_task task;
    void (*entry)(void *);
    void *argument;
};

/* A thread of tandem may return. */
static void enter(void *argument)
{
    const struct task *task = (const struct task *)argument;
    task->entry(task->argument);
}

bool chrono_spawn(void (*entry)(void *), void *argument, chrono_priority priority)
{
    const size_t bytes = TANDEM_GUARD + CHRONO_STACK_BYTES;
    struct task *task = (struct task *)chrono_alloc(sizeof *task);
    uint8_t *memory = (uint8_t *)chrono_alloc(bytes + TANDEM_GUARD_ALIGN);
    if (task == NULL || memory == NULL)
        return false;
    memory += (TANDEM_GUARD_ALIGN - (uintptr_t)memory % TANDEM_GUARD_ALIGN) % TANDEM_GUARD_ALIGN;
    task->entry = entry;
    task->argument = argument;
    return tandem_spawn(&task->task, memory, bytes, priority, "experiment", enter, task);
}

void chrono_yield(void)
{
    tandem_yield();
}

void chrono_delay_until(uint64_t due)
{
    tandem_delay_until(due);
}

chrono_object chrono_semaphore(uint32_t initial)
{
    tandem_semaphore *semaphore = (tandem_semaphore *)chrono_alloc(sizeof *semaphore);
    if (semaphore != NULL)
        tandem_semaphore_init(semaphore, initial);
    return (chrono_object)semaphore;
}

void chrono_take(chrono_object semaphore)
{
    tandem_semaphore_take((tandem_semaphore *)semaphore);
}

void chrono_give(chrono_object semaphore)
{
    tandem_semaphore_give((tandem_semaphore *)semaphore);
}

/* The same call: tandem knows that it is in a handler. */
void chrono_give_from_handler(chrono_object semaphore)
{
    tandem_semaphore_give((tandem_semaphore *)semaphore);
}

struct queue {
    tandem_queue queue;
    uint32_t words[];
};

chrono_object chrono_queue(uint32_t capacity)
{
    struct queue *queue =
        (struct queue *)chrono_alloc(sizeof *queue + capacity * sizeof(uint32_t));
    if (queue != NULL)
        tandem_queue_init(&queue->queue, queue->words, sizeof(uint32_t), capacity);
    return (chrono_object)queue;
}

void chrono_send(chrono_object queue, uint32_t word)
{
    tandem_queue_send((tandem_queue *)queue, &word);
}

uint32_t chrono_receive(chrono_object queue)
{
    uint32_t word = 0;
    tandem_queue_receive((tandem_queue *)queue, &word);
    return word;
}

/* tandem.h has mutexes that inherit priorities. */
chrono_object chrono_mutex(uint32_t protocol, chrono_priority ceiling)
{
    (void)ceiling;
    if (protocol != CHRONO_INHERITANCE)
        return NULL;
    tandem_mutex *mutex = (tandem_mutex *)chrono_alloc(sizeof *mutex);
    if (mutex != NULL)
        tandem_mutex_init(mutex);
    return (chrono_object)mutex;
}

void chrono_lock(chrono_object mutex)
{
    tandem_mutex_lock((tandem_mutex *)mutex);
}

void chrono_unlock(chrono_object mutex)
{
    tandem_mutex_unlock((tandem_mutex *)mutex);
}
