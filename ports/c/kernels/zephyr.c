/* Chronoscope's port to Zephyr, for any machine: k_thread, k_sem, k_msgq, k_mutex, k_sleep. Run on 3.2.
 *
 * The module's Kconfig (CHRONOSCOPE) selects the options that it needs. Switches are counted where the
 * kernel would trace them; the count and the kernel's calls for it are part of the figures: on a Cortex-M4
 * 18 instructions a switch. */
#include <zephyr/kernel.h>

#include "chronoscope.h"
#include "chronoscope_ticks.h"

/* Stack of a task, in bytes, and the most tasks. */
#ifndef CONFIG_CHRONOSCOPE_STACK_BYTES
#define CONFIG_CHRONOSCOPE_STACK_BYTES 1024
#endif
#ifndef CONFIG_CHRONOSCOPE_TASKS
#define CONFIG_CHRONOSCOPE_TASKS 32
#endif

/* The clock's value at Zephyr's tick 0, and the ticks of the clock from one to the next. */
static uint64_t zero;
static uint32_t period = 1;

void chrono_ticks_start(uint64_t tick_zero, uint32_t clock_ticks_per_tick)
{
    zero = tick_zero;
    period = clock_ticks_per_tick;
}

/* A lower number is more urgent; those from 0 on are pre-empted. */
uint32_t chrono_kernel_priority(chrono_priority priority)
{
    return (uint32_t)K_PRIO_PREEMPT(10 - priority);
}

static K_KERNEL_STACK_ARRAY_DEFINE(stacks, CONFIG_CHRONOSCOPE_TASKS,
                                   CONFIG_CHRONOSCOPE_STACK_BYTES);
static struct k_thread threads[CONFIG_CHRONOSCOPE_TASKS];
static uint32_t count;

/* The fewest bytes of stack that an ended task had left. */
static size_t least = CONFIG_CHRONOSCOPE_STACK_BYTES;

/* A thread of Zephyr may return. */
static void enter(void *entry, void *argument, void *unused)
{
    size_t left = 0;
    (void)unused;
    (*(void (**)(void *))entry)(argument);
    k_thread_stack_space_get(k_current_get(), &left);
    const unsigned int key = irq_lock();
    if (left < least)
        least = left;
    irq_unlock(key);
}

bool chrono_spawn(void (*entry)(void *), void *argument, chrono_priority priority)
{
    /* A function's address is no void *: its place is passed. */
    void (**place)(void *) = (void (**)(void *))chrono_alloc(sizeof *place);
    if (place == NULL || count == CONFIG_CHRONOSCOPE_TASKS)
        return false;
    *place = entry;
    k_thread_create(&threads[count], stacks[count], CONFIG_CHRONOSCOPE_STACK_BYTES, enter, place,
                    argument, NULL, (int)chrono_kernel_priority(priority), 0, K_NO_WAIT);
    count++;
    return true;
}

void chrono_yield(void)
{
    k_yield();
}

void chrono_delay_until(uint64_t due)
{
    if (chrono_clock_now() >= due)
        return;
    k_sleep(K_TIMEOUT_ABS_TICKS((due - zero + period - 1) / period));
    /* Zephyr's clock and the experiment's may differ by the time that it takes to relate them. */
    while (chrono_clock_now() < due)
        ;
}

uint64_t chrono_tick_after(uint64_t time)
{
    return zero + (time - zero + period - 1) / period * period;
}

/* In the place of the kernel's function after a switch, by the linker's --wrap: the kernel's does nothing
 * where threads are neither traced nor timed. */
void __wrap_z_thread_mark_switched_in(void);

void __wrap_z_thread_mark_switched_in(void)
{
    static struct k_thread *running;
    struct k_thread *thread = _current;
    if (thread != running)
        thread->custom_data = (void *)((uintptr_t)thread->custom_data + 1);
    running = thread;
}

uint32_t chrono_switches(void)
{
    return (uint32_t)(uintptr_t)k_current_get()->custom_data;
}

void chrono_report(void)
{
    chrono_evidence("stack that each task had left, in bytes", (uint32_t)least, 32,
                    CONFIG_CHRONOSCOPE_STACK_BYTES);
}

chrono_object chrono_semaphore(uint32_t initial)
{
    struct k_sem *semaphore = (struct k_sem *)chrono_alloc(sizeof *semaphore);
    if (semaphore != NULL)
        k_sem_init(semaphore, initial, K_SEM_MAX_LIMIT);
    return (chrono_object)semaphore;
}

void chrono_take(chrono_object semaphore)
{
    k_sem_take((struct k_sem *)semaphore, K_FOREVER);
}

void chrono_give(chrono_object semaphore)
{
    k_sem_give((struct k_sem *)semaphore);
}

/* The same call: Zephyr knows that it is in a handler. */
void chrono_give_from_handler(chrono_object semaphore)
{
    k_sem_give((struct k_sem *)semaphore);
}

chrono_object chrono_queue(uint32_t capacity)
{
    struct k_msgq *queue = (struct k_msgq *)chrono_alloc(sizeof *queue);
    char *words = (char *)chrono_alloc(capacity * sizeof(uint32_t));
    if (queue == NULL || words == NULL)
        return NULL;
    k_msgq_init(queue, words, sizeof(uint32_t), capacity);
    return (chrono_object)queue;
}

void chrono_send(chrono_object queue, uint32_t word)
{
    k_msgq_put((struct k_msgq *)queue, &word, K_FOREVER);
}

uint32_t chrono_receive(chrono_object queue)
{
    uint32_t word = 0;
    k_msgq_get((struct k_msgq *)queue, &word, K_FOREVER);
    return word;
}

/* Zephyr's mutexes inherit priorities. */
chrono_object chrono_mutex(uint32_t protocol, chrono_priority ceiling)
{
    (void)ceiling;
    if (protocol != CHRONO_INHERITANCE)
        return NULL;
    struct k_mutex *mutex = (struct k_mutex *)chrono_alloc(sizeof *mutex);
    if (mutex != NULL)
        k_mutex_init(mutex);
    return (chrono_object)mutex;
}

void chrono_lock(chrono_object mutex)
{
    k_mutex_lock((struct k_mutex *)mutex, K_FOREVER);
}

void chrono_unlock(chrono_object mutex)
{
    k_mutex_unlock((struct k_mutex *)mutex);
}
