/* Threads. */
#include "layer.h"

/* The least stack above the guard: an interrupt's frame with the FPU, a context, and a call. */
enum { LEAST_STACK = 192 };

/* Threads of the pool that have ended, or are about to. */
static tandem_os_thread *spare;

/* ---- Priorities ---- */

static osPriority_t priority_of(unsigned level)
{
    return level == 0 ? osPriorityIdle
                      : (osPriority_t)((level - 1) / 5 * 8 + 8 + (level - 1) % 5);
}

static bool is_priority(osPriority_t priority)
{
    return priority >= osPriorityIdle && priority <= osPriorityISR;
}

/* ---- Lists; interrupts are masked ---- */

static void push(tandem_os_thread **list, tandem_os_thread *thread)
{
    thread->next = *list;
    *list = thread;
}

static void take_out(tandem_os_thread **list, const tandem_os_thread *thread)
{
    while (*list != NULL && *list != thread)
        list = &(*list)->next;
    if (*list != NULL)
        *list = thread->next;
}

/* ---- The begin of a thread ---- */

/* A thread of the pool that has ended, with a stack of at least that size, guard included. */
static tandem_os_thread *reuse(size_t size)
{
    uint32_t interrupts = tandem_enter();
    tandem_os_thread *it = spare;
    while (it != NULL && (tandem_is_alive(&it->task) || it->size < size))
        it = it->next;
    if (it != NULL)
        take_out(&spare, it);
    tandem_exit(interrupts);
    return it;
}

/* Finds memory for a thread: its block, and in it the stack, and whether both are of the pool. */
static tandem_os_thread *memory(const osThreadAttr_t *attr)
{
    bool block_pooled = attr->cb_mem == NULL && attr->cb_size == 0;
    tandem_os_thread *it = (tandem_os_thread *)attr->cb_mem;
    if (!block_pooled && !os_fits(it, attr->cb_size, sizeof *it))
        return NULL;
    if (!block_pooled && it->head.kind == OS_THREAD && tandem_is_alive(&it->task))
        return NULL;
    bool stack_pooled = attr->stack_mem == NULL;
    uint8_t *stack = (uint8_t *)attr->stack_mem;
    size_t size = attr->stack_size;
    if (stack_pooled) {
        size = ((size != 0 ? size : TANDEM_OS_STACK) + 7) & ~(size_t)7;
        if (size < LEAST_STACK || size > TANDEM_OS_POOL)
            return NULL;
        size += TANDEM_GUARD;
    } else {
        size_t lost = -(uintptr_t)stack % TANDEM_GUARD_ALIGN;
        if (size < lost + TANDEM_GUARD + LEAST_STACK)
            return NULL;
        stack += lost;
        size = (size - lost) & ~(size_t)7;
    }
    bool pooled = block_pooled && stack_pooled;
    tandem_os_thread *old = pooled ? reuse(size) : NULL;
    if (old != NULL) {
        it = old;
        stack = old->stack;
        size = old->size;
    } else {
        size_t rest = block_pooled ? sizeof *it : 0;
        if (stack_pooled)
            stack = (uint8_t *)os_pool(size + rest, TANDEM_GUARD_ALIGN);
        if (block_pooled)
            it = (tandem_os_thread *)(stack_pooled ? stack + size : os_pool(rest, 8));
    }
    if (stack == NULL || it == NULL)
        return NULL;
    static const tandem_os_thread zero;
    *it = zero;
    it->stack = stack;
    it->size = size;
    it->pooled = pooled;
    return it;
}

static void run(void *argument)
{
    tandem_os_thread *thread = (tandem_os_thread *)argument;
    thread->func(thread->argument);
    osThreadExit();
}

osThreadId_t osThreadNew(osThreadFunc_t func, void *argument, const osThreadAttr_t *attr)
{
    static const osThreadAttr_t none;
    if (attr == NULL)
        attr = &none;
    osPriority_t priority = attr->priority == osPriorityNone ? osPriorityNormal : attr->priority;
    if (func == NULL || !is_priority(priority) || os_caller() == OS_IN_HANDLER)
        return NULL;
    tandem_os_thread *it = memory(attr);
    if (it == NULL)
        return NULL;
    it->head.kind = OS_THREAD;
    it->head.name = attr->name;
    it->func = func;
    it->argument = argument;
    it->priority = priority;
    it->join = (attr->attr_bits & osThreadJoinable) != 0 ? TANDEM_OS_JOINABLE : TANDEM_OS_DETACHED;
    tandem_group_init(&it->flags);
    tandem_stack_paint(it->stack, it->size);
    uint32_t interrupts = tandem_enter();
    push(&os_threads, it);
    tandem_exit(interrupts);
    tandem_spawn(&it->task, it->stack, it->size, os_level(priority),
                 attr->name != NULL ? attr->name : "thread", run, it);
    return it;
}

/* ---- The end of a thread ---- */

void osThreadExit(void)
{
    tandem_os_thread *thread = os_caller() != OS_IN_HANDLER ? os_current() : NULL;
    if (thread != NULL) {
        osKernelUnlock();
        uint32_t interrupts = tandem_enter();
        take_out(&os_threads, thread);
        thread->ended = true;
        if (thread->pooled && thread->join == TANDEM_OS_DETACHED)
            push(&spare, thread);
        tandem_exit(interrupts);
    }
    tandem_end();
}

osStatus_t osThreadTerminate(osThreadId_t thread_id)
{
    os_caller_t caller = os_caller();
    if (caller == OS_IN_HANDLER)
        return osErrorISR;
    tandem_os_thread *thread = (tandem_os_thread *)os_object(thread_id, OS_THREAD);
    if (thread == NULL)
        return osErrorParameter;
    if (caller != OS_EARLY && thread == os_current())
        osThreadExit();
    return osErrorResource;
}

