/* CMSIS-RTOS2 on tandem: the calls that the layer offers, declared as the API publishes them.
 *
 * A program that uses these calls compiles unchanged. docs/tandem-c.md has the differences from
 * other implementations. In short:
 *
 *   - Not offered, so that a program with them does not compile: osThreadSuspend, osThreadResume,
 *     osKernelSuspend, osKernelResume, every os...Delete, osMessageQueueReset, memory pools.
 *     Objects are for ever.
 *   - osThreadTerminate ends the calling thread alone. For another, it returns osErrorResource.
 *   - osMutexNew returns NULL for a robust mutex. Every mutex inherits priorities.
 *   - osMessageQueuePut returns osErrorParameter for a message with a priority other than 0.
 *   - A handler and a critical section are the same to the layer: osErrorISR. A call that a handler
 *     may make accepts a timeout of 0 there.
 *
 * "Handlers too" means that a handler may make the call. All others return osErrorISR there, or
 * their own value for an error: NULL, 0, osFlagsErrorISR, osThreadError, osPriorityError. Before
 * osKernelStart, objects are made and used without waiting; calls for a running thread return
 * osError there. A timeout counts from the call, in whole ticks, never less. */
#ifndef CMSIS_OS2_H_
#define CMSIS_OS2_H_

#include <stddef.h>
#include <stdint.h>

#ifndef __NO_RETURN
#define __NO_RETURN __attribute__((__noreturn__))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Types ---- */

typedef enum {
    osOK = 0,
    osError = -1,
    osErrorTimeout = -2,
    osErrorResource = -3,
    osErrorParameter = -4,
    osErrorNoMemory = -5,
    osErrorISR = -6,
    osStatusReserved = 0x7FFFFFFF
} osStatus_t;

typedef enum {
    osKernelInactive = 0,
    osKernelReady = 1,
    osKernelRunning = 2,
    osKernelLocked = 3,
    osKernelSuspended = 4, /* never */
    osKernelError = -1,
    osKernelReserved = 0x7FFFFFFF
} osKernelState_t;

typedef enum {
    osThreadInactive = 0, /* never */
    osThreadReady = 1,
    osThreadRunning = 2,
    osThreadBlocked = 3,
    osThreadTerminated = 4,
    osThreadError = -1,
    osThreadReserved = 0x7FFFFFFF
} osThreadState_t;

/* Tandem has 32 priorities. Those from osPriority...4 to osPriority...7 of a name are one, and
 * everything below osPriorityLow is osPriorityIdle. All others differ, in their order. */
typedef enum {
    osPriorityNone = 0,
    osPriorityIdle = 1,
    osPriorityLow = 8,
    osPriorityLow1 = 9,
    osPriorityLow2 = 10,
    osPriorityLow3 = 11,
    osPriorityLow4 = 12,
    osPriorityLow5 = 13,
    osPriorityLow6 = 14,
    osPriorityLow7 = 15,
    osPriorityBelowNormal = 16,
    osPriorityBelowNormal1 = 17,
    osPriorityBelowNormal2 = 18,
    osPriorityBelowNormal3 = 19,
    osPriorityBelowNormal4 = 20,
    osPriorityBelowNormal5 = 21,
    osPriorityBelowNormal6 = 22,
    osPriorityBelowNormal7 = 23,
    osPriorityNormal = 24,
    osPriorityNormal1 = 25,
    osPriorityNormal2 = 26,
    osPriorityNormal3 = 27,
    osPriorityNormal4 = 28,
    osPriorityNormal5 = 29,
    osPriorityNormal6 = 30,
    osPriorityNormal7 = 31,
    osPriorityAboveNormal = 32,
    osPriorityAboveNormal1 = 33,
    osPriorityAboveNormal2 = 34,
    osPriorityAboveNormal3 = 35,
    osPriorityAboveNormal4 = 36,
    osPriorityAboveNormal5 = 37,
    osPriorityAboveNormal6 = 38,
    osPriorityAboveNormal7 = 39,
    osPriorityHigh = 40,
    osPriorityHigh1 = 41,
    osPriorityHigh2 = 42,
    osPriorityHigh3 = 43,
    osPriorityHigh4 = 44,
    osPriorityHigh5 = 45,
    osPriorityHigh6 = 46,
    osPriorityHigh7 = 47,
    osPriorityRealtime = 48,
    osPriorityRealtime1 = 49,
    osPriorityRealtime2 = 50,
    osPriorityRealtime3 = 51,
    osPriorityRealtime4 = 52,
    osPriorityRealtime5 = 53,
    osPriorityRealtime6 = 54,
    osPriorityRealtime7 = 55,
    osPriorityISR = 56,
    osPriorityError = -1,
    osPriorityReserved = 0x7FFFFFFF
} osPriority_t;

typedef enum { osTimerOnce = 0, osTimerPeriodic = 1 } osTimerType_t;

