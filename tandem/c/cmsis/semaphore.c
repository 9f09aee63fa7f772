/* Semaphores with a maximum. */
#include "layer.h"

osSemaphoreId_t osSemaphoreNew(uint32_t max_count, uint32_t initial_count,
                               const osSemaphoreAttr_t *attr)
{
    if (max_count == 0 || initial_count > max_count)
        return NULL;
    tandem_os_semaphore *it = (tandem_os_semaphore *)os_block(
        OS_SEMAPHORE, attr != NULL ? attr : &os_no_attributes, sizeof *it, 0);
    if (it != NULL) {
        tandem_semaphore_init(&it->semaphore, initial_count);
        it->most = max_count;
    }
    return it;
}

const char *osSemaphoreGetName(osSemaphoreId_t semaphore_id)
{
    return os_name(semaphore_id, OS_SEMAPHORE);
}

osStatus_t osSemaphoreAcquire(osSemaphoreId_t semaphore_id, uint32_t timeout)
{
    tandem_os_semaphore *it = (tandem_os_semaphore *)os_object(semaphore_id, OS_SEMAPHORE);
    if (it == NULL)
        return osErrorParameter;
    os_caller_t caller = timeout == 0 ? OS_LOCKED : os_caller();
    if (caller == OS_IN_HANDLER)
        return osErrorParameter;
    if (caller != OS_IN_THREAD)
        return tandem_semaphore_try_take(&it->semaphore) ? osOK : osErrorResource;
    if (timeout == osWaitForever)
        tandem_semaphore_take(&it->semaphore);
    else if (!tandem_semaphore_take_until(&it->semaphore, os_due(timeout)))
        return osErrorTimeout;
    return osOK;
}

osStatus_t osSemaphoreRelease(osSemaphoreId_t semaphore_id)
{
    tandem_os_semaphore *it = (tandem_os_semaphore *)os_object(semaphore_id, OS_SEMAPHORE);
    if (it == NULL)
        return osErrorParameter;
    /* No other context adds one between the comparison and the give. */
    uint32_t interrupts = tandem_enter();
    bool fits = tandem_semaphore_count(&it->semaphore) < it->most;
    if (fits)
        tandem_semaphore_give(&it->semaphore);
    tandem_exit(interrupts);
    return fits ? osOK : osErrorResource;
}

uint32_t osSemaphoreGetCount(osSemaphoreId_t semaphore_id)
{
    tandem_os_semaphore *it = (tandem_os_semaphore *)os_object(semaphore_id, OS_SEMAPHORE);
    return it != NULL ? tandem_semaphore_count(&it->semaphore) : 0;
}
