/* Chronoscope's port to ThreadX, for any machine.
 *
 * For speed, tx_user.h has TX_DISABLE_ERROR_CHECKING and the options that ThreadX's
 * tx_user_sample.h names for the highest speed, such as TX_TIMER_PROCESS_IN_ISR and
 * TX_NOT_INTERRUPTABLE. Without them, figures are those of the defaults. */
#include "tx_api.h"

#include "chronoscope.h"
#include "chronoscope_ticks.h"

/* Stack of a task, in bytes. */
#ifndef CHRONO_STACK_BYTES
#define CHRONO_STACK_BYTES 768
#endif

/* The clock's value at ThreadX's tick 0, and the ticks of the clock from one to the next. */
static uint64_t zero;
static uint32_t period = 1;

void chrono_ticks_start(uint64_t tick_zero, uint32_t clock_ticks_per_tick)
{
    zero = tick_zero;
    period = clock_ticks_per_tick;
}

/* 0 is the most urgent of ThreadX's 32 priorities. */
uint32_t chrono_kernel_priority(chrono_priority priority)
{
    return 20u - priority;
}

struct task {
    TX_THREAD thread;
    void (*entry)(void *);
    void *argument;
};

/* Tasks by number: an argument of ThreadX's may be too narrow for a pointer. */
#define TASKS 128
static struct task *tasks[TASKS];
static ULONG count;

/* A thread of ThreadX may return: it is then completed. */
static VOID enter(ULONG number)
{
    tasks[number]->entry(tasks[number]->argument);
}

bool chrono_spawn(void (*entry)(void *), void *argument, chrono_priority priority)
{
    struct task *task = (struct task *)chrono_alloc(sizeof *task);
    void *stack = chrono_alloc(CHRONO_STACK_BYTES);
    const UINT level = chrono_kernel_priority(priority);
    if (task == NULL || stack == NULL || count == TASKS)
        return false;
    task->entry = entry;
    task->argument = argument;
    tasks[count] = task;
    return tx_thread_create(&task->thread, (CHAR *)"experiment", enter, count++, stack,
                            CHRONO_STACK_BYTES, level, level, TX_NO_TIME_SLICE,
                            TX_AUTO_START) == TX_SUCCESS;
}

void chrono_yield(void)
{
    tx_thread_relinquish();
}

void chrono_delay_until(uint64_t due)
{
    if (chrono_clock_now() >= due)
        return;
    const ULONG tick = (ULONG)((due - zero + period - 1) / period);
    /* Interrupts stay on, as in programs of ThreadX's users: a tick between the read of the time and
     * the sleep makes the sleep one tick longer. */
    const ULONG left = tick - tx_time_get();
    if (left - 1 < (ULONG)INT32_MAX)
        tx_thread_sleep(left);
}

uint64_t chrono_tick_after(uint64_t time)
{
    return zero + (time - zero + period - 1) / period * period;
}

/* ThreadX counts by itself how often it has run a thread. */
uint32_t chrono_switches(void)
{
    return (uint32_t)tx_thread_identify()->tx_thread_run_count;
}

chrono_object chrono_semaphore(uint32_t initial)
{
    TX_SEMAPHORE *semaphore = (TX_SEMAPHORE *)chrono_alloc(sizeof *semaphore);
    const bool is_made = semaphore != NULL && tx_semaphore_create(semaphore, (CHAR *)"semaphore",
                                                                  initial) == TX_SUCCESS;
    return is_made ? (chrono_object)semaphore : NULL;
}

void chrono_take(chrono_object semaphore)
{
    tx_semaphore_get((TX_SEMAPHORE *)semaphore, TX_WAIT_FOREVER);
}

void chrono_give(chrono_object semaphore)
{
    tx_semaphore_put((TX_SEMAPHORE *)semaphore);
}

/* The same call: ThreadX knows that it is in a handler. */
void chrono_give_from_handler(chrono_object semaphore)
{
    tx_semaphore_put((TX_SEMAPHORE *)semaphore);
}

/* A word of a queue is a ULONG, which has 32 bits on every machine of 32 bits. */
chrono_object chrono_queue(uint32_t capacity)
{
    TX_QUEUE *queue = (TX_QUEUE *)chrono_alloc(sizeof *queue);
    const ULONG bytes = capacity * (ULONG)sizeof(ULONG);
    void *words = chrono_alloc(bytes);
    const bool is_made = queue != NULL && words != NULL &&
                         tx_queue_create(queue, (CHAR *)"queue", TX_1_ULONG, words, bytes) ==
                             TX_SUCCESS;
    return is_made ? (chrono_object)queue : NULL;
}

void chrono_send(chrono_object queue, uint32_t word)
{
    ULONG sent = word;
    tx_queue_send((TX_QUEUE *)queue, &sent, TX_WAIT_FOREVER);
}

uint32_t chrono_receive(chrono_object queue)
{
    ULONG word = 0;
    tx_queue_receive((TX_QUEUE *)queue, &word, TX_WAIT_FOREVER);
    return (uint32_t)word;
}

/* ThreadX's mutexes inherit priorities, or do not; it has no ceilings. */
chrono_object chrono_mutex(uint32_t protocol, chrono_priority ceiling)
{
    (void)ceiling;
    if (protocol == CHRONO_CEILING)
        return NULL;
    TX_MUTEX *mutex = (TX_MUTEX *)chrono_alloc(sizeof *mutex);
    const UINT inherits = protocol == CHRONO_INHERITANCE ? TX_INHERIT : TX_NO_INHERIT;
    const bool is_made = mutex != NULL &&
                         tx_mutex_create(mutex, (CHAR *)"mutex", inherits) == TX_SUCCESS;
    return is_made ? (chrono_object)mutex : NULL;
}

void chrono_lock(chrono_object mutex)
{
    tx_mutex_get((TX_MUTEX *)mutex, TX_WAIT_FOREVER);
}

void chrono_unlock(chrono_object mutex)
{
    tx_mutex_put((TX_MUTEX *)mutex);
}