typedef struct {
    uint32_t api;
    uint32_t kernel;
} osVersion_t;

typedef void *osThreadId_t;
typedef void *osTimerId_t;
typedef void *osEventFlagsId_t;
typedef void *osMutexId_t;
typedef void *osSemaphoreId_t;
typedef void *osMessageQueueId_t;

typedef void (*osThreadFunc_t)(void *argument);
typedef void (*osTimerFunc_t)(void *argument);

typedef uint32_t TZ_ModuleId_t;

/* Attributes: all zeros, or NULL in their place, are the defaults. cb_mem is a control block of
 * tandem_os2.h, cb_size its size; without both, the layer's pool has it. */
typedef struct {
    const char *name;
    uint32_t attr_bits;
    void *cb_mem;
    uint32_t cb_size;
    /* Of any alignment. Of its size, the guard and the alignment of tandem.h are lost, up to 256
     * bytes; TANDEM_STACK defines a stack that loses the guard alone. */
    void *stack_mem;
    uint32_t stack_size;
    osPriority_t priority;   /* osPriorityNone is osPriorityNormal */
    TZ_ModuleId_t tz_module; /* without effect */
    uint32_t affinity_mask;  /* without effect: there is one core */
} osThreadAttr_t;

typedef struct {
    const char *name;
    uint32_t attr_bits;
    void *cb_mem;
    uint32_t cb_size;
} osTimerAttr_t;

typedef osTimerAttr_t osEventFlagsAttr_t;
typedef osTimerAttr_t osMutexAttr_t;
typedef osTimerAttr_t osSemaphoreAttr_t;

typedef struct {
    const char *name;
    uint32_t attr_bits;
    void *cb_mem;
    uint32_t cb_size;
    void *mq_mem;
    uint32_t mq_size;
} osMessageQueueAttr_t;

#define osWaitForever 0xFFFFFFFFU

#define osThreadDetached 0x00000000U
#define osThreadJoinable 0x00000001U

#define osMutexRecursive 0x00000001U
#define osMutexPrioInherit 0x00000002U
#define osMutexRobust 0x00000008U /* refused */

#define osFlagsWaitAny 0x00000000U
#define osFlagsWaitAll 0x00000001U
#define osFlagsNoClear 0x00000002U

#define osFlagsError 0x80000000U
#define osFlagsErrorUnknown 0xFFFFFFFFU
#define osFlagsErrorTimeout 0xFFFFFFFEU
#define osFlagsErrorResource 0xFFFFFFFDU
#define osFlagsErrorParameter 0xFFFFFFFCU
#define osFlagsErrorISR 0xFFFFFFFAU

/* ---- Kernel ---- */

osStatus_t osKernelInitialize(void);

/* The name is "Tandem". */
osStatus_t osKernelGetInfo(osVersion_t *version, char *id_buf, uint32_t id_size);

/* Handlers too. */
osKernelState_t osKernelGetState(void);

/* Does not return. */
osStatus_t osKernelStart(void);

/* No other thread runs until the kernel is unlocked. The caller has osPriorityISR meanwhile. A call
 * that would wait returns osErrorResource or, where the API has no such result, osError. The end of
 * the thread unlocks the kernel. */
int32_t osKernelLock(void);
int32_t osKernelUnlock(void);
int32_t osKernelRestoreLock(int32_t lock);

/* Handlers too. The first is 0 before the start, and costs a division of 64 bits. */
uint32_t osKernelGetTickCount(void);
uint32_t osKernelGetTickFreq(void);
uint32_t osKernelGetSysTimerCount(void);
uint32_t osKernelGetSysTimerFreq(void);

/* ---- Threads ---- */

/* Returns NULL also for a control block whose thread has not ended, and for a stack of less than
 * 192 bytes without the guard. The stack is filled for osThreadGetStackSpace. */
osThreadId_t osThreadNew(osThreadFunc_t func, void *argument, const osThreadAttr_t *attr);
const char *osThreadGetName(osThreadId_t thread_id);

/* Handlers too: the interrupted thread. NULL where none of osThreadNew runs. */
osThreadId_t osThreadGetId(void);

/* The state of a thread that has ended is osThreadTerminated until its memory is used again. */
osThreadState_t osThreadGetState(osThreadId_t thread_id);

/* The bytes above the guard. */
uint32_t osThreadGetStackSize(osThreadId_t thread_id);

/* The bytes that the thread has never used. */
uint32_t osThreadGetStackSpace(osThreadId_t thread_id);

osStatus_t osThreadSetPriority(osThreadId_t thread_id, osPriority_t priority);

/* The priority with what is inherited. An inherited osPriority...4 to 7 is osPriority...4. */
osPriority_t osThreadGetPriority(osThreadId_t thread_id);

