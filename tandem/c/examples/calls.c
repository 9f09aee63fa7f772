/* Every call of tandem.h, with each of its results. */
#include "board.h"

static tandem_task director_task, other_task;
TANDEM_STACK(director_stack, 1024);
TANDEM_STACK(other_stack, 1024);
TANDEM_STACK(idle_stack, 256);
static tandem_semaphore semaphore;
static tandem_mutex mutex;
static tandem_event event;
static tandem_queue words, odd;
static uint32_t word_storage[2];
static struct {
    char text[7];
} odd_storage[3];
static tandem_group group;
static tandem_condvar condvar;
static tandem_stream stream, messages;
static uint8_t stream_storage[8], message_storage[16];
static tandem_timers timers;
static tandem_timer periodic, once;
static unsigned steps;

/* Starts the other thread when its earlier one has ended. */
static void spawn_other(unsigned priority, void (*body)(void *), void *argument)
{
    while (tandem_is_alive(&other_task))
        tandem_delay(MILLISECOND);
    CHECK(tandem_spawn(&other_task, other_stack, sizeof other_stack, priority, "other", body,
                       argument));
}

static uint64_t soon(void)
{
    return tandem_now() + MILLISECOND;
}

static void count(void *by)
{
    steps += (unsigned)(uintptr_t)by;
}

static void end_deep(void *unused)
{
    (void)unused;
    CHECK(tandem_current() == &other_task && tandem_may_wait());
    tandem_end();
}

static void threads(void)
{
    CHECK(tandem_version() >= 10000 && tandem_current() == &director_task);
    spawn_other(9, end_deep, NULL);
    CHECK(!tandem_is_alive(&other_task) && !tandem_is_ready(&other_task));
    spawn_other(9, count, (void *)3);
    CHECK(steps == 3 && !tandem_is_alive(&other_task)); /* it was more urgent */
    spawn_other(5, count, (void *)4);
    CHECK(steps == 3 && tandem_is_alive(&other_task) && tandem_is_ready(&other_task));
    CHECK(!tandem_spawn(&other_task, other_stack, sizeof other_stack, 5, "other", count, NULL));
    CHECK(tandem_priority(&other_task) == 5 && tandem_priority(&director_task) == 5);
    tandem_yield();
    CHECK(steps == 7 && !tandem_is_alive(&other_task));
    uint64_t before = tandem_now();
    tandem_delay(MILLISECOND);
    CHECK(tandem_now() - before >= MILLISECOND && tandem_now() - before < 2 * MILLISECOND);
    tandem_delay_until(before);
}

static void give_twice(void *unused)
{
    (void)unused;
    tandem_semaphore_give(&semaphore);
    tandem_semaphore_give(&semaphore);
}

void handler_0(void)
{
    CHECK(!tandem_may_wait() && tandem_current() == &director_task);
    tandem_semaphore_give(&semaphore);
}

static void semaphores(void)
{
    CHECK(tandem_semaphore_count(&semaphore) == 1);
    CHECK(tandem_semaphore_try_take(&semaphore) && !tandem_semaphore_try_take(&semaphore));
    CHECK(tandem_semaphore_count(&semaphore) == 0);
    CHECK(!tandem_semaphore_take_until(&semaphore, soon()));
    spawn_other(3, give_twice, NULL);
    tandem_semaphore_take(&semaphore);
    CHECK(tandem_semaphore_take_until(&semaphore, soon()));
    uint32_t outer = tandem_enter();
    uint32_t inner = tandem_enter();
    raise_interrupt(0);
    CHECK(!tandem_may_wait());
    tandem_exit(inner);
    CHECK(!tandem_semaphore_try_take(&semaphore)); /* the section is closed still */
    tandem_exit(outer);
    CHECK(tandem_semaphore_try_take(&semaphore));
}

static void hold(void *priority)
{
    tandem_mutex_lock(&mutex);
    tandem_semaphore_take(&semaphore);
    CHECK(tandem_priority(&other_task) == (uintptr_t)priority);
    tandem_mutex_unlock(&mutex);
}

static void delay_and_give(void *unused)
{
    (void)unused;
    tandem_delay(MILLISECOND);
    tandem_semaphore_give(&semaphore);
}

static void spawn_giver(void)
{
    static tandem_task giver;
    TANDEM_STACK(giver_stack, 512);
    CHECK(tandem_spawn(&giver, giver_stack, sizeof giver_stack, 9, "giver", delay_and_give, NULL));
}

static void mutexes(void)
{
    CHECK(tandem_mutex_try_lock(&mutex));
    tandem_mutex_unlock(&mutex);
    spawn_other(9, hold, (void *)9);
    CHECK(!tandem_mutex_try_lock(&mutex) && !tandem_mutex_lock_until(&mutex, soon()));
    tandem_semaphore_give(&semaphore);
    spawn_other(2, hold, (void *)5); /* inherited from this thread */
    tandem_delay(MILLISECOND);
    spawn_giver();
    tandem_mutex_lock(&mutex);
    tandem_mutex_unlock(&mutex);
    CHECK(tandem_mutex_lock_until(&mutex, 0));
    tandem_mutex_unlock(&mutex);
}

