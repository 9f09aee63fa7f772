/* The benchmark's calls on FreeRTOS: semaphores and queues, static objects. */
#ifndef PEER_H
#define PEER_H

#include <FreeRTOS.h>
#include <queue.h>
#include <semphr.h>
#include <task.h>

#include "board.h"

#define PEER_NAME "FreeRTOS " tskKERNEL_VERSION_NUMBER
#define PEER_THREAD_BYTES sizeof(StaticTask_t)

enum { PEER_STACK = 192, PEER_THREADS = 33, PEER_LIMIT = 1000000 };

typedef struct { StaticSemaphore_t semaphore; } peer_semaphore;
typedef struct { StaticSemaphore_t mutex; } peer_mutex;
typedef struct { StaticQueue_t queue; uint32_t words[4]; } peer_queue;

/* The handle of a static object is its address. */
#define HANDLE(object) ((QueueHandle_t)(object))

static inline void peer_semaphore_init(peer_semaphore *semaphore)
{
    xSemaphoreCreateCountingStatic(1000, 0, &semaphore->semaphore);
}

static inline void peer_give(peer_semaphore *semaphore)
{
    xSemaphoreGive(HANDLE(semaphore));
}

static inline void peer_give_from_handler(peer_semaphore *semaphore)
{
    BaseType_t woken = pdFALSE;
    xSemaphoreGiveFromISR(HANDLE(semaphore), &woken);
    portYIELD_FROM_ISR(woken);
}

static inline void peer_take(peer_semaphore *semaphore)
{
    xSemaphoreTake(HANDLE(semaphore), portMAX_DELAY);
}

static inline bool peer_take_within(peer_semaphore *semaphore)
{
    return xSemaphoreTake(HANDLE(semaphore), PEER_LIMIT) == pdTRUE;
}

static inline void peer_mutex_init(peer_mutex *mutex)
{
    xSemaphoreCreateMutexStatic(&mutex->mutex);
}

static inline void peer_lock(peer_mutex *mutex)
{
    xSemaphoreTake(HANDLE(mutex), portMAX_DELAY);
}

static inline void peer_unlock(peer_mutex *mutex)
{
    xSemaphoreGive(HANDLE(mutex));
}

static inline void peer_queue_init(peer_queue *queue)
{
    xQueueCreateStatic(4, sizeof queue->words[0], (uint8_t *)queue->words, &queue->queue);
}

static inline void peer_send(peer_queue *queue, uint32_t word)
{
    xQueueSend(HANDLE(queue), &word, portMAX_DELAY);
}

static inline uint32_t peer_receive(peer_queue *queue)
{
    uint32_t word;
    xQueueReceive(HANDLE(queue), &word, portMAX_DELAY);
    return word;
}

static inline bool peer_send_within(peer_queue *queue, uint32_t word)
{
    return xQueueSend(HANDLE(queue), &word, PEER_LIMIT) == pdTRUE;
}

static inline bool peer_receive_within(peer_queue *queue, uint32_t *word)
{
    return xQueueReceive(HANDLE(queue), word, PEER_LIMIT) == pdTRUE;
}

static inline void peer_yield(void)
{
    taskYIELD();
}

static inline void peer_sleep(void)
{
    vTaskDelay(1);
}

void xPortSysTickHandler(void);

static inline void peer_tick(void)
{
    xPortSysTickHandler();
}

static void (*peer_body)(unsigned index);
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
    static StaticTask_t tasks[PEER_THREADS];
    static StackType_t stacks[PEER_THREADS][PEER_STACK] __attribute__((aligned(8)));
    peer_body = body;
    xTaskCreateStatic(peer_run, "", PEER_STACK, (void *)(uintptr_t)index, priority, stacks[index],
                      &tasks[index]);
}

static inline void peer_start(unsigned priority, void (*director)(void))
{
    static StaticTask_t task;
    static StackType_t stack[PEER_STACK] __attribute__((aligned(8)));
    peer_director = director;
    xTaskCreateStatic(peer_direct, "", PEER_STACK, NULL, priority, stack, &task);
    vTaskStartScheduler();
}

/* Called by the kernel: the board's tick starts later. */
void vPortSetupTimerInterrupt(void)
{
}

#ifdef GUARDS
void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    (void)name;
    print("a stack overflow\n");
    leave(false);
}
#endif

#endif
