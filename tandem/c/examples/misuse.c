/* Calls that must end with a report: the one whose number is CASE. */
#include "board.h"

static tandem_task task, other_task;
TANDEM_STACK(stack, 768);
TANDEM_STACK(other_stack, 768);
TANDEM_STACK(idle_stack, 256);
static tandem_semaphore semaphore;
static tandem_mutex mutex;
static tandem_event event;
static tandem_group group;
static tandem_queue queue;
static tandem_stream stream;
static uint8_t storage[16], ring[16];
static tandem_condvar condvar;
static tandem_timers timers;
static tandem_timer timer;

void handler_0(void)
{
    tandem_semaphore_take(&semaphore);
}

static unsigned overflow(volatile unsigned *above)
{
    volatile unsigned here[4] = {*above + 1};
    return *above > 10000 ? 0 : overflow(here) + here[0];
}

static void nothing(void *unused)
{
    (void)unused;
}

/* More urgent than the thread that spawns it: waits first. */
static void other(void *unused)
{
    (void)unused;
    if (CASE == 7)
        tandem_event_wait(&event);
    else
        tandem_timers_run(&timers);
}

static void spawn_other(unsigned priority, size_t size)
{
    tandem_spawn(&other_task, other_stack, size, priority, "other", other, NULL);
}

static void run(void *unused)
{
    (void)unused;
    volatile unsigned top = 0;
    size_t size = 2;
    switch (CASE) {
    case 1:
        raise_interrupt(0);
        break;
    case 2:
        tandem_enter();
        tandem_delay(MILLISECOND);
        break;
    case 3:
        tandem_mutex_lock(&mutex);
        tandem_mutex_lock(&mutex);
        break;
    case 4:
        tandem_mutex_unlock(&mutex);
        break;
    case 5:
        overflow(&top);
        break;
    case 7:
        spawn_other(4, sizeof other_stack);
        tandem_event_wait(&event);
        break;
    case 8:
        spawn_other(32, sizeof other_stack);
        break;
    case 9:
        spawn_other(4, 64);
        break;
    case 10:
        spawn_other(4, sizeof other_stack - 4);
        break;
    case 11:
        tandem_join(&task);
        break;
    case 12:
        tandem_queue_init(&queue, stack, 0, 4);
        break;
    case 13:
        tandem_group_wait(&group, 0, 0);
        break;
    case 14:
        tandem_timer_start_periodic(&timer, 0, 0);
        break;
    case 15:
        spawn_other(4, sizeof other_stack);
        tandem_timers_run(&timers);
        break;
    case 16:
        tandem_set_priority(&task, 32);
        break;
    case 18:
        __asm volatile("udf #0");
        break;
    case 19:
        tandem_message_send(&stream, storage, 13);
        break;
    case 20:
        tandem_message_send(&stream, "abc", 3);
        tandem_message_receive(&stream, storage, &size);
        break;
    case 21:
        tandem_stream_init(&stream, storage, 4);
        break;
    case 22:
        tandem_condvar_wait(&condvar, &mutex);
        break;
    case 23:
        tandem_enter();
        tandem_end();
        break;
    case 17:
        tandem_start(idle_stack, sizeof idle_stack, NULL);
        break;
    }
    leave(true);
}

static void set_up(void)
{
    tandem_spawn(&task, stack, sizeof stack, 3, "waits", run, NULL);
}

int main(void)
{
    board_set_up();
    tandem_semaphore_init(&semaphore, 0);
    tandem_mutex_init(&mutex);
    tandem_event_init(&event);
    tandem_group_init(&group);
    tandem_stream_init(&stream, ring, sizeof ring);
    tandem_condvar_init(&condvar);
    tandem_timers_init(&timers);
    tandem_timer_init(&timer, &timers, nothing, NULL);
    if (CASE == 6)
        tandem_mutex_lock(&mutex);
    tandem_start(idle_stack, sizeof idle_stack, set_up);
}
