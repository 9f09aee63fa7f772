/* The costs of calls from C, in instructions from mark to mark, measured as tandem's benchmark in
 * Rust measures: a mark reads the timer and stores the reading, nothing is subtracted. */
#include "marks.h"

enum { LOW = 2, HIGH = 4, DIRECTOR = 5 };

static tandem_task tasks[2], director_task;
TANDEM_STACK(low_stack, 1024);
TANDEM_STACK(high_stack, 1024);
TANDEM_STACK(director_stack, 1024);
TANDEM_STACK(idle_stack, 256);
static tandem_semaphore semaphore, done;
static tandem_mutex mutex;
static tandem_event event;
static tandem_queue there, back;
static uint32_t there_storage[4], back_storage[4];

/* As in the benchmark in Rust, a switch must preserve the registers of the FPU. */
static void use_fpu(void)
{
    __asm volatile("vmov.f32 s0, s0");
}

typedef void body(void);

static void run(void *argument)
{
    use_fpu();
    ((body *)argument)();
    tandem_semaphore_give(&done);
}

/* Runs the bodies in two threads, high first if it is more urgent, and waits for their end. */
static void both(unsigned high_priority, body *high, body *low)
{
    tandem_spawn(&tasks[0], high_stack, sizeof high_stack, high_priority, "high", run,
                 (void *)high);
    tandem_spawn(&tasks[1], low_stack, sizeof low_stack, LOW, "low", run, (void *)low);
    tandem_semaphore_take(&done);
    tandem_semaphore_take(&done);
    while (tandem_is_alive(&tasks[0]) || tandem_is_alive(&tasks[1]))
        tandem_delay(20000);
}

static void yields(void)
{
    for (unsigned i = 0; i <= ROUNDS / 2; i++) {
        start();
        tandem_yield();
        end();
    }
}

static void takes_end(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        tandem_semaphore_take(&semaphore);
        end();
    }
}

static void start_gives(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        tandem_semaphore_give(&semaphore);
    }
}

static void takes(void)
{
    for (unsigned i = 0; i < ROUNDS; i++)
        tandem_semaphore_take(&semaphore);
}

static void start_gives_end(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        tandem_semaphore_give(&semaphore);
        end();
    }
}

static void raises(uint32_t interrupt)
{
    for (unsigned i = 0; i < ROUNDS; i++)
        raise_interrupt(interrupt);
}

static void raises_0(void)
{
    raises(0);
}

static void raises_1(void)
{
    raises(1);
}

void handler_0(void)
{
    start();
    tandem_semaphore_give(&semaphore);
}

void handler_1(void)
{
    start();
    tandem_event_signal(&event, 1);
}

static void waits_end(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        tandem_event_wait(&event);
        end();
    }
}

static void receives_end(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint32_t word;
        tandem_queue_receive(&there, &word);
        end();
    }
}

static void start_sends(void)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        start();
        tandem_queue_send(&there, &i);
    }
}

static void echoes(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint32_t word;
        tandem_queue_receive(&there, &word);
        tandem_queue_send(&back, &word);
    }
}

static void round_trips(void)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t word;
        start();
        tandem_queue_send(&there, &i);
        tandem_queue_receive(&back, &word);
        end();
        if (word != i)
            leave(false);
    }
}

static bool sleeping;

void on_alarm(void)
{
    if (sleeping)
        start();
}

static void sleeps_end(void)
{
    sleeping = true;
    for (unsigned i = 0; i < ROUNDS; i++) {
        tandem_delay_until(tandem_now() + 100000);
        end();
    }
    sleeping = false;
}

static void nothing(void)
{
}

static void uncontended(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        end();
    }
    report("control: two marks");
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        tandem_semaphore_give(&semaphore);
        end();
    }
    report("give, uncontended");
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        tandem_semaphore_take(&semaphore);
        end();
    }
    report("take, uncontended");
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        tandem_mutex_lock(&mutex);
        tandem_mutex_unlock(&mutex);
        end();
    }
    report("mutex: lock and unlock, uncontended");
}

static void director(void *unused)
{
    (void)unused;
    uncontended();
    both(LOW, yields, yields);
    taken = ROUNDS;
    report("yield, 2 threads");
    both(HIGH, takes_end, start_gives);
    report("semaphore given -> higher thread");
    both(HIGH, takes, start_gives_end);
    report("semaphore full shuffle");
    both(HIGH, takes_end, raises_0);
    report("handler -> higher thread (semaphore)");
    both(HIGH, waits_end, raises_1);
    report("handler -> higher thread (event)");
    both(HIGH, receives_end, start_sends);
    report("queue, 4 bytes, low -> high thread");
    both(HIGH, echoes, round_trips);
    report("queue round trip, threads");
    both(HIGH, sleeps_end, nothing);
    report("tick -> sleeping thread");
    leave(true);
}

static void set_up(void)
{
    tandem_spawn(&director_task, director_stack, sizeof director_stack, DIRECTOR, "director",
                 director, NULL);
}

int main(void)
{
    board_set_up();
    tandem_semaphore_init(&semaphore, 0);
    tandem_semaphore_init(&done, 0);
    tandem_mutex_init(&mutex);
    tandem_event_init(&event);
    tandem_queue_init(&there, there_storage, sizeof there_storage[0], 4);
    tandem_queue_init(&back, back_storage, sizeof back_storage[0], 4);
    tandem_start(idle_stack, sizeof idle_stack, set_up);
}
