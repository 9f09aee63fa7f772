/* The benchmark's calls on tandem, by its interface for C. */
#ifndef PEER_H
#define PEER_H

#include "board.h"
#include "tandem.h"

#define PEER_NAME "tandem, called from C"
#define PEER_THREAD_BYTES (sizeof(tandem_task) + TANDEM_GUARD)

enum { PEER_THREADS = 33, PEER_TICK = 1000000000 / BOARD_TICK_HERTZ };

/* A time that does not come. */
#define PEER_LIMIT (1ull << 50)

typedef struct { tandem_semaphore semaphore; } peer_semaphore;
typedef struct { tandem_mutex mutex; } peer_mutex;
typedef struct { tandem_queue queue; uint32_t words[4]; } peer_queue;

/* A stack with its guard. */
typedef struct {
    uint8_t bytes[TANDEM_GUARD + 640];
} __attribute__((aligned(TANDEM_GUARD_ALIGN))) peer_stack;

static inline void peer_semaphore_init(peer_semaphore *semaphore)
{
    tandem_semaphore_init(&semaphore->semaphore, 0);
}

static inline void peer_give(peer_semaphore *semaphore)
{
    tandem_semaphore_give(&semaphore->semaphore);
}

static inline void peer_give_from_handler(peer_semaphore *semaphore)
{
    tandem_semaphore_give(&semaphore->semaphore);
}

static inline void peer_take(peer_semaphore *semaphore)
{
    tandem_semaphore_take(&semaphore->semaphore);
}

static inline bool peer_take_within(peer_semaphore *semaphore)
{
    return tandem_semaphore_take_until(&semaphore->semaphore, PEER_LIMIT);
}

static inline void peer_mutex_init(peer_mutex *mutex)
{
    tandem_mutex_init(&mutex->mutex);
}

static inline void peer_lock(peer_mutex *mutex)
{
    tandem_mutex_lock(&mutex->mutex);
}

static inline void peer_unlock(peer_mutex *mutex)
{
    tandem_mutex_unlock(&mutex->mutex);
}

static inline void peer_queue_init(peer_queue *queue)
{
    tandem_queue_init(&queue->queue, queue->words, sizeof queue->words[0], 4);
}

static inline void peer_send(peer_queue *queue, uint32_t word)
{
    tandem_queue_send(&queue->queue, &word);
}

static inline uint32_t peer_receive(peer_queue *queue)
{
    uint32_t word;
    tandem_queue_receive(&queue->queue, &word);
    return word;
}

static inline bool peer_send_within(peer_queue *queue, uint32_t word)
{
    return tandem_queue_send_until(&queue->queue, &word, PEER_LIMIT);
}

static inline bool peer_receive_within(peer_queue *queue, uint32_t *word)
{
    return tandem_queue_receive_until(&queue->queue, word, PEER_LIMIT);
}

static inline void peer_yield(void)
{
    tandem_yield();
}

/* A time that the next tick has reached. */
static inline void peer_sleep(void)
{
    tandem_delay(PEER_TICK / 2);
}

static inline void peer_tick(void)
{
    tandem_expire();
}

/* Called with interrupts masked. */
uint64_t tandem_board_now(void)
{
    static uint32_t high, last;
    const uint32_t low = instructions();
    if (low < last)
        high++;
    last = low;
    return (uint64_t)high << 32 | low;
}

/* The tick comes by itself. */
void tandem_board_arm(uint64_t due)
{
    (void)due;
}

TANDEM_NORETURN void tandem_panic(const char *message, size_t length)
{
    print_bytes(message, length);
    print("\n");
    leave(false);
}

static void (*peer_body)(unsigned index);
static unsigned peer_priority;
static void (*peer_director)(void);

static void peer_run(void *index)
{
    peer_body((unsigned)(uintptr_t)index);
}

static void peer_direct(void *unused)
{
    (void)unused;
    peer_director();
}

static inline void peer_spawn(unsigned index, unsigned priority, void (*body)(unsigned index))
{
    static tandem_task tasks[PEER_THREADS];
    static peer_stack stacks[PEER_THREADS];
    peer_body = body;
    tandem_spawn(&tasks[index], &stacks[index], sizeof stacks[index], priority, "", peer_run,
                 (void *)(uintptr_t)index);
}

static void peer_set_up(void)
{
    static tandem_task task;
    static peer_stack stack;
    tandem_spawn(&task, &stack, sizeof stack, peer_priority, "director", peer_direct, NULL);
}

static inline void peer_start(unsigned priority, void (*director)(void))
{
    static peer_stack idle;
    peer_priority = priority;
    peer_director = director;
    tandem_start(&idle, sizeof idle, peer_set_up);
}

#endif
