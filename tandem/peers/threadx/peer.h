/* The benchmark's calls on ThreadX: semaphores, mutexes with inheritance, queues. */
#ifndef PEER_H
#define PEER_H

#include "tx_api.h"
#include "tx_initialize.h"
#include "tx_thread.h"

#include "board.h"

#define PEER_TEXT(number) PEER_TEXT_OF(number)
#define PEER_TEXT_OF(number) #number
#define PEER_RELEASE                                                               \
    PEER_TEXT(THREADX_MAJOR_VERSION) "." PEER_TEXT(THREADX_MINOR_VERSION) "." \
    PEER_TEXT(THREADX_PATCH_VERSION)
#define PEER_NAME "ThreadX " PEER_RELEASE
#define PEER_THREAD_BYTES sizeof(TX_THREAD)

#ifdef SLICES
#define PEER_SLICE 20
#else
#define PEER_SLICE TX_NO_TIME_SLICE
#endif

enum { PEER_STACK = 768, PEER_THREADS = 33, PEER_LIMIT = 1000000 };

typedef struct { TX_SEMAPHORE semaphore; } peer_semaphore;
typedef struct { TX_MUTEX mutex; } peer_mutex;
typedef struct { TX_QUEUE queue; ULONG words[4]; } peer_queue;

static CHAR peer_name[] = "";

static inline void peer_semaphore_init(peer_semaphore *semaphore)
{
    tx_semaphore_create(&semaphore->semaphore, peer_name, 0);
}

static inline void peer_give(peer_semaphore *semaphore)
{
    tx_semaphore_put(&semaphore->semaphore);
}

static inline void peer_give_from_handler(peer_semaphore *semaphore)
{
    tx_semaphore_put(&semaphore->semaphore);
}

static inline void peer_take(peer_semaphore *semaphore)
{
    tx_semaphore_get(&semaphore->semaphore, TX_WAIT_FOREVER);
}

static inline bool peer_take_within(peer_semaphore *semaphore)
{
    return tx_semaphore_get(&semaphore->semaphore, PEER_LIMIT) == TX_SUCCESS;
}

static inline void peer_mutex_init(peer_mutex *mutex)
{
    tx_mutex_create(&mutex->mutex, peer_name, TX_INHERIT);
}

static inline void peer_lock(peer_mutex *mutex)
{
    tx_mutex_get(&mutex->mutex, TX_WAIT_FOREVER);
}

static inline void peer_unlock(peer_mutex *mutex)
{
    tx_mutex_put(&mutex->mutex);
}

static inline void peer_queue_init(peer_queue *queue)
{
    tx_queue_create(&queue->queue, peer_name, TX_1_ULONG, queue->words, sizeof queue->words);
}

static inline void peer_send(peer_queue *queue, uint32_t word)
{
    tx_queue_send(&queue->queue, &word, TX_WAIT_FOREVER);
}

static inline uint32_t peer_receive(peer_queue *queue)
{
    uint32_t word = 0;
    tx_queue_receive(&queue->queue, &word, TX_WAIT_FOREVER);
    return word;
}

static inline bool peer_send_within(peer_queue *queue, uint32_t word)
{
    return tx_queue_send(&queue->queue, &word, PEER_LIMIT) == TX_SUCCESS;
}

static inline bool peer_receive_within(peer_queue *queue, uint32_t *word)
{
    return tx_queue_receive(&queue->queue, word, PEER_LIMIT) == TX_SUCCESS;
}

static inline void peer_yield(void)
{
    tx_thread_relinquish();
}

static inline void peer_sleep(void)
{
    tx_thread_sleep(1);
}

void _tx_timer_interrupt(void);

static inline void peer_tick(void)
{
    _tx_timer_interrupt();
}

static void (*peer_body)(unsigned index);
static unsigned peer_priority;
static void (*peer_director)(void);

/* A smaller number is more urgent. */
static UINT peer_urgency(unsigned priority)
{
    return TX_MAX_PRIORITIES - 1 - priority;
}

static VOID peer_run(ULONG index)
{
    peer_body((unsigned)index);
}

static VOID peer_direct(ULONG unused)
{
    (void)unused;
    peer_director();
}

static inline void peer_spawn(unsigned index, unsigned priority, void (*body)(unsigned index))
{
    static TX_THREAD threads[PEER_THREADS];
    static uint64_t stacks[PEER_THREADS][PEER_STACK / sizeof(uint64_t)];
    peer_body = body;
    tx_thread_create(&threads[index], peer_name, peer_run, index, stacks[index], PEER_STACK,
                     peer_urgency(priority), peer_urgency(priority), PEER_SLICE,
                     TX_AUTO_START);
}

/* Called by the kernel, first of all: the stack of handlers, and the levels of SVC and PendSV. */
VOID _tx_initialize_low_level(VOID)
{
    extern uint32_t stack_top;
    __asm volatile("cpsid i");
    _tx_thread_system_stack_ptr = &stack_top;
    *(volatile uint8_t *)0xe000ed1f = 0xff;
    *(volatile uint8_t *)0xe000ed22 = 0xff;
}

VOID tx_application_define(VOID *unused)
{
    static TX_THREAD thread;
    static uint64_t stack[PEER_STACK / sizeof(uint64_t)];
    (void)unused;
    tx_thread_create(&thread, peer_name, peer_direct, 0, stack, sizeof stack,
                     peer_urgency(peer_priority), peer_urgency(peer_priority), PEER_SLICE,
                     TX_AUTO_START);
}

static inline void peer_start(unsigned priority, void (*director)(void))
{
    peer_priority = priority;
    peer_director = director;
    tx_kernel_enter();
}

#endif
