/* Mutexes with priority inheritance, recursive ones too. */
#include "layer.h"

osMutexId_t osMutexNew(const osMutexAttr_t *attr)
{
    if (attr == NULL)
        attr = &os_no_attributes;
    if ((attr->attr_bits & ~(osMutexRecursive | osMutexPrioInherit)) != 0)
        return NULL;
    tandem_os_mutex *it = (tandem_os_mutex *)os_block(OS_MUTEX, attr, sizeof *it, 0);
    if (it != NULL) {
        tandem_mutex_init(&it->mutex);
        it->owner = NULL;
        it->depth = 0;
        it->recursive = (attr->attr_bits & osMutexRecursive) != 0;
    }
    return it;
}

const char *osMutexGetName(osMutexId_t mutex_id)
{
    return os_name(mutex_id, OS_MUTEX);
}

osStatus_t osMutexAcquire(osMutexId_t mutex_id, uint32_t timeout)
{
    tandem_os_mutex *it = (tandem_os_mutex *)os_object(mutex_id, OS_MUTEX);
    os_caller_t caller = os_caller();
    if (caller == OS_IN_HANDLER || caller == OS_EARLY)
        return os_refusal(caller);
    if (it == NULL)
        return osErrorParameter;
    /* Only the running thread makes itself the owner: the comparison needs no critical section. */
    const tandem_task *me = tandem_current();
    if (it->owner == me) {
        if (!it->recursive || it->depth == UINT32_MAX)
            return osErrorResource;
        it->depth++;
        return osOK;
    }
    if (timeout == 0 || caller == OS_LOCKED) {
        if (!tandem_mutex_try_lock(&it->mutex))
            return osErrorResource;
    } else if (timeout == osWaitForever) {
        tandem_mutex_lock(&it->mutex);
    } else if (!tandem_mutex_lock_until(&it->mutex, os_due(timeout))) {
        return osErrorTimeout;
    }
    it->owner = me;
    it->depth = 1;
    return osOK;
}

osStatus_t osMutexRelease(osMutexId_t mutex_id)
{
    tandem_os_mutex *it = (tandem_os_mutex *)os_object(mutex_id, OS_MUTEX);
    os_caller_t caller = os_caller();
    if (caller == OS_IN_HANDLER || caller == OS_EARLY)
        return os_refusal(caller);
    if (it == NULL)
        return osErrorParameter;
    if (it->owner != tandem_current())
        return osErrorResource;
    if (--it->depth == 0) {
        it->owner = NULL;
        tandem_mutex_unlock(&it->mutex);
    }
    return osOK;
}

osThreadId_t osMutexGetOwner(osMutexId_t mutex_id)
{
    tandem_os_mutex *it = (tandem_os_mutex *)os_object(mutex_id, OS_MUTEX);
    return it != NULL && os_caller() != OS_IN_HANDLER ? os_thread_of(it->owner) : NULL;
}