static void signal_6(void *unused)
{
    (void)unused;
    tandem_event_signal(&event, 6);
}

static void events(void)
{
    CHECK(tandem_event_try_wait(&event) == 0 && tandem_event_wait_until(&event, soon()) == 0);
    tandem_event_signal(&event, 1);
    tandem_event_signal(&event, 8);
    CHECK(tandem_event_wait(&event) == 9);
    spawn_other(2, signal_6, NULL);
    CHECK(tandem_event_wait(&event) == 6);
    spawn_other(2, signal_6, NULL);
    CHECK(tandem_event_wait_until(&event, soon()) == 6);
    signal_6(NULL);
    CHECK(tandem_event_try_wait(&event) == 6);
}

static void send_three(void *unused)
{
    (void)unused;
    for (uint32_t word = 1; word <= 3; word++)
        tandem_queue_send(&words, &word);
}

static void queues(void)
{
    uint32_t word = 7;
    CHECK(!tandem_queue_try_receive(&words, &word) && word == 7);
    CHECK(!tandem_queue_receive_until(&words, &word, soon()));
    spawn_other(9, send_three, NULL); /* it waits with the third */
    CHECK(tandem_is_alive(&other_task) && !tandem_is_ready(&other_task));
    CHECK(tandem_queue_count(&words) == 2);
    for (uint32_t i = 1; i <= 3; i++) {
        tandem_queue_receive(&words, &word);
        CHECK(word == i);
    }
    CHECK(tandem_queue_send_until(&words, &word, 0) && tandem_queue_try_send(&words, &word));
    CHECK(!tandem_queue_try_send(&words, &word));
    CHECK(!tandem_queue_send_until(&words, &word, soon()));
    CHECK(tandem_queue_receive_until(&words, &word, 0) && tandem_queue_try_receive(&words, &word));
    /* Messages of a size that is no multiple of a word. */
    char text[7] = "message";
    for (char i = 0; i < 20; i++) {
        text[6] = i;
        tandem_queue_send(&odd, text);
        if (i >= 2) {
            char first[7];
            tandem_queue_receive(&odd, first);
            CHECK(first[0] == 'm' && first[5] == 'g' && first[6] == i - 2);
        }
    }
}

static void wait_for_both(void *options)
{
    CHECK(tandem_group_wait(&group, 3, TANDEM_ALL | (unsigned)(uintptr_t)options) == 3);
    steps = 20;
}

static void groups(void)
{
    CHECK(tandem_group_wait_until(&group, 3, 0, soon()) == 0);
    CHECK(tandem_group_try_wait(&group, 3, 0) == 0);
    spawn_other(9, wait_for_both, (void *)TANDEM_TAKE);
    tandem_group_set(&group, 1);
    CHECK(tandem_group_wait(&group, 3, 0) == 1 && steps != 20);
    CHECK(tandem_group_try_wait(&group, 3, TANDEM_ALL) == 0);
    CHECK(tandem_group_try_wait(&group, 3, 0) == 1);
    tandem_group_set(&group, 6);
    CHECK(steps == 20 && tandem_group_clear(&group, ~0u) == 4);
}

static void ends_and_priorities(void)
{
    spawn_other(2, delay_and_give, NULL);
    CHECK(!tandem_join_until(&other_task, tandem_now() + MILLISECOND / 2));
    CHECK(tandem_set_priority(&other_task, 9) && tandem_priority(&other_task) == 9);
    tandem_join(&other_task);
    CHECK(!tandem_is_alive(&other_task) && !tandem_set_priority(&other_task, 3));
    CHECK(tandem_semaphore_try_take(&semaphore));
}

static void run_timers(void *unused)
{
    (void)unused;
    tandem_timers_run(&timers);
}

static void call_timers(void)
{
    static tandem_task timers_task;
    TANDEM_STACK(timers_stack, 1024);
    CHECK(tandem_spawn(&timers_task, timers_stack, sizeof timers_stack, 7, "timers", run_timers,
                       NULL));
    uint64_t start = tandem_now();
    steps = 0;
    tandem_timer_start_periodic(&periodic, start + MILLISECOND, 2 * MILLISECOND);
    tandem_timer_start_once(&once, start + 4 * MILLISECOND);
    tandem_delay_until(start + 6 * MILLISECOND);
    CHECK(steps == 3 * 1 + 10);
    CHECK(tandem_timer_is_running(&periodic) && !tandem_timer_is_running(&once));
    tandem_timer_stop(&periodic);
    tandem_delay_until(start + 10 * MILLISECOND);
    CHECK(steps == 13);
}

