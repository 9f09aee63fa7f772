/* Every call of CMSIS-RTOS2 on tandem, with each of its results. */
#include "board.h"
#include "tandem_os2.h"

_Static_assert(sizeof(tandem_os_thread) == 112 && sizeof(tandem_os_timer) == 96 &&
                   sizeof(tandem_os_mutex) == 40 && sizeof(tandem_os_message_queue) == 48 &&
                   sizeof(tandem_os_semaphore) == 24 && sizeof(tandem_os_event_flags) == 24,
               "docs/tandem-c.md has the sizes");

static osThreadId_t director;
static uint32_t steps;
static osSemaphoreId_t gate;

/* ---- Helpers ---- */

static void (*in_handler)(void);

void handler_0(void)
{
    in_handler();
}

/* Makes checks in a handler, and others in a critical section, where the results are the same. */
static void from_handler(void (*checks)(void))
{
    in_handler = checks;
    raise_interrupt(0);
    uint32_t state = tandem_enter();
    checks();
    tandem_exit(state);
}

static osThreadId_t spawn(osPriority_t priority, osThreadFunc_t func, void *argument)
{
    osThreadAttr_t attributes = {.name = "other", .attr_bits = osThreadJoinable,
                                 .priority = priority};
    osThreadId_t thread = osThreadNew(func, argument, &attributes);
    CHECK(thread != NULL);
    return thread;
}

static void join(osThreadId_t thread)
{
    CHECK(osThreadJoin(thread) == osOK);
}

static bool equal(const char *a, const char *b)
{
    while (*a != 0 && *a == *b)
        a++, b++;
    return *a == *b;
}

static void count(void *by)
{
    steps += (uint32_t)(uintptr_t)by;
}

/* ---- Kernel ---- */

static void kernel_in_handler(void)
{
    CHECK(osKernelInitialize() == osErrorISR && osKernelStart() == osErrorISR);
    CHECK(osKernelGetInfo(NULL, NULL, 0) == osErrorISR);
    CHECK(osKernelLock() == osErrorISR && osKernelUnlock() == osErrorISR);
    CHECK(osKernelRestoreLock(0) == osErrorISR);
    CHECK(osKernelGetState() == osKernelRunning && osKernelGetTickFreq() == 1000);
    (void)osKernelGetTickCount();
    (void)osKernelGetSysTimerCount();
}

static void before_the_start(void)
{
    CHECK(osKernelGetState() == osKernelInactive && osKernelStart() == osError);
    CHECK(osKernelInitialize() == osOK && osKernelInitialize() == osOK);
    CHECK(osKernelGetState() == osKernelReady && osKernelGetTickCount() == 0);
    CHECK(osKernelLock() == osError && osDelay(1) == osError && osDelayUntil(1) == osError);
    CHECK(osThreadYield() == osError && osThreadGetId() == NULL);
    CHECK(osThreadFlagsClear(1) == osFlagsErrorUnknown && osThreadFlagsGet() == 0);
    CHECK(osThreadFlagsWait(1, 0, 0) == osFlagsErrorUnknown);
    osMutexId_t mutex = osMutexNew(NULL);
    CHECK(osMutexAcquire(mutex, 0) == osError && osMutexRelease(mutex) == osError);
    osSemaphoreId_t semaphore = osSemaphoreNew(1, 0, NULL);
    CHECK(osSemaphoreAcquire(semaphore, osWaitForever) == osErrorResource);
    CHECK(osSemaphoreRelease(semaphore) == osOK && osSemaphoreAcquire(semaphore, 1) == osOK);
    CHECK(osEventFlagsWait(osEventFlagsNew(NULL), 1, 0, 1) == osFlagsErrorResource);
}

static void kernel(void)
{
    osVersion_t version = {0, 0};
    char name[8] = "xxxxxxx";
    CHECK(osKernelGetState() == osKernelRunning);
    CHECK(osKernelInitialize() == osError && osKernelStart() == osError);
    CHECK(osKernelGetInfo(&version, name, sizeof name) == osOK && equal(name, "Tandem"));
    CHECK(version.api == 20030000 && version.kernel == tandem_version() && version.kernel >= 10000);
    CHECK(osKernelGetInfo(NULL, name, 4) == osOK && equal(name, "Tan"));
    CHECK(osKernelGetTickFreq() == 1000 && osKernelGetSysTimerFreq() == 1000000000);
    uint32_t before = osKernelGetSysTimerCount();
    CHECK(osKernelGetSysTimerCount() - before < 1000);
    from_handler(kernel_in_handler);
}

/* ---- Delays ---- */

static void delays_in_handler(void)
{
    CHECK(osDelay(1) == osErrorISR && osDelayUntil(1000) == osErrorISR);
}

static void delays(void)
{
    CHECK(osDelay(0) == osErrorParameter);
    uint64_t clock = tandem_now();
    uint32_t before = osKernelGetTickCount();
    CHECK(osDelay(3) == osOK && osKernelGetTickCount() - before == 3);
    uint64_t took = tandem_now() - clock;
    CHECK(took >= 3 * MILLISECOND && took < 3 * MILLISECOND + MILLISECOND / 10);
    uint32_t now = osKernelGetTickCount();
    CHECK(osDelayUntil(now) == osErrorParameter && osDelayUntil(now - 1) == osErrorParameter);
    CHECK(osDelayUntil(now + 2) == osOK && osKernelGetTickCount() == now + 2);
    from_handler(delays_in_handler);
}

