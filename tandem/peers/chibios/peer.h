/* The benchmark's calls on ChibiOS/RT: semaphores, mutexes with inheritance, mailboxes. */
#ifndef PEER_H
#define PEER_H

#include <ch.h>

#include "board.h"

#define PEER_NAME "ChibiOS/RT " CH_KERNEL_VERSION
#define PEER_THREAD_BYTES (sizeof(thread_t) + PORT_GUARD_PAGE_SIZE)

enum { PEER_THREADS = 33, PEER_LIMIT = 1000000 };

typedef struct { semaphore_t semaphore; } peer_semaphore;
typedef struct { mutex_t mutex; } peer_mutex;
typedef struct { mailbox_t mailbox; msg_t words[4]; } peer_queue;

static inline void peer_semaphore_init(peer_semaphore *semaphore)
{
    chSemObjectInit(&semaphore->semaphore, 0);
}

static inline void peer_give(peer_semaphore *semaphore)
{
    chSemSignal(&semaphore->semaphore);
}

static inline void peer_give_from_handler(peer_semaphore *semaphore)
{
    CH_IRQ_PROLOGUE();
    chSysLockFromISR();
    chSemSignalI(&semaphore->semaphore);
    chSysUnlockFromISR();
    CH_IRQ_EPILOGUE();
}

static inline void peer_take(peer_semaphore *semaphore)
{
    chSemWait(&semaphore->semaphore);
}

static inline bool peer_take_within(peer_semaphore *semaphore)
{
    return chSemWaitTimeout(&semaphore->semaphore, PEER_LIMIT) == MSG_OK;
}

static inline void peer_mutex_init(peer_mutex *mutex)
{
    chMtxObjectInit(&mutex->mutex);
}

static inline void peer_lock(peer_mutex *mutex)
{
    chMtxLock(&mutex->mutex);
}

static inline void peer_unlock(peer_mutex *mutex)
{
    chMtxUnlock(&mutex->mutex);
}

static inline void peer_queue_init(peer_queue *queue)
{
    chMBObjectInit(&queue->mailbox, queue->words, 4);
}

static inline void peer_send(peer_queue *queue, uint32_t word)
{
    chMBPostTimeout(&queue->mailbox, (msg_t)word, TIME_INFINITE);
}

static inline uint32_t peer_receive(peer_queue *queue)
{
    msg_t word = 0;
    chMBFetchTimeout(&queue->mailbox, &word, TIME_INFINITE);
    return (uint32_t)word;
}

static inline bool peer_send_within(peer_queue *queue, uint32_t word)
{
    return chMBPostTimeout(&queue->mailbox, (msg_t)word, PEER_LIMIT) == MSG_OK;
}

static inline bool peer_receive_within(peer_queue *queue, uint32_t *word)
{
    msg_t received = 0;
    const bool is_there = chMBFetchTimeout(&queue->mailbox, &received, PEER_LIMIT) == MSG_OK;
    *word = (uint32_t)received;
    return is_there;
}

static inline void peer_yield(void)
{
    chThdYield();
}

static inline void peer_sleep(void)
{
    chThdSleep(1);
}

static inline void peer_tick(void)
{
    CH_IRQ_PROLOGUE();
    chSysLockFromISR();
    chSysTimerHandlerI();
    chSysUnlockFromISR();
    CH_IRQ_EPILOGUE();
}

static void (*peer_body)(unsigned index);
static unsigned peer_priority;
static void (*peer_director)(void);

static void peer_run(void *index)
{
    peer_body((unsigned)(uintptr_t)index);
}

static inline void peer_spawn(unsigned index, unsigned priority, void (*body)(unsigned index))
{
    static THD_WORKING_AREA(stacks[PEER_THREADS], 512);
    peer_body = body;
    chThdCreateStatic(stacks[index], sizeof stacks[index], NORMALPRIO + priority, peer_run,
                      (void *)(uintptr_t)index);
}

/* The start of the kernel makes its caller a thread. */
__attribute__((used)) static void peer_begin(void)
{
    chSysInit();
    chThdSetPriority(NORMALPRIO + peer_priority);
    peer_director();
}

/* Threads have the process stack: the caller goes there first. */
static inline void peer_start(unsigned priority, void (*director)(void))
{
    extern stkalign_t __main_thread_stack_end__;
    peer_priority = priority;
    peer_director = director;
    __asm volatile("msr psp, %0\n"
                   "msr control, %1\n"
                   "isb\n"
                   "bl peer_begin" ::"r"(&__main_thread_stack_end__),
                   "r"(2)
                   : "memory");
}

#endif
