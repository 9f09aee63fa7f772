/* Message queues, without priorities of messages. */
#include "layer.h"

osMessageQueueId_t osMessageQueueNew(uint32_t msg_count, uint32_t msg_size,
                                     const osMessageQueueAttr_t *attr)
{
    static const osMessageQueueAttr_t none;
    if (attr == NULL)
        attr = &none;
    if (msg_count == 0 || msg_size == 0 || msg_count > SIZE_MAX / msg_size)
        return NULL;
    size_t bytes = (size_t)msg_count * msg_size;
    bool is_pooled = attr->mq_mem == NULL && attr->mq_size == 0;
    if (!is_pooled && (attr->mq_mem == NULL || attr->mq_size < bytes))
        return NULL;
    osTimerAttr_t block = {attr->name, 0, attr->cb_mem, attr->cb_size};
    bool is_behind = is_pooled && attr->cb_mem == NULL;
    tandem_os_message_queue *it = (tandem_os_message_queue *)os_block(
        OS_MESSAGE_QUEUE, &block, sizeof *it, is_behind ? bytes : 0);
    if (it == NULL)
        return NULL;
    void *storage = is_behind ? it + 1 : is_pooled ? os_pool(bytes, 8) : attr->mq_mem;
    if (storage == NULL)
        return NULL;
    tandem_queue_init(&it->queue, storage, msg_size, msg_count);
    it->size = msg_size;
    it->capacity = msg_count;
    return it;
}

const char *osMessageQueueGetName(osMessageQueueId_t mq_id)
{
    return os_name(mq_id, OS_MESSAGE_QUEUE);
}

osStatus_t osMessageQueuePut(osMessageQueueId_t mq_id, const void *msg_ptr, uint8_t msg_prio,
                             uint32_t timeout)
{
    tandem_os_message_queue *it =
        (tandem_os_message_queue *)os_object(mq_id, OS_MESSAGE_QUEUE);
    if (it == NULL || msg_ptr == NULL || msg_prio != 0)
        return osErrorParameter;
    os_caller_t caller = timeout == 0 ? OS_LOCKED : os_caller();
    if (caller == OS_IN_HANDLER)
        return osErrorParameter;
    if (caller != OS_IN_THREAD)
        return tandem_queue_try_send(&it->queue, msg_ptr) ? osOK : osErrorResource;
    if (timeout == osWaitForever)
        tandem_queue_send(&it->queue, msg_ptr);
    else if (!tandem_queue_send_until(&it->queue, msg_ptr, os_due(timeout)))
        return osErrorTimeout;
    return osOK;
}

osStatus_t osMessageQueueGet(osMessageQueueId_t mq_id, void *msg_ptr, uint8_t *msg_prio,
                             uint32_t timeout)
{
    tandem_os_message_queue *it =
        (tandem_os_message_queue *)os_object(mq_id, OS_MESSAGE_QUEUE);
    if (it == NULL || msg_ptr == NULL)
        return osErrorParameter;
    os_caller_t caller = timeout == 0 ? OS_LOCKED : os_caller();
    if (caller == OS_IN_HANDLER)
        return osErrorParameter;
    if (caller != OS_IN_THREAD) {
        if (!tandem_queue_try_receive(&it->queue, msg_ptr))
            return osErrorResource;
    } else if (timeout == osWaitForever) {
        tandem_queue_receive(&it->queue, msg_ptr);
    } else if (!tandem_queue_receive_until(&it->queue, msg_ptr, os_due(timeout))) {
        return osErrorTimeout;
    }
    if (msg_prio != NULL)
        *msg_prio = 0;
    return osOK;
}

uint32_t osMessageQueueGetCapacity(osMessageQueueId_t mq_id)
{
    tandem_os_message_queue *it =
        (tandem_os_message_queue *)os_object(mq_id, OS_MESSAGE_QUEUE);
    return it != NULL ? it->capacity : 0;
}

uint32_t osMessageQueueGetMsgSize(osMessageQueueId_t mq_id)
{
    tandem_os_message_queue *it =
        (tandem_os_message_queue *)os_object(mq_id, OS_MESSAGE_QUEUE);
    return it != NULL ? it->size : 0;
}

uint32_t osMessageQueueGetCount(osMessageQueueId_t mq_id)
{
    tandem_os_message_queue *it =
        (tandem_os_message_queue *)os_object(mq_id, OS_MESSAGE_QUEUE);
    return it != NULL ? (uint32_t)tandem_queue_count(&it->queue) : 0;
}

uint32_t osMessageQueueGetSpace(osMessageQueueId_t mq_id)
{
    return osMessageQueueGetCapacity(mq_id) - osMessageQueueGetCount(mq_id);
}