/* ---- Threads ---- */

static void threads_in_handler(void)
{
    CHECK(osThreadNew(count, NULL, NULL) == NULL && osThreadGetName(director) == NULL);
    CHECK(osThreadGetId() == director && osThreadGetState(director) == osThreadError);
    CHECK(osThreadGetStackSize(director) == 0 && osThreadGetStackSpace(director) == 0);
    CHECK(osThreadSetPriority(director, osPriorityLow) == osErrorISR);
    CHECK(osThreadGetPriority(director) == osPriorityError);
    CHECK(osThreadYield() == osErrorISR && osThreadDetach(director) == osErrorISR);
    CHECK(osThreadJoin(director) == osErrorISR && osThreadTerminate(director) == osErrorISR);
    osThreadId_t one;
    CHECK(osThreadGetCount() == 0 && osThreadEnumerate(&one, 1) == 0);
}

static void exit_deep(void *unused)
{
    (void)unused;
    steps++;
    osThreadExit();
}

static void terminate_self(void *unused)
{
    (void)unused;
    osThreadTerminate(osThreadGetId());
    steps = 99;
}

static void wait_for_gate(void *unused)
{
    (void)unused;
    CHECK(osSemaphoreAcquire(gate, osWaitForever) == osOK);
    steps++;
}

static void join_other(void *thread)
{
    if (osThreadJoin(thread) == osOK)
        steps += 100;
}

static void bad_threads(void)
{
    static tandem_os_thread block;
    TANDEM_STACK(stack, 512);
    CHECK(osThreadNew(NULL, NULL, NULL) == NULL);
    osThreadAttr_t attributes = {.priority = (osPriority_t)57};
    CHECK(osThreadNew(count, NULL, &attributes) == NULL);
    attributes = (osThreadAttr_t){.cb_mem = &block, .cb_size = sizeof block - 1};
    CHECK(osThreadNew(count, NULL, &attributes) == NULL);
    attributes = (osThreadAttr_t){.cb_mem = (uint8_t *)&block + 4, .cb_size = sizeof block};
    CHECK(osThreadNew(count, NULL, &attributes) == NULL);
    attributes = (osThreadAttr_t){.cb_size = sizeof block};
    CHECK(osThreadNew(count, NULL, &attributes) == NULL);
    attributes = (osThreadAttr_t){.stack_mem = stack, .stack_size = TANDEM_GUARD + 191};
    CHECK(osThreadNew(count, NULL, &attributes) == NULL);
    attributes = (osThreadAttr_t){.stack_size = 191 - 7};
    CHECK(osThreadNew(count, NULL, &attributes) == NULL);
    attributes = (osThreadAttr_t){.stack_size = TANDEM_OS_POOL};
    CHECK(osThreadNew(count, NULL, &attributes) == NULL);
    for (uint32_t below = 0; below < 256; below++) {
        attributes.stack_size = UINT32_MAX - below;
        CHECK(osThreadNew(count, NULL, &attributes) == NULL);
    }
    CHECK(osThreadGetState(NULL) == osThreadError && osThreadGetState(gate) == osThreadError);
    CHECK(osThreadGetName(gate) == NULL && osThreadGetPriority(gate) == osPriorityError);
    CHECK(osThreadSetPriority(gate, osPriorityLow) == osErrorParameter);
    CHECK(osThreadSetPriority(director, osPriorityNone) == osErrorParameter);
    CHECK(osThreadJoin(NULL) == osErrorParameter && osThreadDetach(gate) == osErrorParameter);
    CHECK(osThreadTerminate(gate) == osErrorParameter);
    CHECK(osThreadGetStackSize(gate) == 0 && osThreadGetStackSpace(NULL) == 0);
    CHECK(osThreadEnumerate(NULL, 4) == 0);
}

/* Threads in memory of the program, whose stack begins anywhere. */
static void static_threads(void)
{
    static tandem_os_thread block;
    static uint8_t stack[1024];
    osThreadAttr_t attributes = {.cb_mem = &block, .cb_size = sizeof block, .stack_mem = stack + 1,
                                 .stack_size = sizeof stack - 1, .priority = osPriorityHigh};
    for (unsigned i = 0; i < 3; i++) {
        steps = 0;
        CHECK(osThreadNew(wait_for_gate, NULL, &attributes) == &block);
        CHECK(osThreadGetStackSize(&block) >= 1024 - 2 * TANDEM_GUARD_ALIGN - 8);
        CHECK(osThreadGetStackSize(&block) <= 1024 - TANDEM_GUARD - 1);
        CHECK(osThreadNew(count, NULL, &attributes) == NULL); /* it has not ended */
        CHECK(osThreadGetName(&block) == NULL && osThreadGetPriority(&block) == osPriorityHigh);
        CHECK(osSemaphoreRelease(gate) == osOK && steps == 1);
        CHECK(osThreadGetState(&block) == osThreadTerminated);
        CHECK(osThreadFlagsSet(&block, 1) == osFlagsErrorResource);
        CHECK(osThreadGetPriority(&block) == osPriorityError);
        CHECK(osThreadSetPriority(&block, osPriorityLow) == osErrorResource);
        CHECK(osThreadJoin(&block) == osErrorResource && osThreadDetach(&block) == osErrorResource);
    }
}

