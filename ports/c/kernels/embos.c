/* Chronoscope's port to embOS 5, for any machine, written from its public manual. It has been
 * compiled against declarations only, and never run.
 *
 * The experiments' handlers call OS_INT_Enter() and OS_INT_Leave() around chrono_on_software() and
 * chrono_on_timer(). Switches are counted by a library with statistics (OS_SUPPORT_STAT); another
 * returns 0, and the evidence of `switch` fails. */
#include "RTOS.h"

#include "chronoscope.h"
#include "chronoscope_ticks.h"

/* Stack of a task, in bytes. */
#ifndef CHRONO_STACK_BYTES
#define CHRONO_STACK_BYTES 768
#endif

/* The clock's value at embOS's tick 0, and the ticks of the clock from one to the next. */
static uint64_t zero;
static uint32_t period = 1;

void chrono_ticks_start(uint64_t tick_zero, uint32_t clock_ticks_per_tick)
{
    zero = tick_zero;
    period = clock_ticks_per_tick;
}

/* A higher number is more urgent; 0 is not a priority. */
uint32_t chrono_kernel_priority(chrono_priority priority)
{
    return 100u + priority;
}

struct task {
    OS_TASK task;
    void (*entry)(void *);
    void *argument;
};

/* A task of embOS may not return. */
static void enter(void *argument)
{
    const struct task *task = (const struct task *)argument;
    task->entry(task->argument);
    OS_TASK_Terminate(NULL);
}

bool chrono_spawn(void (*entry)(void *), void *argument, chrono_priority priority)
{
    struct task *task = (struct task *)chrono_alloc(sizeof *task);
    void *stack = chrono_alloc(CHRONO_STACK_BYTES);
    if (task == NULL || stack == NULL)
        return false;
    task->entry = entry;
    task->argument = argument;
    /* A slice of 0: tasks of one priority take turns only where they yield. */
    OS_TASK_CreateEx(&task->task, "experiment", chrono_kernel_priority(priority), enter, stack,
                     CHRONO_STACK_BYTES, 0, task);
    return true;
}

void chrono_yield(void)
{
    OS_TASK_Yield();
}

void chrono_delay_until(uint64_t due)
{
    if (chrono_clock_now() < due)
        OS_TASK_DelayUntil((OS_TIME)((due - zero + period - 1) / period));
}

uint64_t chrono_tick_after(uint64_t time)
{
    return zero + (time - zero + period - 1) / period * period;
}

uint32_t chrono_switches(void)
{
    return (uint32_t)OS_STAT_GetNumActivations(OS_TASK_GetID());
}

chrono_object chrono_semaphore(uint32_t initial)
{
    OS_SEMAPHORE *semaphore = (OS_SEMAPHORE *)chrono_alloc(sizeof *semaphore);
    if (semaphore != NULL)
        OS_SEMAPHORE_Create(semaphore, initial);
    return (chrono_object)semaphore;
}

void chrono_take(chrono_object semaphore)
{
    OS_SEMAPHORE_TakeBlocked((OS_SEMAPHORE *)semaphore);
}

void chrono_give(chrono_object semaphore)
{
    OS_SEMAPHORE_Give((OS_SEMAPHORE *)semaphore);
}

/* The same call: embOS knows from OS_INT_Enter() that it is in a handler. */
void chrono_give_from_handler(chrono_object semaphore)
{
    OS_SEMAPHORE_Give((OS_SEMAPHORE *)semaphore);
}

chrono_object chrono_queue(uint32_t capacity)
{
    OS_MAILBOX *mailbox = (OS_MAILBOX *)chrono_alloc(sizeof *mailbox);
    void *words = chrono_alloc(capacity * sizeof(uint32_t));
    if (mailbox == NULL || words == NULL)
        return NULL;
    OS_MAILBOX_Create(mailbox, sizeof(uint32_t), capacity, words);
    return (chrono_object)mailbox;
}

void chrono_send(chrono_object mailbox, uint32_t word)
{
    OS_MAILBOX_PutBlocked((OS_MAILBOX *)mailbox, &word);
}

uint32_t chrono_receive(chrono_object mailbox)
{
    uint32_t word = 0;
    OS_MAILBOX_GetBlocked((OS_MAILBOX *)mailbox, &word);
    return word;
}

/* Mutexes of embOS inherit priorities. */
chrono_object chrono_mutex(uint32_t protocol, chrono_priority ceiling)
{
    (void)ceiling;
    if (protocol != CHRONO_INHERITANCE)
        return NULL;
    OS_MUTEX *mutex = (OS_MUTEX *)chrono_alloc(sizeof *mutex);
    if (mutex != NULL)
        OS_MUTEX_Create(mutex);
    return (chrono_object)mutex;
}

void chrono_lock(chrono_object mutex)
{
    OS_MUTEX_LockBlocked((OS_MUTEX *)mutex);
}

void chrono_unlock(chrono_object mutex)
{
    OS_MUTEX_Unlock((OS_MUTEX *)mutex);
}