osStatus_t osThreadYield(void);
osStatus_t osThreadDetach(osThreadId_t thread_id);
osStatus_t osThreadJoin(osThreadId_t thread_id);

/* In a handler, ends the program by tandem_panic. */
__NO_RETURN void osThreadExit(void);

/* Ends the caller, as osThreadExit. Any other thread goes on: osErrorResource. */
osStatus_t osThreadTerminate(osThreadId_t thread_id);

/* Threads of osThreadNew that have not ended, and the thread of the timers once there is one. */
uint32_t osThreadGetCount(void);
uint32_t osThreadEnumerate(osThreadId_t *thread_array, uint32_t array_items);

/* Handlers too. */
uint32_t osThreadFlagsSet(osThreadId_t thread_id, uint32_t flags);

uint32_t osThreadFlagsClear(uint32_t flags);
uint32_t osThreadFlagsGet(void);

/* Returns the flags as osEventFlagsWait does. */
uint32_t osThreadFlagsWait(uint32_t flags, uint32_t options, uint32_t timeout);

/* ---- Delays ---- */

/* osWaitForever is 2^32 - 1 ticks here, and in osTimerStart. */
osStatus_t osDelay(uint32_t ticks);

/* A time that has come, or is 2^31 ticks away, is osErrorParameter. */
osStatus_t osDelayUntil(uint32_t ticks);

/* ---- Timers: their functions run in a thread of the layer ---- */

osTimerId_t osTimerNew(osTimerFunc_t func, osTimerType_t type, void *argument,
                       const osTimerAttr_t *attr);
const char *osTimerGetName(osTimerId_t timer_id);
osStatus_t osTimerStart(osTimerId_t timer_id, uint32_t ticks);

/* A function that has begun is completed. */
osStatus_t osTimerStop(osTimerId_t timer_id);

uint32_t osTimerIsRunning(osTimerId_t timer_id);

/* ---- Event flags: handlers too, but for New and GetName ---- */

osEventFlagsId_t osEventFlagsNew(const osEventFlagsAttr_t *attr);
const char *osEventFlagsGetName(osEventFlagsId_t ef_id);

/* Returns the flags after the threads that they wake have taken theirs. */
uint32_t osEventFlagsSet(osEventFlagsId_t ef_id, uint32_t flags);

uint32_t osEventFlagsClear(osEventFlagsId_t ef_id, uint32_t flags);
uint32_t osEventFlagsGet(osEventFlagsId_t ef_id);

/* Returns the flags that ended the wait, and with them the other flags that are set when the thread
 * goes on. */
uint32_t osEventFlagsWait(osEventFlagsId_t ef_id, uint32_t flags, uint32_t options,
                          uint32_t timeout);

/* ---- Mutexes ---- */

osMutexId_t osMutexNew(const osMutexAttr_t *attr);
const char *osMutexGetName(osMutexId_t mutex_id);

/* A thread that owns a mutex without osMutexRecursive has osErrorResource at once. A thread that
 * waits for a mutex whose owner ends, or has ended, ends the program by tandem_panic. */
osStatus_t osMutexAcquire(osMutexId_t mutex_id, uint32_t timeout);

osStatus_t osMutexRelease(osMutexId_t mutex_id);
osThreadId_t osMutexGetOwner(osMutexId_t mutex_id);

/* ---- Semaphores: handlers too, but for New and GetName ---- */

osSemaphoreId_t osSemaphoreNew(uint32_t max_count, uint32_t initial_count,
                               const osSemaphoreAttr_t *attr);
const char *osSemaphoreGetName(osSemaphoreId_t semaphore_id);
osStatus_t osSemaphoreAcquire(osSemaphoreId_t semaphore_id, uint32_t timeout);
osStatus_t osSemaphoreRelease(osSemaphoreId_t semaphore_id);
uint32_t osSemaphoreGetCount(osSemaphoreId_t semaphore_id);

/* ---- Message queues: handlers too, but for New and GetName ---- */

osMessageQueueId_t osMessageQueueNew(uint32_t msg_count, uint32_t msg_size,
                                     const osMessageQueueAttr_t *attr);
const char *osMessageQueueGetName(osMessageQueueId_t mq_id);
osStatus_t osMessageQueuePut(osMessageQueueId_t mq_id, const void *msg_ptr, uint8_t msg_prio,
                             uint32_t timeout);
osStatus_t osMessageQueueGet(osMessageQueueId_t mq_id, void *msg_ptr, uint8_t *msg_prio,
                             uint32_t timeout);
uint32_t osMessageQueueGetCapacity(osMessageQueueId_t mq_id);
uint32_t osMessageQueueGetMsgSize(osMessageQueueId_t mq_id);
uint32_t osMessageQueueGetCount(osMessageQueueId_t mq_id);
uint32_t osMessageQueueGetSpace(osMessageQueueId_t mq_id);

#ifdef __cplusplus
}
#endif

#endif