/* Threads with one part of their memory from the program, and one from the pool. */
static void mixed_threads(void)
{
    static tandem_os_thread block;
    TANDEM_STACK(stack, 512);
    steps = 0;
    osThreadAttr_t attributes = {.cb_mem = &block, .cb_size = sizeof block,
                                 .priority = osPriorityHigh};
    CHECK(osThreadNew(count, (void *)1, &attributes) == &block && steps == 1);
    attributes = (osThreadAttr_t){.stack_mem = stack, .stack_size = sizeof stack,
                                  .priority = osPriorityHigh};
    osThreadId_t other = osThreadNew(wait_for_gate, NULL, &attributes);
    CHECK(other != NULL && osThreadGetStackSize(other) == 512);
    CHECK(osSemaphoreRelease(gate) == osOK && steps == 2);
}

static void states(void)
{
    osThreadId_t list[8];
    osThreadId_t other = spawn(osPriorityHigh, wait_for_gate, NULL);
    CHECK(osThreadGetId() == director && equal(osThreadGetName(director), "director"));
    CHECK(osThreadGetState(director) == osThreadRunning);
    CHECK(osThreadGetState(other) == osThreadBlocked);
    CHECK(osThreadGetCount() == 2 && osThreadEnumerate(list, 8) == 2);
    CHECK(list[0] == other && list[1] == director && osThreadEnumerate(list, 1) == 1);
    CHECK(osThreadTerminate(other) == osErrorResource && osThreadGetCount() == 2);
    CHECK(osThreadGetStackSize(other) == TANDEM_OS_STACK);
    uint32_t space = osThreadGetStackSpace(other);
    CHECK(space > 256 && space < TANDEM_OS_STACK - 64);
    CHECK(osThreadSetPriority(other, osPriorityLow3) == osOK);
    CHECK(osThreadGetPriority(other) == osPriorityLow3);
    steps = 0;
    CHECK(osSemaphoreRelease(gate) == osOK && osThreadGetState(other) == osThreadReady);
    CHECK(steps == 0 && osThreadSetPriority(other, osPriorityNormal1) == osOK && steps == 1);
    CHECK(osThreadGetState(other) == osThreadTerminated && osThreadGetCount() == 1);
    join(other);
    CHECK(osThreadJoin(other) == osErrorResource && osThreadDetach(other) == osErrorResource);
    CHECK(osThreadJoin(director) == osErrorResource);
}

/* The order of priorities; what is one level of tandem is one here. */
static void priorities(void)
{
    osThreadId_t other = spawn(osPriorityISR, wait_for_gate, NULL);
    unsigned before = 0;
    for (int priority = osPriorityIdle; priority <= osPriorityISR; priority++) {
        CHECK(osThreadSetPriority(other, (osPriority_t)priority) == osOK);
        CHECK(osThreadGetPriority(other) == (osPriority_t)priority);
        unsigned level = tandem_priority(&((tandem_os_thread *)other)->task);
        bool is_alone = priority >= osPriorityLow && priority % 8 <= 4;
        CHECK(level == before + is_alone);
        before = level;
    }
    CHECK(before == 31);
    CHECK(osSemaphoreRelease(gate) == osOK);
    join(other);
}

static void ends(void)
{
    steps = 0;
    osThreadId_t other = spawn(osPriorityLow, exit_deep, NULL);
    CHECK(osThreadGetState(other) == osThreadReady && steps == 0);
    join(other);
    CHECK(steps == 1);
    join(spawn(osPriorityHigh, terminate_self, NULL));
    CHECK(steps == 1);
    /* Of two that join a thread, one does. */
    osThreadId_t waited = spawn(osPriorityLow, wait_for_gate, NULL);
    osThreadId_t first = spawn(osPriorityHigh, join_other, waited);
    osThreadId_t second = spawn(osPriorityHigh, join_other, waited);
    steps = 0;
    CHECK(osSemaphoreRelease(gate) == osOK && osDelay(1) == osOK && steps == 101);
    join(first);
    join(second);
    /* The pool is used again: these need more than it has. */
    for (unsigned i = 0; i < 40; i++) {
        join(spawn(osPriorityHigh, count, (void *)1));
        osThreadId_t detached = spawn(osPriorityLow, count, (void *)1);
        CHECK(osThreadDetach(detached) == osOK && osThreadJoin(detached) == osErrorResource);
        CHECK(osDelay(1) == osOK && osThreadGetState(detached) == osThreadTerminated);
        osThreadId_t ended = spawn(osPriorityHigh, count, (void *)1);
        CHECK(osThreadDetach(ended) == osOK);
    }
    CHECK(steps == 101 + 3 * 40);
}

static void end_after(void *rounds)
{
    for (uint32_t i = 0; i < (uint32_t)(uintptr_t)rounds; i++)
        __asm volatile("");
}

/* A thread is pre-empted at many places of its end. Its memory is in use until it is over. */
static void ends_one_by_one(void)
{
    uint32_t before = 0, within = 0, rounds = 0;
    steps = 0;
    for (; before < 3; rounds++) {
        uint64_t start = tandem_now();
        osThreadId_t ending = spawn(osPriorityLow, end_after, (void *)(uintptr_t)rounds);
        CHECK(osThreadDetach(ending) == osOK);
        tandem_delay_until(start + 4000);
        bool has_ended = osThreadGetState(ending) == osThreadTerminated;
        bool is_alive = tandem_is_alive(&((tandem_os_thread *)ending)->task);
        CHECK(has_ended || is_alive);
        before += !has_ended;
        within += has_ended && is_alive;
        osThreadId_t other = spawn(osPriorityHigh, count, (void *)1);
        CHECK(!is_alive || other != ending);
        join(other);
    }
    CHECK(within > 0 && rounds > 200 && steps == rounds);
    CHECK(osDelay(1) == osOK && osThreadGetCount() == 1);
}

