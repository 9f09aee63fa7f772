/* The kernel's state, its time, delays, and memory. */
#include "layer.h"

osKernelState_t os_state = osKernelInactive;
static uint64_t started;

/* ---- Objects ---- */

const osTimerAttr_t os_no_attributes;

/* The object's size is a multiple of 8, so that blocks behind each other are aligned. */
static uint64_t pool[TANDEM_OS_POOL / 8 + 1] __attribute__((aligned(TANDEM_GUARD_ALIGN)));

void *os_pool(size_t size, size_t alignment)
{
    static size_t used;
    void *memory = NULL;
    uint32_t interrupts = tandem_enter();
    size_t from = (used + alignment - 1) & ~(alignment - 1);
    if (from <= TANDEM_OS_POOL && size <= TANDEM_OS_POOL - from) {
        used = (from + size + 7) & ~(size_t)7;
        memory = (uint8_t *)pool + from;
    }
    tandem_exit(interrupts);
    return memory;
}

bool os_fits(const void *memory, uint32_t given, size_t size)
{
    return memory != NULL && given >= size && (uintptr_t)memory % 8 == 0;
}

void *os_block(uint32_t kind, const osTimerAttr_t *attr, size_t size, size_t more)
{
    if (os_caller() == OS_IN_HANDLER)
        return NULL;
    tandem_os_head *head = NULL;
    if (os_fits(attr->cb_mem, attr->cb_size, size))
        head = (tandem_os_head *)attr->cb_mem;
    else if (attr->cb_mem == NULL && attr->cb_size == 0 && more <= TANDEM_OS_POOL)
        head = (tandem_os_head *)os_pool(size + more, 8);
    if (head != NULL) {
        head->kind = kind;
        head->name = attr->name;
    }
    return head;
}

const char *os_name(void *id, uint32_t kind)
{
    const tandem_os_head *head = (const tandem_os_head *)os_object(id, kind);
    return head != NULL && os_caller() != OS_IN_HANDLER ? head->name : NULL;
}

/* ---- Kernel ---- */

osStatus_t osKernelInitialize(void)
{
    if (os_caller() == OS_IN_HANDLER)
        return osErrorISR;
    if (os_state > osKernelReady)
        return osError;
    os_state = osKernelReady;
    return osOK;
}

osStatus_t osKernelGetInfo(osVersion_t *version, char *id_buf, uint32_t id_size)
{
    if (os_caller() == OS_IN_HANDLER)
        return osErrorISR;
    if (version != NULL) {
        version->api = 20030000;
        version->kernel = tandem_version();
    }
    if (id_buf != NULL && id_size > 0) {
        static const char name[] = "Tandem";
        uint32_t at = 0;
        for (; at < id_size - 1 && name[at] != 0; at++)
            id_buf[at] = name[at];
        id_buf[at] = 0;
    }
    return osOK;
}

osKernelState_t osKernelGetState(void)
{
    return os_state;
}

static void begin(void)
{
    started = tandem_now();
    os_state = osKernelRunning;
}

osStatus_t osKernelStart(void)
{
    TANDEM_STACK(idle_stack, TANDEM_OS_IDLE_STACK);
    if (os_caller() == OS_IN_HANDLER)
        return osErrorISR;
    if (os_state != osKernelReady)
        return osError;
    tandem_start(idle_stack, sizeof idle_stack, begin);
}

/* Threads of the highest level do not pre-empt each other: a thread that has it, and neither waits
 * nor yields, is the only one to run. */
int32_t osKernelRestoreLock(int32_t lock)
{
    os_caller_t caller = os_caller();
    tandem_os_thread *thread = os_current();
    if (caller == OS_IN_HANDLER)
        return osErrorISR;
    if (caller == OS_EARLY || thread == NULL || (lock != 0 && lock != 1))
        return osError;
    if (lock != 0 && caller == OS_IN_THREAD) {
        tandem_set_priority(&thread->task, os_level(osPriorityISR));
        os_state = osKernelLocked;
    } else if (lock == 0 && caller == OS_LOCKED) {
        os_state = osKernelRunning;
        tandem_set_priority(&thread->task, os_level(thread->priority));
    }
    return lock;
}

static int32_t lock(int32_t wanted)
{
    int32_t before = os_state == osKernelLocked;
    int32_t after = osKernelRestoreLock(wanted);
    return after < 0 ? after : before;
}

int32_t osKernelLock(void)
{
    return lock(1);
}

int32_t osKernelUnlock(void)
{
    return lock(0);
}

/* ---- Time ---- */

uint64_t os_ticks(void)
{
    return os_state < osKernelRunning ? 0 : (tandem_now() - started) / OS_PERIOD;
}

uint64_t os_due(uint32_t ticks)
{
    return tandem_now() + (uint64_t)ticks * OS_PERIOD;
}

uint32_t osKernelGetTickCount(void)
{
    return (uint32_t)os_ticks();
}

uint32_t osKernelGetTickFreq(void)
{
    return TANDEM_OS_TICK_HZ;
}

uint32_t osKernelGetSysTimerCount(void)
{
    return (uint32_t)tandem_now();
}

uint32_t osKernelGetSysTimerFreq(void)
{
    return TANDEM_OS_CLOCK_HZ;
}

osStatus_t osDelay(uint32_t ticks)
{
    os_caller_t caller = os_caller();
    if (caller != OS_IN_THREAD)
        return os_refusal(caller);
    if (ticks == 0)
        return osErrorParameter;
    tandem_delay_until(os_due(ticks));
    return osOK;
}

osStatus_t osDelayUntil(uint32_t ticks)
{
    os_caller_t caller = os_caller();
    if (caller != OS_IN_THREAD)
        return os_refusal(caller);
    uint64_t now = os_ticks();
    uint32_t left = ticks - (uint32_t)now;
    if (left == 0 || left > INT32_MAX)
        return osErrorParameter;
    tandem_delay_until(started + (now + left) * OS_PERIOD);
    return osOK;
}
