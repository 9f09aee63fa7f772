/* Costs of a kernel's calls in instructions: one program for every kernel, which `peer.h` adapts.
 *
 * The rows, their names, and the places where they begin and end are those of tandem's own benchmark
 * (tandem/firmware/src/bin/benchmark): a mark reads the counter and stores the reading, nothing is
 * subtracted, and each row is measured 400 times. All threads of a row use the FPU, so that a switch
 * must preserve its registers. The tick is on in one row alone.
 */
#include "board.h"
#include "peer.h"

enum { ROUNDS = 400, EQUALS = 32, LOW = 2, HIGH = 4, DIRECTOR = 5 };

static volatile uint32_t start_mark;
static uint32_t samples[ROUNDS];
static unsigned taken;

/* The compiler schedules no instruction across it, neither of the loop nor of the call. */
static inline void fence(void)
{
    __asm volatile("" ::: "memory");
}

static inline void start(void)
{
    start_mark = instructions();
    fence();
}

static inline void end(void)
{
    fence();
    uint32_t now = instructions();
    fence();
    if (taken < ROUNDS)
        samples[taken++] = now - start_mark;
}

/* Prints a row, of which the samples are there, and forgets them. */
static void report(const char *row)
{
    if (taken != ROUNDS)
        leave(false);
    for (unsigned i = 1; i < ROUNDS; i++)
        for (unsigned j = i; j && samples[j - 1] > samples[j]; j--) {
            uint32_t swap = samples[j];
            samples[j] = samples[j - 1];
            samples[j - 1] = swap;
        }
    print(row);
    print(" median ");
    print_number(samples[ROUNDS / 2]);
    print(" least ");
    print_number(samples[0]);
    print(" most ");
    print_number(samples[ROUNDS - 1]);
    print("\n");
    taken = 0;
}

/* ---- Threads: they are started once, and run the bodies of one row after the other ---- */

typedef void body(void);

/* A thread, its next body, and the semaphore that lets it run. */
static struct worker {
    peer_semaphore go;
    body *body;
} workers[EQUALS + 1];
static struct worker *const high = &workers[EQUALS];

static peer_semaphore semaphore, back, done;
static peer_mutex mutex;
static peer_queue there, answers;

/* The body of every thread. */
static void work(unsigned index)
{
    struct worker *own = &workers[index];
    __asm volatile("vmov.f32 s0, s0");
    for (;;) {
        peer_take(&own->go);
        own->body();
        peer_give(&done);
    }
}

static void begin(struct worker *worker, body *next)
{
    worker->body = next;
    peer_give(&worker->go);
}

static void join(unsigned count)
{
    while (count--)
        peer_take(&done);
}

/* Runs the bodies in two threads, the more urgent one first. */
static void both(body *urgent, body *other)
{
    begin(high, urgent);
    begin(&workers[0], other);
    join(2);
}

/* ---- The rows ---- */

/* The names of three rows, which a build with time slices has too. */
#ifdef SLICES
#define YIELD "time slices: yield, 2 threads"
#define SEMAPHORE "time slices: semaphore -> higher thread"
#define SHUFFLE "time slices: semaphore full shuffle"
#else
#define YIELD "yield, 2 threads"
#define SEMAPHORE "semaphore given -> higher thread"
#define SHUFFLE "semaphore full shuffle"
#endif

static unsigned equals;

static void yields(void)
{
    for (unsigned i = 0; i <= ROUNDS / equals + 1; i++) {
        start();
        peer_yield();
        end();
    }
}

static void yield_among(unsigned count, const char *row)
{
    equals = count;
    for (unsigned i = 0; i < count; i++)
        begin(&workers[i], yields);
    join(count);
    report(row);
}

static void takes(void)
{
    for (unsigned i = 0; i < ROUNDS; i++)
        peer_take(&semaphore);
}

static void takes_end(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        peer_take(&semaphore);
        end();
    }
}

static void start_gives(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        peer_give(&semaphore);
    }
}

static void start_gives_end(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        peer_give(&semaphore);
        end();
    }
}