static void yields(void)
{
    osThreadId_t other = spawn(osPriorityNormal, count, (void *)1);
    steps = 0;
    CHECK(osThreadYield() == osOK && steps == 1);
    join(other);
}

static void threads(void)
{
    bad_threads();
    static_threads();
    mixed_threads();
    states();
    priorities();
    ends();
    ends_one_by_one();
    yields();
    from_handler(threads_in_handler);
}

/* ---- Semaphores ---- */

static osSemaphoreId_t semaphore;

static void semaphores_in_handler(void)
{
    CHECK(osSemaphoreNew(1, 0, NULL) == NULL && osSemaphoreGetName(semaphore) == NULL);
    CHECK(osSemaphoreAcquire(semaphore, 0) == osErrorResource);
    CHECK(osSemaphoreRelease(semaphore) == osOK && osSemaphoreGetCount(semaphore) == 1);
    CHECK(osSemaphoreAcquire(semaphore, 1) == osErrorParameter);
    CHECK(osSemaphoreAcquire(semaphore, osWaitForever) == osErrorParameter);
    CHECK(osSemaphoreAcquire(semaphore, 0) == osOK);
}

static void release_in_handler(void)
{
    CHECK(osSemaphoreRelease(semaphore) == osOK);
}

static void release_later(void *unused)
{
    (void)unused;
    CHECK(osDelay(2) == osOK);
    in_handler = release_in_handler;
    raise_interrupt(0);
}

static void semaphores(void)
{
    static tandem_os_semaphore block;
    osSemaphoreAttr_t attributes = {.name = "sem", .cb_mem = &block, .cb_size = sizeof block - 1};
    CHECK(osSemaphoreNew(0, 0, NULL) == NULL && osSemaphoreNew(2, 3, NULL) == NULL);
    CHECK(osSemaphoreNew(2, 1, &attributes) == NULL);
    attributes.cb_size++;
    semaphore = osSemaphoreNew(2, 1, &attributes);
    CHECK(semaphore == &block && equal(osSemaphoreGetName(semaphore), "sem"));
    CHECK(osSemaphoreGetCount(semaphore) == 1 && osSemaphoreRelease(semaphore) == osOK);
    CHECK(osSemaphoreGetCount(semaphore) == 2 && osSemaphoreRelease(semaphore) == osErrorResource);
    CHECK(osSemaphoreGetCount(semaphore) == 2);
    CHECK(osSemaphoreAcquire(semaphore, 0) == osOK && osSemaphoreAcquire(semaphore, 1) == osOK);
    CHECK(osSemaphoreAcquire(semaphore, 0) == osErrorResource);
    uint32_t before = osKernelGetTickCount();
    CHECK(osSemaphoreAcquire(semaphore, 2) == osErrorTimeout);
    CHECK(osKernelGetTickCount() - before == 2);
    osThreadId_t other = spawn(osPriorityHigh, release_later, NULL);
    CHECK(osSemaphoreAcquire(semaphore, 5) == osOK);
    join(other);
    other = spawn(osPriorityHigh, release_later, NULL);
    CHECK(osSemaphoreAcquire(semaphore, osWaitForever) == osOK);
    join(other);
    CHECK(osSemaphoreAcquire(NULL, 0) == osErrorParameter);
    CHECK(osSemaphoreRelease(director) == osErrorParameter && osSemaphoreGetCount(NULL) == 0);
    /* A waiter has what is released, so the count is below the maximum. */
    osSemaphoreId_t binary = osSemaphoreNew(1, 1, NULL);
    CHECK(osSemaphoreRelease(binary) == osErrorResource && osSemaphoreGetName(binary) == NULL);
    other = spawn(osPriorityLow, wait_for_gate, NULL);
    CHECK(osDelay(1) == osOK && osSemaphoreRelease(gate) == osOK);
    CHECK(osSemaphoreGetCount(gate) == 0);
    join(other);
    from_handler(semaphores_in_handler);
}

/* ---- Mutexes ---- */

static osMutexId_t mutex, plain;

static void mutexes_in_handler(void)
{
    CHECK(osMutexNew(NULL) == NULL && osMutexGetName(mutex) == NULL);
    CHECK(osMutexAcquire(mutex, 0) == osErrorISR && osMutexRelease(mutex) == osErrorISR);
    CHECK(osMutexGetOwner(mutex) == NULL);
}

static void hold(void *unused)
{
    (void)unused;
    osThreadId_t me = osThreadGetId();
    CHECK(osMutexAcquire(mutex, osWaitForever) == osOK && osMutexAcquire(mutex, 0) == osOK);
    CHECK(osMutexGetOwner(mutex) == me && osThreadGetPriority(me) == osPriorityLow);
    CHECK(osSemaphoreAcquire(gate, osWaitForever) == osOK);
    CHECK(osThreadGetPriority(me) == osPriorityNormal); /* of the director, who waits */
    steps = 1;
    CHECK(osMutexRelease(mutex) == osOK && osThreadGetPriority(me) == osPriorityNormal);
    CHECK(osMutexRelease(mutex) == osOK);
    CHECK(osThreadGetPriority(me) == osPriorityLow);
    steps += 10;
}

