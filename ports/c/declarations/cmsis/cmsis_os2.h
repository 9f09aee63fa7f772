/* Declarations of what cmsis_rtos2.c uses of CMSIS-RTOS2, written for Chronoscope: they check that
 * the port compiles, and are no part of CMSIS. */
#ifndef CMSIS_OS2_H
#define CMSIS_OS2_H

#include <stddef.h>
#include <stdint.h>

typedef enum { osOK = 0 } osStatus_t;
typedef enum { osPriorityLow = 8, osPriorityISR = 56 } osPriority_t;

typedef void *osThreadId_t;
typedef void *osSemaphoreId_t;
typedef void *osMessageQueueId_t;
typedef void *osMutexId_t;
typedef void (*osThreadFunc_t)(void *);

typedef struct {
    const char *name;
    uint32_t attr_bits;
    void *cb_mem;
    uint32_t cb_size;
    void *stack_mem;
    uint32_t stack_size;
    osPriority_t priority;
} osThreadAttr_t;
typedef struct {
    const char *name;
    uint32_t attr_bits;
    void *cb_mem;
    uint32_t cb_size;
} osMutexAttr_t;
typedef struct {
    const char *name;
} osSemaphoreAttr_t;
typedef struct {
    const char *name;
} osMessageQueueAttr_t;

#define osWaitForever 0xFFFFFFFFu
#define osMutexPrioInherit 2u

osThreadId_t osThreadNew(osThreadFunc_t entry, void *argument, const osThreadAttr_t *attributes);
void osThreadExit(void);
osStatus_t osThreadYield(void);
osStatus_t osDelayUntil(uint32_t tick);
osSemaphoreId_t osSemaphoreNew(uint32_t most, uint32_t initial, const osSemaphoreAttr_t *attributes);
osStatus_t osSemaphoreAcquire(osSemaphoreId_t semaphore, uint32_t ticks);
osStatus_t osSemaphoreRelease(osSemaphoreId_t semaphore);
osMessageQueueId_t osMessageQueueNew(uint32_t count, uint32_t bytes,
                                     const osMessageQueueAttr_t *attributes);
osStatus_t osMessageQueuePut(osMessageQueueId_t queue, const void *message, uint8_t priority,
                             uint32_t ticks);
osStatus_t osMessageQueueGet(osMessageQueueId_t queue, void *message, uint8_t *priority,
                             uint32_t ticks);
osMutexId_t osMutexNew(const osMutexAttr_t *attributes);
osStatus_t osMutexAcquire(osMutexId_t mutex, uint32_t ticks);
osStatus_t osMutexRelease(osMutexId_t mutex);

#endif