static void takes_within_limit(void)
{
    for (unsigned i = 0; i < ROUNDS; i++)
        if (!peer_take_within(&semaphore))
            leave(false);
}

static void takes_end_answers(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        peer_take(&semaphore);
        end();
        peer_give(&back);
    }
}

static void start_gives_waits(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        peer_give(&semaphore);
        peer_take(&back);
    }
}

static void raises(void)
{
    for (unsigned i = 0; i < ROUNDS; i++)
        raise_interrupt();
}

void interrupt_handler(void)
{
    start();
    peer_give_from_handler(&semaphore);
}

static void receives_end(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        peer_receive(&there);
        end();
    }
}

static void start_sends(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        peer_send(&there, i);
    }
}

static void echoes(void)
{
    for (unsigned i = 0; i < ROUNDS; i++)
        peer_send(&answers, peer_receive(&there));
}

static void round_trips(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        peer_send(&there, i);
        uint32_t word = peer_receive(&answers);
        end();
        if (word != i)
            leave(false);
    }
}

static void echoes_within_limits(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint32_t word;
        if (!peer_receive_within(&there, &word) || !peer_send_within(&answers, word))
            leave(false);
    }
}

static void round_trips_within_limits(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint32_t word;
        start();
        if (!peer_send_within(&there, i) || !peer_receive_within(&answers, &word))
            leave(false);
        end();
        if (word != i)
            leave(false);
    }
}

static void locks_end(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        peer_take(&semaphore);
        peer_lock(&mutex);
        end();
        peer_unlock(&mutex);
    }
}

/* The more urgent thread waits for the mutex when it is unlocked. */
static void start_unlocks(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        peer_lock(&mutex);
        peer_give(&semaphore);
        start();
        peer_unlock(&mutex);
    }
}

void tick_handler(void)
{
    start();
    peer_tick();
}

static void sleeps_end(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        peer_sleep();
        end();
    }
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
        peer_give(&semaphore);
        end();
    }
    report("give, uncontended");
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        peer_take(&semaphore);
        end();
    }
    report("take, uncontended");
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        peer_lock(&mutex);
        peer_unlock(&mutex);
        end();
    }
    report("mutex lock and unlock, uncontended");
}

static void given_to_equal(void)
{
    begin(&workers[0], takes_end_answers);
    begin(&workers[1], start_gives_waits);
    join(2);
    report("semaphore given -> waiting equal");
}

static void sleeper(void)
{
    begin(high, sleeps_end);
    board_start_tick();
    join(1);
    board_stop_tick();
    report("tick -> sleeping thread");
}

static void director(void)
{
    for (unsigned i = 0; i <= EQUALS; i++) {
        peer_semaphore_init(&workers[i].go);
        peer_spawn(i, &workers[i] == high ? HIGH : LOW, work);
    }
    uncontended();
    yield_among(2, YIELD);
    yield_among(10, "yield, 10 threads");
    yield_among(32, "yield, 32 threads");
    both(takes_end, start_gives);
    report(SEMAPHORE);
    both(takes, start_gives_end);
    report(SHUFFLE);
    both(takes_within_limit, start_gives_end);
    report("semaphore full shuffle, time limits");
    given_to_equal();
    both(takes_end, raises);
    report("handler -> higher thread (semaphore)");
    both(receives_end, start_sends);
    report("queue, 4 bytes, low -> high thread");
    both(echoes, round_trips);
    report("queue round trip, threads");
    both(echoes_within_limits, round_trips_within_limits);
    report("queue round trip, time limits");
    both(locks_end, start_unlocks);
    report("mutex unlocked -> higher thread");
    sleeper();
    print("RAM of a thread beside its stack, bytes median ");
    print_number(PEER_THREAD_BYTES);
    print("\n");
    leave(true);
}

int main(void)
{
    peer_semaphore_init(&semaphore);
    peer_semaphore_init(&back);
    peer_semaphore_init(&done);
    peer_mutex_init(&mutex);
    peer_queue_init(&there);
    peer_queue_init(&answers);
    print(PEER_NAME "\n");
    peer_start(DIRECTOR, director);
    leave(false);
}