/* Between the two in urgency: must not run before the mutex is released. */
static void middle(void *unused)
{
    (void)unused;
    CHECK(osDelay(2) == osOK && steps == 0);
    CHECK(osSemaphoreRelease(gate) == osOK && steps == 1);
    steps += 100;
}

static void try_to_acquire(void *unused)
{
    (void)unused;
    CHECK(osMutexAcquire(mutex, 0) == osErrorResource);
    CHECK(osMutexAcquire(mutex, 1) == osErrorTimeout);
    CHECK(osMutexRelease(mutex) == osErrorResource && osMutexGetOwner(mutex) == director);
    steps = 5;
}

static void mutexes(void)
{
    osMutexAttr_t attributes = {.name = "mutex", .attr_bits = osMutexRobust};
    CHECK(osMutexNew(&attributes) == NULL);
    attributes.attr_bits = osMutexRecursive | osMutexPrioInherit;
    mutex = osMutexNew(&attributes);
    plain = osMutexNew(NULL);
    CHECK(mutex != NULL && plain != NULL && equal(osMutexGetName(mutex), "mutex"));
    CHECK(osMutexGetOwner(mutex) == NULL && osMutexRelease(mutex) == osErrorResource);
    CHECK(osMutexAcquire(plain, 0) == osOK && osMutexGetOwner(plain) == director);
    CHECK(osMutexAcquire(plain, 0) == osErrorResource);
    CHECK(osMutexAcquire(plain, osWaitForever) == osErrorResource);
    CHECK(osMutexRelease(plain) == osOK && osMutexRelease(plain) == osErrorResource);
    CHECK(osMutexAcquire(NULL, 0) == osErrorParameter && osMutexRelease(gate) == osErrorParameter);
    CHECK(osMutexGetOwner(gate) == NULL);
    for (unsigned i = 0; i < 3; i++)
        CHECK(osMutexAcquire(mutex, 1) == osOK);
    CHECK(osMutexRelease(mutex) == osOK && osMutexRelease(mutex) == osOK);
    osThreadId_t other = spawn(osPriorityHigh, try_to_acquire, NULL);
    join(other); /* it is owned still */
    CHECK(steps == 5 && osMutexRelease(mutex) == osOK && osMutexGetOwner(mutex) == NULL);
    CHECK(osMutexRelease(mutex) == osErrorResource);

    steps = 0;
    osThreadId_t low = spawn(osPriorityLow, hold, NULL);
    CHECK(osDelay(1) == osOK && osMutexGetOwner(mutex) == low);
    osThreadId_t between = spawn(osPriorityBelowNormal, middle, NULL);
    CHECK(osMutexAcquire(mutex, osWaitForever) == osOK);
    CHECK(steps == 1 && osThreadGetPriority(low) == osPriorityLow);
    CHECK(osMutexRelease(mutex) == osOK);
    join(between);
    CHECK(steps == 101);
    join(low);
    CHECK(steps == 111);
    from_handler(mutexes_in_handler);
}

/* ---- Message queues ---- */

static osMessageQueueId_t queue;

static void queues_in_handler(void)
{
    uint32_t word = 7;
    CHECK(osMessageQueueNew(1, 4, NULL) == NULL && osMessageQueueGetName(queue) == NULL);
    CHECK(osMessageQueueGet(queue, &word, NULL, 0) == osErrorResource && word == 7);
    CHECK(osMessageQueuePut(queue, &word, 0, 1) == osErrorParameter);
    CHECK(osMessageQueuePut(queue, &word, 0, 0) == osOK && osMessageQueueGetCount(queue) == 1);
    CHECK(osMessageQueueGet(queue, &word, NULL, osWaitForever) == osErrorParameter);
    CHECK(osMessageQueueGet(queue, &word, NULL, 0) == osOK && word == 7);
}

static void put_three(void *unused)
{
    (void)unused;
    for (uint32_t word = 1; word <= 3; word++)
        CHECK(osMessageQueuePut(queue, &word, 0, osWaitForever) == osOK);
}

