/* The kernel's start, its lock, its time, and delays. */
#include "layer.h"

static uint64_t started;

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