static void notify(void *unused)
{
    (void)unused;
    tandem_mutex_lock(&mutex);
    steps++;
    tandem_mutex_unlock(&mutex);
    tandem_condvar_notify_one(&condvar);
    tandem_condvar_notify_all(&condvar);
}

static void condvars(void)
{
    steps = 0;
    tandem_mutex_lock(&mutex);
    CHECK(!tandem_condvar_wait_until(&condvar, &mutex, soon()));
    spawn_other(9, notify, NULL); /* waits for the mutex */
    while (steps == 0)
        tandem_condvar_wait(&condvar, &mutex);
    spawn_other(9, notify, NULL);
    CHECK(tandem_condvar_wait_until(&condvar, &mutex, soon()) && steps == 2);
    tandem_mutex_unlock(&mutex);
}

static void writes(void *unused)
{
    (void)unused;
    tandem_stream_write(&stream, "abcdefghijkl", 12); /* more than the ring holds */
    tandem_message_send(&messages, "one", 3);
    tandem_message_send(&messages, "eleven char", 11); /* waits for space */
}

static bool equal(const char *a, const char *b, size_t count)
{
    while (count && *a == *b)
        a++, b++, count--;
    return count == 0;
}

static void streams(void)
{
    char bytes[16];
    size_t size = sizeof bytes;
    CHECK(tandem_stream_try_read(&stream, bytes, 8) == 0);
    CHECK(tandem_stream_read_until(&stream, bytes, 8, 2, soon()) == 0);
    CHECK(tandem_stream_try_write(&stream, "12345678x", 9) == 8);
    CHECK(tandem_stream_write_until(&stream, "x", 1, soon()) == 0);
    CHECK(tandem_stream_read(&stream, bytes, 3, 3) == 3 && equal(bytes, "123", 3));
    CHECK(tandem_stream_try_write(&stream, "9", 1) == 1);
    CHECK(tandem_stream_try_read(&stream, bytes, 16) == 6 && equal(bytes, "456789", 6));
    CHECK(!tandem_message_try_receive(&messages, bytes, &size) && size == sizeof bytes);
    CHECK(!tandem_message_receive_until(&messages, bytes, &size, soon()));
    spawn_other(5, writes, NULL);
    CHECK(tandem_stream_read(&stream, bytes, 8, 8) == 8 && equal(bytes, "abcdefgh", 8));
    CHECK(tandem_stream_read_until(&stream, bytes, 8, 4, soon()) == 4);
    CHECK(equal(bytes, "ijkl", 4));
    tandem_message_receive(&messages, bytes, &size);
    CHECK(size == 3 && equal(bytes, "one", 3));
    size = sizeof bytes;
    CHECK(tandem_message_receive_until(&messages, bytes, &size, soon()));
    CHECK(size == 11 && equal(bytes, "eleven char", 11));
    CHECK(tandem_message_try_send(&messages, bytes, 12));
    CHECK(!tandem_message_try_send(&messages, bytes, 1));
    CHECK(!tandem_message_send_until(&messages, bytes, 1, soon()));
    size = sizeof bytes;
    CHECK(tandem_message_try_receive(&messages, bytes, &size) && size == 12);
}

static void stacks(void)
{
    while (tandem_is_alive(&other_task))
        tandem_delay(MILLISECOND);
    tandem_stack_paint(other_stack, sizeof other_stack);
    CHECK(tandem_stack_unused(other_stack, sizeof other_stack) == 1024);
    spawn_other(9, count, NULL);
    size_t unused = tandem_stack_unused(other_stack, sizeof other_stack);
    CHECK(unused > 512 && unused < 1024);
}

static void direct(void *unused)
{
    (void)unused;
    threads();
    semaphores();
    mutexes();
    events();
    queues();
    groups();
    ends_and_priorities();
    call_timers();
    condvars();
    streams();
    stacks();
    print("all calls: ok\n");
    leave(true);
}

static void set_up(void)
{
    CHECK(tandem_spawn(&director_task, director_stack, sizeof director_stack, 5, "director",
                       direct, NULL));
}

int main(void)
{
    board_set_up();
    tandem_semaphore_init(&semaphore, 1);
    tandem_mutex_init(&mutex);
    tandem_event_init(&event);
    tandem_group_init(&group);
    tandem_condvar_init(&condvar);
    tandem_stream_init(&stream, stream_storage, sizeof stream_storage);
    tandem_stream_init(&messages, message_storage, sizeof message_storage);
    tandem_timers_init(&timers);
    tandem_timer_init(&periodic, &timers, count, (void *)1);
    tandem_timer_init(&once, &timers, count, (void *)10);
    tandem_queue_init(&words, word_storage, sizeof word_storage[0], 2);
    tandem_queue_init(&odd, odd_storage, sizeof odd_storage[0], 3);
    tandem_start(idle_stack, sizeof idle_stack, set_up);
}