static void queues(void)
{
    static tandem_os_message_queue block;
    static uint32_t storage[2];
    uint32_t word = 9;
    uint8_t priority = 3;
    osMessageQueueAttr_t attributes = {.name = "queue", .cb_mem = &block, .cb_size = sizeof block,
                                       .mq_mem = storage, .mq_size = sizeof storage - 1};
    CHECK(osMessageQueueNew(0, 4, NULL) == NULL && osMessageQueueNew(4, 0, NULL) == NULL);
    CHECK(osMessageQueueNew(UINT32_MAX, UINT32_MAX, NULL) == NULL);
    CHECK(osMessageQueueNew(2, 4, &attributes) == NULL);
    attributes.mq_mem = NULL;
    CHECK(osMessageQueueNew(2, 4, &attributes) == NULL);
    attributes.mq_mem = storage;
    attributes.mq_size = sizeof storage;
    queue = osMessageQueueNew(2, 4, &attributes);
    CHECK(queue == &block && equal(osMessageQueueGetName(queue), "queue"));
    CHECK(osMessageQueueGetCapacity(queue) == 2 && osMessageQueueGetMsgSize(queue) == 4);
    CHECK(osMessageQueueGet(queue, &word, &priority, 0) == osErrorResource);
    uint32_t before = osKernelGetTickCount();
    CHECK(osMessageQueueGet(queue, &word, NULL, 2) == osErrorTimeout && word == 9);
    CHECK(osKernelGetTickCount() - before == 2);
    osThreadId_t other = spawn(osPriorityHigh, put_three, NULL);
    CHECK(osThreadGetState(other) == osThreadBlocked);
    CHECK(osMessageQueueGetCount(queue) == 2 && osMessageQueueGetSpace(queue) == 0);
    CHECK(osMessageQueuePut(queue, &word, 0, 0) == osErrorResource);
    CHECK(osMessageQueuePut(queue, &word, 0, 1) == osErrorTimeout);
    for (uint32_t i = 1; i <= 3; i++) {
        CHECK(osMessageQueueGet(queue, &word, &priority, osWaitForever) == osOK);
        CHECK(word == i && priority == 0);
    }
    CHECK(osMessageQueueGetSpace(queue) == 2 && osMessageQueueGetCount(queue) == 0);
    join(other);
    other = spawn(osPriorityLow, put_three, NULL);
    CHECK(osMessageQueueGet(queue, &word, NULL, 5) == osOK && word == 1);
    CHECK(osMessageQueueGet(queue, &word, NULL, 5) == osOK && word == 2);
    CHECK(osMessageQueueGet(queue, &word, NULL, osWaitForever) == osOK && word == 3);
    join(other);
    CHECK(osMessageQueuePut(queue, &word, 1, 0) == osErrorParameter);
    CHECK(osMessageQueuePut(queue, NULL, 0, 0) == osErrorParameter);
    CHECK(osMessageQueuePut(gate, &word, 0, 0) == osErrorParameter);
    CHECK(osMessageQueueGet(queue, NULL, NULL, 0) == osErrorParameter);
    CHECK(osMessageQueueGet(NULL, &word, NULL, 0) == osErrorParameter);
    CHECK(osMessageQueueGetCapacity(gate) == 0 && osMessageQueueGetMsgSize(gate) == 0);
    CHECK(osMessageQueueGetCount(NULL) == 0 && osMessageQueueGetSpace(gate) == 0);
    /* One part from the pool. */
    static tandem_os_message_queue other_block;
    static uint8_t other_storage[4];
    osMessageQueueAttr_t part = {.cb_mem = &other_block, .cb_size = sizeof other_block};
    CHECK(osMessageQueueNew(4, 1, &part) == &other_block);
    part = (osMessageQueueAttr_t){.mq_mem = other_storage, .mq_size = sizeof other_storage};
    CHECK(osMessageQueueNew(4, 1, &part) != NULL);
    /* From the pool, with messages that are no words. */
    osMessageQueueId_t odd = osMessageQueueNew(3, 7, NULL);
    char text[7] = "seven..", got[7];
    CHECK(odd != NULL && osMessageQueuePut(odd, text, 0, 0) == osOK);
    CHECK(osMessageQueueGet(odd, got, NULL, 0) == osOK && got[0] == 's' && got[6] == '.');
    from_handler(queues_in_handler);
}

/* ---- Flags ---- */

static osEventFlagsId_t flags;

static void flags_in_handler(void)
{
    CHECK(osEventFlagsNew(NULL) == NULL && osEventFlagsGetName(flags) == NULL);
    CHECK(osEventFlagsSet(flags, 3) == 3 && osEventFlagsGet(flags) == 3);
    CHECK(osEventFlagsWait(flags, 1, osFlagsWaitAny, 1) == osFlagsErrorParameter);
    CHECK(osEventFlagsWait(flags, 1, osFlagsWaitAny, 0) == 3 && osEventFlagsClear(flags, 2) == 2);
    CHECK(osEventFlagsWait(flags, 1, osFlagsWaitAny, 0) == osFlagsErrorResource);
    CHECK(osThreadFlagsSet(director, 4) == 4 && osThreadFlagsClear(4) == osFlagsErrorISR);
    CHECK(osThreadFlagsGet() == 0 && osThreadFlagsWait(4, 0, 0) == osFlagsErrorISR);
}

static void wait_for_all(void *options)
{
    uint32_t wanted = osFlagsWaitAll | (uint32_t)(uintptr_t)options;
    CHECK(osEventFlagsWait(flags, 3, wanted, osWaitForever) == 3);
    steps++;
}

static void wait_for_any(void *unused)
{
    (void)unused;
    CHECK(osEventFlagsWait(flags, 3, osFlagsWaitAny, osWaitForever) == 1);
    steps++;
}

