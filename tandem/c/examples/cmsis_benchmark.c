/* The costs of CMSIS-RTOS2 on tandem, in instructions from mark to mark, as benchmark.c measures
 * them for tandem.h. */
#include "cmsis_os2.h"
#include "marks.h"

static osSemaphoreId_t semaphore;
static osMutexId_t mutex;
static osMessageQueueId_t queue;
static osEventFlagsId_t flags;
static osThreadId_t high;

static void use_fpu(void)
{
    __asm volatile("vmov.f32 s0, s0");
}

static void acquires(void)
{
    osSemaphoreAcquire(semaphore, osWaitForever);
}

static void releases(void)
{
    osSemaphoreRelease(semaphore);
}

static void acquires_and_releases(void)
{
    osMutexAcquire(mutex, osWaitForever);
    osMutexRelease(mutex);
}

static void gets(void)
{
    uint32_t word;
    osMessageQueueGet(queue, &word, NULL, osWaitForever);
}

static void puts_word(void)
{
    uint32_t word = taken;
    osMessageQueuePut(queue, &word, 0, osWaitForever);
}

static void waits_for_thread_flag(void)
{
    osThreadFlagsWait(1, osFlagsWaitAny, osWaitForever);
}

static void sets_thread_flag(void)
{
    osThreadFlagsSet(high, 1);
}

static void waits_for_event_flag(void)
{
    osEventFlagsWait(flags, 1, osFlagsWaitAny, osWaitForever);
}

static void sets_event_flag(void)
{
    osEventFlagsSet(flags, 1);
}

static void counts_ticks(void)
{
    osKernelGetTickCount();
}

typedef void call(void);

/* Measures a call of one thread, which does not wait. */
static inline __attribute__((always_inline)) void alone(const char *row, call *call)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        call();
        end();
    }
    report(row);
}

/* The more urgent thread: waits, and reads the clock, for the calls of each pair in turn. */
static void wait_and_end(void *unused)
{
    (void)unused;
    use_fpu();
    for (unsigned i = 0; i < ROUNDS; i++) {
        acquires();
        end();
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        gets();
        end();
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        waits_for_thread_flag();
        end();
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        waits_for_event_flag();
        end();
    }
}

/* Measures a call that ends the wait of the more urgent thread, until that one runs. */
static inline __attribute__((always_inline)) void wakes(const char *row, call *call)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        start();
        call();
    }
    report(row);
}

static void measure(void *unused)
{
    (void)unused;
    use_fpu();
    alone("osSemaphoreRelease", releases);
    alone("osSemaphoreAcquire", acquires);
    alone("osMutexAcquire and osMutexRelease", acquires_and_releases);
    alone("osKernelGetTickCount", counts_ticks);
    static const osThreadAttr_t attributes = {.name = "high", .priority = osPriorityHigh};
    high = osThreadNew(wait_and_end, NULL, &attributes);
    wakes("osSemaphoreRelease -> higher thread", releases);
    wakes("osMessageQueuePut, 4 bytes -> higher thread", puts_word);
    wakes("osThreadFlagsSet -> higher thread", sets_thread_flag);
    wakes("osEventFlagsSet -> higher thread", sets_event_flag);
    leave(true);
}

int main(void)
{
    board_set_up();
    osKernelInitialize();
    semaphore = osSemaphoreNew(ROUNDS, 0, NULL);
    mutex = osMutexNew(NULL);
    queue = osMessageQueueNew(4, sizeof(uint32_t), NULL);
    flags = osEventFlagsNew(NULL);
    osThreadNew(measure, NULL, NULL);
    return osKernelStart();
}
