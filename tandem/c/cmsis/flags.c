/* Event flags and thread flags: both are groups of tandem. */
#include "layer.h"

uint32_t os_wait_flags(tandem_group *group, uint32_t flags, uint32_t options, uint32_t timeout,
                       os_caller_t caller)
{
    if (flags == 0 || (flags & osFlagsError) != 0 ||
        (options & ~(osFlagsWaitAll | osFlagsNoClear)) != 0)
        return osFlagsErrorParameter;
    unsigned wanted = (options & osFlagsWaitAll) != 0 ? TANDEM_ALL : 0;
    if ((options & osFlagsNoClear) == 0)
        wanted |= TANDEM_TAKE;
    uint32_t hit;
    if (caller != OS_IN_THREAD || timeout == 0)
        hit = tandem_group_try_wait(group, flags, wanted);
    else if (timeout == osWaitForever)
        hit = tandem_group_wait(group, flags, wanted);
    else
        hit = tandem_group_wait_until(group, flags, wanted, os_due(timeout));
    if (hit != 0)
        return hit | (tandem_group_clear(group, 0) & ~flags);
    return caller != OS_IN_THREAD || timeout == 0 ? osFlagsErrorResource : osFlagsErrorTimeout;
}

/* ---- Event flags ---- */

static tandem_group *group_of(osEventFlagsId_t id)
{
    tandem_os_event_flags *it = (tandem_os_event_flags *)os_object(id, OS_EVENT_FLAGS);
    return it != NULL ? &it->group : NULL;
}

osEventFlagsId_t osEventFlagsNew(const osEventFlagsAttr_t *attr)
{
    tandem_os_event_flags *it = (tandem_os_event_flags *)os_block(
        OS_EVENT_FLAGS, attr != NULL ? attr : &os_no_attributes, sizeof *it, 0);
    if (it != NULL)
        tandem_group_init(&it->group);
    return it;
}

const char *osEventFlagsGetName(osEventFlagsId_t ef_id)
{
    return os_name(ef_id, OS_EVENT_FLAGS);
}

uint32_t osEventFlagsSet(osEventFlagsId_t ef_id, uint32_t flags)
{
    tandem_group *group = group_of(ef_id);
    if (group == NULL || (flags & osFlagsError) != 0)
        return osFlagsErrorParameter;
    tandem_group_set(group, flags);
    return tandem_group_clear(group, 0);
}

uint32_t osEventFlagsClear(osEventFlagsId_t ef_id, uint32_t flags)
{
    tandem_group *group = group_of(ef_id);
    if (group == NULL || (flags & osFlagsError) != 0)
        return osFlagsErrorParameter;
    return tandem_group_clear(group, flags);
}

uint32_t osEventFlagsGet(osEventFlagsId_t ef_id)
{
    tandem_group *group = group_of(ef_id);
    return group != NULL ? tandem_group_clear(group, 0) : 0;
}

uint32_t osEventFlagsWait(osEventFlagsId_t ef_id, uint32_t flags, uint32_t options,
                          uint32_t timeout)
{
    tandem_group *group = group_of(ef_id);
    os_caller_t caller = timeout == 0 ? OS_LOCKED : os_caller();
    if (group == NULL || caller == OS_IN_HANDLER)
        return osFlagsErrorParameter;
    return os_wait_flags(group, flags, options, timeout, caller);
}

/* ---- Thread flags ---- */

uint32_t osThreadFlagsSet(osThreadId_t thread_id, uint32_t flags)
{
    tandem_os_thread *thread = (tandem_os_thread *)os_object(thread_id, OS_THREAD);
    if (thread == NULL || (flags & osFlagsError) != 0)
        return osFlagsErrorParameter;
    if (thread->ended)
        return osFlagsErrorResource;
    tandem_group_set(&thread->flags, flags);
    return tandem_group_clear(&thread->flags, 0);
}

uint32_t osThreadFlagsClear(uint32_t flags)
{
    os_caller_t caller = os_caller();
    if (caller == OS_IN_HANDLER)
        return osFlagsErrorISR;
    tandem_os_thread *thread = os_current();
    if (thread == NULL)
        return osFlagsErrorUnknown;
    if ((flags & osFlagsError) != 0)
        return osFlagsErrorParameter;
    return tandem_group_clear(&thread->flags, flags);
}

uint32_t osThreadFlagsGet(void)
{
    tandem_os_thread *thread = os_caller() != OS_IN_HANDLER ? os_current() : NULL;
    return thread != NULL ? tandem_group_clear(&thread->flags, 0) : 0;
}

uint32_t osThreadFlagsWait(uint32_t flags, uint32_t options, uint32_t timeout)
{
    os_caller_t caller = os_caller();
    if (caller == OS_IN_HANDLER)
        return osFlagsErrorISR;
    tandem_os_thread *thread = os_current();
    if (thread == NULL)
        return osFlagsErrorUnknown;
    return os_wait_flags(&thread->flags, flags, options, timeout, caller);
}