static void event_flags(void)
{
    osEventFlagsAttr_t attributes = {.name = "flags"};
    flags = osEventFlagsNew(&attributes);
    CHECK(flags != NULL && equal(osEventFlagsGetName(flags), "flags"));
    CHECK(osEventFlagsGet(flags) == 0 && osEventFlagsWait(flags, 1, 0, 0) == osFlagsErrorResource);
    uint32_t before = osKernelGetTickCount();
    CHECK(osEventFlagsWait(flags, 1, osFlagsWaitAny, 2) == osFlagsErrorTimeout);
    CHECK(osKernelGetTickCount() - before == 2);
    CHECK(osEventFlagsSet(flags, 0x15) == 0x15 && osEventFlagsClear(flags, 0x10) == 0x15);
    CHECK(osEventFlagsWait(flags, 3, osFlagsWaitAll, 1) == osFlagsErrorTimeout);
    CHECK(osEventFlagsWait(flags, 3, osFlagsWaitAny | osFlagsNoClear, 1) == 5);
    CHECK(osEventFlagsGet(flags) == 5);
    CHECK(osEventFlagsWait(flags, 3, osFlagsWaitAny, osWaitForever) == 5);
    CHECK(osEventFlagsGet(flags) == 4);
    CHECK(osEventFlagsWait(flags, 4, osFlagsWaitAll, 0) == 4 && osEventFlagsGet(flags) == 0);
    /* Two wait for all; the one that clears comes second. */
    steps = 0;
    osThreadId_t keeps = spawn(osPriorityHigh, wait_for_all, (void *)osFlagsNoClear);
    osThreadId_t clears = spawn(osPriorityHigh, wait_for_all, NULL);
    CHECK(osEventFlagsSet(flags, 1) == 1 && steps == 0);
    CHECK(osEventFlagsSet(flags, 2) == 0 && steps == 2);
    join(keeps);
    join(clears);
    /* A flag that is set after the wait has ended is no part of its result. */
    osThreadId_t any = spawn(osPriorityHigh, wait_for_any, NULL);
    CHECK(osKernelLock() == 0 && osEventFlagsSet(flags, 1) == 0 && osEventFlagsSet(flags, 2) == 2);
    CHECK(osKernelUnlock() == 1 && steps == 3 && osEventFlagsClear(flags, 2) == 2);
    join(any);
    CHECK(osEventFlagsSet(flags, osFlagsError) == osFlagsErrorParameter);
    CHECK(osEventFlagsSet(gate, 1) == osFlagsErrorParameter);
    CHECK(osEventFlagsClear(flags, osFlagsError) == osFlagsErrorParameter);
    CHECK(osEventFlagsClear(NULL, 1) == osFlagsErrorParameter && osEventFlagsGet(NULL) == 0);
    CHECK(osEventFlagsWait(flags, osFlagsError | 1, 0, 0) == osFlagsErrorParameter);
    CHECK(osEventFlagsWait(flags, 0, 0, 0) == osFlagsErrorParameter);
    CHECK(osEventFlagsWait(flags, 1, 4, 0) == osFlagsErrorParameter);
    CHECK(osEventFlagsWait(gate, 1, 0, 0) == osFlagsErrorParameter);
}

static void set_director(void *unused)
{
    (void)unused;
    CHECK(osThreadFlagsSet(director, 1) == 1 && osDelay(1) == osOK);
    CHECK(osThreadFlagsSet(director, 2) == 0);
}

static void thread_flags(void)
{
    CHECK(osThreadFlagsGet() == 0 && osThreadFlagsWait(1, 0, 0) == osFlagsErrorResource);
    CHECK(osThreadFlagsWait(1, osFlagsWaitAny, 1) == osFlagsErrorTimeout);
    osThreadId_t other = spawn(osPriorityLow, set_director, NULL);
    CHECK(osThreadFlagsWait(3, osFlagsWaitAll, osWaitForever) == 3 && osThreadFlagsGet() == 0);
    join(other);
    CHECK(osThreadFlagsSet(director, 6) == 6 && osThreadFlagsClear(2) == 6);
    CHECK(osThreadFlagsWait(4, osFlagsNoClear, 1) == 4 && osThreadFlagsGet() == 4);
    CHECK(osThreadFlagsWait(5, osFlagsWaitAny, 1) == 4 && osThreadFlagsGet() == 0);
    CHECK(osThreadFlagsSet(NULL, 1) == osFlagsErrorParameter);
    CHECK(osThreadFlagsSet(director, osFlagsError) == osFlagsErrorParameter);
    CHECK(osThreadFlagsClear(osFlagsError) == osFlagsErrorParameter);
    CHECK(osThreadFlagsWait(0, 0, 0) == osFlagsErrorParameter);
    from_handler(flags_in_handler);
    CHECK(osThreadFlagsGet() == 4 && osThreadFlagsClear(4) == 4);
}

/* ---- Timers ---- */

static osTimerId_t once;

static void timers_in_handler(void)
{
    CHECK(osTimerNew(count, osTimerOnce, NULL, NULL) == NULL && osTimerGetName(once) == NULL);
    CHECK(osTimerStart(once, 1) == osErrorISR && osTimerStop(once) == osErrorISR);
    CHECK(osTimerIsRunning(once) == 0);
}

static void timers(void)
{
    static tandem_os_timer block;
    osTimerAttr_t attributes = {.name = "once", .cb_mem = &block, .cb_size = sizeof block};
    CHECK(osTimerNew(NULL, osTimerOnce, NULL, NULL) == NULL);
    CHECK(osTimerNew(count, (osTimerType_t)2, NULL, NULL) == NULL);
    CHECK(osThreadGetCount() == 1);
    once = osTimerNew(count, osTimerOnce, (void *)10, &attributes);
    osTimerId_t periodic = osTimerNew(count, osTimerPeriodic, (void *)1, NULL);
    CHECK(once == &block && periodic != NULL && equal(osTimerGetName(once), "once"));
    osThreadId_t list[2];
    CHECK(osThreadEnumerate(list, 2) == 2 && equal(osThreadGetName(list[0]), "timers"));
    CHECK(osThreadGetPriority(list[0]) == osPriorityHigh);
    CHECK(osTimerIsRunning(once) == 0 && osTimerStop(once) == osErrorResource);
    CHECK(osTimerStart(once, 0) == osErrorParameter && osTimerStart(gate, 1) == osErrorParameter);
    CHECK(osTimerStop(gate) == osErrorParameter && osTimerIsRunning(NULL) == 0);
    steps = 0;
    CHECK(osTimerStart(once, 3) == osOK && osTimerIsRunning(once) == 1);
    CHECK(osDelay(2) == osOK && steps == 0);
    CHECK(osTimerStart(once, 2) == osOK); /* again, from now on */
    CHECK(osDelay(1) == osOK && steps == 0 && osDelay(1) == osOK && steps == 10);
    CHECK(osTimerIsRunning(once) == 0 && osDelay(3) == osOK && steps == 10);
    steps = 0;
    CHECK(osTimerStart(periodic, 2) == osOK && osDelay(7) == osOK && steps == 3);
    CHECK(osTimerIsRunning(periodic) == 1 && osTimerStop(periodic) == osOK);
    CHECK(osTimerIsRunning(periodic) == 0 && osDelay(3) == osOK && steps == 3);
    from_handler(timers_in_handler);
}