/* Changes what is to happen at the thread's end. Returns false if it was not the first. */
static bool change(tandem_os_thread *thread, tandem_os_join from, tandem_os_join to)
{
    uint32_t interrupts = tandem_enter();
    bool is_first = thread->join == from;
    if (is_first) {
        thread->join = to;
        if (to == TANDEM_OS_DETACHED && thread->ended && thread->pooled)
            push(&spare, thread);
    }
    tandem_exit(interrupts);
    return is_first;
}

osStatus_t osThreadDetach(osThreadId_t thread_id)
{
    if (os_caller() == OS_IN_HANDLER)
        return osErrorISR;
    tandem_os_thread *thread = (tandem_os_thread *)os_object(thread_id, OS_THREAD);
    if (thread == NULL)
        return osErrorParameter;
    return change(thread, TANDEM_OS_JOINABLE, TANDEM_OS_DETACHED) ? osOK : osErrorResource;
}

osStatus_t osThreadJoin(osThreadId_t thread_id)
{
    os_caller_t caller = os_caller();
    if (caller == OS_IN_HANDLER)
        return osErrorISR;
    tandem_os_thread *thread = (tandem_os_thread *)os_object(thread_id, OS_THREAD);
    if (thread == NULL)
        return osErrorParameter;
    if (caller != OS_IN_THREAD || &thread->task == tandem_current() ||
        !change(thread, TANDEM_OS_JOINABLE, TANDEM_OS_JOINING))
        return osErrorResource;
    tandem_join(&thread->task);
    change(thread, TANDEM_OS_JOINING, TANDEM_OS_DETACHED);
    return osOK;
}

/* ---- The state of a thread ---- */

const char *osThreadGetName(osThreadId_t thread_id)
{
    return os_name(thread_id, OS_THREAD);
}

osThreadId_t osThreadGetId(void)
{
    return os_current();
}

osThreadState_t osThreadGetState(osThreadId_t thread_id)
{
    tandem_os_thread *thread = (tandem_os_thread *)os_object(thread_id, OS_THREAD);
    os_caller_t caller = os_caller();
    if (thread == NULL || caller == OS_IN_HANDLER)
        return osThreadError;
    if (thread->ended)
        return osThreadTerminated;
    if (caller != OS_EARLY && &thread->task == tandem_current())
        return osThreadRunning;
    return tandem_is_ready(&thread->task) ? osThreadReady : osThreadBlocked;
}

uint32_t osThreadGetStackSize(osThreadId_t thread_id)
{
    const tandem_os_thread *thread = (tandem_os_thread *)os_object(thread_id, OS_THREAD);
    if (thread == NULL || os_caller() == OS_IN_HANDLER)
        return 0;
    return (uint32_t)(thread->size - TANDEM_GUARD);
}

uint32_t osThreadGetStackSpace(osThreadId_t thread_id)
{
    const tandem_os_thread *thread = (tandem_os_thread *)os_object(thread_id, OS_THREAD);
    if (thread == NULL || os_caller() == OS_IN_HANDLER)
        return 0;
    return (uint32_t)tandem_stack_unused(thread->stack, thread->size);
}

osStatus_t osThreadSetPriority(osThreadId_t thread_id, osPriority_t priority)
{
    os_caller_t caller = os_caller();
    if (caller == OS_IN_HANDLER || caller == OS_EARLY)
        return os_refusal(caller);
    tandem_os_thread *thread = (tandem_os_thread *)os_object(thread_id, OS_THREAD);
    if (thread == NULL || !is_priority(priority))
        return osErrorParameter;
    if (thread->ended)
        return osErrorResource;
    thread->priority = priority;
    /* A thread that has locked the kernel gets its priority when it unlocks it. */
    if (caller != OS_LOCKED || &thread->task != tandem_current())
        tandem_set_priority(&thread->task, os_level(priority));
    return osOK;
}

osPriority_t osThreadGetPriority(osThreadId_t thread_id)
{
    const tandem_os_thread *thread = (tandem_os_thread *)os_object(thread_id, OS_THREAD);
    if (thread == NULL || thread->ended || os_caller() == OS_IN_HANDLER)
        return osPriorityError;
    unsigned level = tandem_priority(&thread->task);
    return level == os_level(thread->priority) ? thread->priority : priority_of(level);
}

osStatus_t osThreadYield(void)
{
    os_caller_t caller = os_caller();
    if (caller == OS_IN_HANDLER || caller == OS_EARLY)
        return os_refusal(caller);
    if (caller == OS_IN_THREAD)
        tandem_yield();
    return osOK;
}

/* Stores the threads that have not ended, unless there is no array. Returns their number. */
static uint32_t enumerate(osThreadId_t *array, uint32_t most)
{
    if (os_caller() == OS_IN_HANDLER)
        return 0;
    uint32_t count = 0;
    uint32_t interrupts = tandem_enter();
    for (tandem_os_thread *it = os_threads; it != NULL && count < most; it = it->next) {
        if (array != NULL)
            array[count] = it;
        count++;
    }
    tandem_exit(interrupts);
    return count;
}

uint32_t osThreadGetCount(void)
{
    return enumerate(NULL, UINT32_MAX);
}

uint32_t osThreadEnumerate(osThreadId_t *thread_array, uint32_t array_items)
{
    return thread_array != NULL ? enumerate(thread_array, array_items) : 0;
}
