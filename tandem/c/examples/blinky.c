/* Two threads, a handler, and one object of each kind.
 *
 * The handler of interrupt 0 stands for a sensor: it gives a semaphore. A thread turns each sample
 * into a message for a second thread, which switches the lamp. */
#include "board.h"

struct message {
    uint32_t number;
    bool on;
};

static tandem_task sampler, lamp, clock;
TANDEM_STACK(sampler_stack, 512);
TANDEM_STACK(lamp_stack, 512);
TANDEM_STACK(clock_stack, 512);
TANDEM_STACK(idle_stack, 256);

static tandem_semaphore ready;
static tandem_queue messages;
static struct message storage[4];
static tandem_mutex lock;
static tandem_event done;

static uint64_t started;

static uint32_t milliseconds(void)
{
    return (uint32_t)((tandem_now() - started) / MILLISECOND);
}

static void say(const char *what, uint32_t number)
{
    tandem_mutex_lock(&lock);
    print("%4u ms  %s %u\n", milliseconds(), what, number);
    tandem_mutex_unlock(&lock);
}

void handler_0(void)
{
    tandem_semaphore_give(&ready);
}

/* Raises the sensor's interrupt every 10 ms. */
static void run_clock(void *unused)
{
    (void)unused;
    uint64_t due = tandem_now();
    for (;;) {
        due += 10 * MILLISECOND;
        tandem_delay_until(due);
        raise_interrupt(0);
    }
}

static void run_sampler(void *unused)
{
    (void)unused;
    for (struct message message = {0};; message.number++) {
        if (!tandem_semaphore_take_until(&ready, tandem_now() + 20 * MILLISECOND))
            say("no sample", message.number);
        message.on = message.number % 2 == 0;
        tandem_queue_send(&messages, &message);
    }
}

static void run_lamp(void *unused)
{
    (void)unused;
    for (;;) {
        struct message message;
        tandem_queue_receive(&messages, &message);
        say(message.on ? "lamp on " : "lamp off", message.number);
        if (message.number == 5)
            tandem_event_signal(&done, 1);
    }
}

static void run_main(void *unused)
{
    (void)unused;
    if (tandem_event_wait_until(&done, tandem_now() + 1000 * MILLISECOND) == 0)
        say("too late", 0);
    leave(!tandem_semaphore_try_take(&ready) && tandem_is_alive(&lamp));
}

static void set_up(void)
{
    static tandem_task main_task;
    TANDEM_STACK(main_stack, 512);
    tandem_spawn(&main_task, main_stack, sizeof main_stack, 1, "main", run_main, NULL);
    tandem_spawn(&lamp, lamp_stack, sizeof lamp_stack, 2, "lamp", run_lamp, NULL);
    tandem_spawn(&sampler, sampler_stack, sizeof sampler_stack, 3, "sampler", run_sampler, NULL);
    tandem_spawn(&clock, clock_stack, sizeof clock_stack, 4, "clock", run_clock, NULL);
}

int main(void)
{
    board_set_up();
    started = tandem_now();
    tandem_semaphore_init(&ready, 0);
    tandem_queue_init(&messages, storage, sizeof storage[0], 4);
    tandem_mutex_init(&lock);
    tandem_event_init(&done);
    tandem_start(idle_stack, sizeof idle_stack, set_up);
}