/* ---- Lock ---- */

static void lock_and_exit(void *unused)
{
    (void)unused;
    CHECK(osKernelLock() == 0);
}

static void hold_plain(void *unused)
{
    (void)unused;
    CHECK(osMutexAcquire(plain, 0) == osOK);
    CHECK(osSemaphoreAcquire(gate, osWaitForever) == osOK);
    CHECK(osMutexRelease(plain) == osOK);
}

static void locks(void)
{
    uint32_t word = 0;
    osThreadId_t holds = spawn(osPriorityHigh, hold_plain, NULL);
    CHECK(osKernelLock() == 0 && osMutexAcquire(plain, 1) == osErrorResource);
    CHECK(osMutexAcquire(plain, osWaitForever) == osErrorResource && osKernelUnlock() == 1);
    CHECK(osSemaphoreRelease(gate) == osOK);
    join(holds);
    steps = 0;
    osThreadId_t other = spawn(osPriorityHigh, wait_for_gate, NULL);
    CHECK(osKernelUnlock() == 0 && osKernelLock() == 0 && osKernelLock() == 1);
    CHECK(osKernelGetState() == osKernelLocked && osThreadGetPriority(director) == osPriorityISR);
    CHECK(osSemaphoreRelease(gate) == osOK && steps == 0 && osThreadYield() == osOK && steps == 0);
    osThreadId_t most = spawn(osPriorityISR, count, (void *)10);
    CHECK(steps == 0 && osThreadGetState(most) == osThreadReady);
    CHECK(osDelay(1) == osError && osDelayUntil(osKernelGetTickCount() + 5) == osError);
    CHECK(osSemaphoreAcquire(gate, 1) == osErrorResource);
    CHECK(osMessageQueueGet(queue, &word, NULL, osWaitForever) == osErrorResource);
    CHECK(osEventFlagsWait(flags, 1, 0, 1) == osFlagsErrorResource);
    CHECK(osThreadFlagsWait(1, 0, osWaitForever) == osFlagsErrorResource);
    CHECK(osThreadJoin(other) == osErrorResource);
    CHECK(osMutexAcquire(plain, osWaitForever) == osOK && osMutexRelease(plain) == osOK);
    CHECK(osThreadSetPriority(director, osPriorityNormal2) == osOK && steps == 0);
    CHECK(osKernelRestoreLock(1) == 1 && osKernelRestoreLock(2) == osError && steps == 0);
    CHECK(osKernelRestoreLock(0) == 0 && steps == 11 && osKernelGetState() == osKernelRunning);
    CHECK(osThreadGetPriority(director) == osPriorityNormal2);
    CHECK(osThreadSetPriority(director, osPriorityNormal) == osOK);
    CHECK(osKernelLock() == 0 && osKernelUnlock() == 1);
    join(other);
    join(most);
    join(spawn(osPriorityHigh, lock_and_exit, NULL));
    CHECK(osKernelGetState() == osKernelRunning);
}

/* ---- The pool ---- */

static void pool(void)
{
    uint32_t made = 0;
    for (unsigned i = 0; i < TANDEM_OS_POOL / 16; i++) /* what fails takes nothing */
        CHECK(osMessageQueueNew(TANDEM_OS_POOL, 1, NULL) == NULL);
    while (osSemaphoreNew(1, 1, NULL) != NULL)
        made++;
    CHECK(made > 4 && made < TANDEM_OS_POOL / sizeof(tandem_os_semaphore));
    osThreadAttr_t large = {.stack_size = 2 * TANDEM_OS_STACK};
    CHECK(osThreadNew(count, NULL, &large) == NULL && osMessageQueueNew(1, 64, NULL) == NULL);
    CHECK(osMutexNew(NULL) == NULL && osEventFlagsNew(NULL) == NULL);
    CHECK(osTimerNew(count, osTimerOnce, NULL, NULL) == NULL);
    join(spawn(osPriorityHigh, count, NULL)); /* the memory of an earlier one */
}

static void direct(void *argument)
{
    CHECK(argument == &director && osThreadGetId() == director);
    CHECK(osKernelGetTickCount() == 0);
    kernel();
    delays();
    threads();
    semaphores();
    mutexes();
    queues();
    event_flags();
    thread_flags();
    timers();
    locks();
    pool();
    print("all calls of CMSIS-RTOS2: ok\n");
    leave(true);
}

int main(void)
{
    board_set_up();
    before_the_start();
    gate = osSemaphoreNew(1, 0, NULL);
    static const osThreadAttr_t attributes = {.name = "director"};
    director = osThreadNew(direct, &director, &attributes);
    CHECK(director != NULL && osThreadGetState(director) == osThreadReady);
    CHECK(osThreadGetPriority(director) == osPriorityNormal);
    return osKernelStart();
}
