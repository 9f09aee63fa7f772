/* The parts that the files of the layer share. */
#ifndef LAYER_H
#define LAYER_H

#include "tandem_os2.h"

#if TANDEM_OS_CLOCK_HZ % TANDEM_OS_TICK_HZ != 0
#error "TANDEM_OS_CLOCK_HZ is a multiple of TANDEM_OS_TICK_HZ"
#endif

/* Ticks of the clock in a tick of the API. */
#define OS_PERIOD (TANDEM_OS_CLOCK_HZ / TANDEM_OS_TICK_HZ)

/* The kinds of control blocks: numbers that memory rarely holds by chance. */
enum {
    OS_THREAD = 0x7a4dce01,
    OS_TIMER,
    OS_EVENT_FLAGS,
    OS_MUTEX,
    OS_SEMAPHORE,
    OS_MESSAGE_QUEUE
};

/* The block of an id. NULL if the id is NULL, or of another kind. */
static inline void *os_object(void *id, uint32_t kind)
{
    const tandem_os_head *head = (const tandem_os_head *)id;
    return head != NULL && head->kind == kind ? id : NULL;
}

/* The name of an object. NULL if the id is not of that kind, and in a handler. */
const char *os_name(void *id, uint32_t kind);

/* The caller of a call. */
typedef enum {
    OS_EARLY,     /* the kernel does not run yet */
    OS_IN_THREAD, /* a call may wait */
    OS_LOCKED,    /* the thread has locked the kernel */
    OS_IN_HANDLER /* or in a critical section */
} os_caller_t;

extern osKernelState_t os_state;

static inline os_caller_t os_caller(void)
{
    if (os_state < osKernelRunning)
        return OS_EARLY;
    if (!tandem_may_wait())
        return OS_IN_HANDLER;
    return os_state == osKernelLocked ? OS_LOCKED : OS_IN_THREAD;
}

/* The result where a handler, or a program before the start, may not make the call. */
static inline osStatus_t os_refusal(os_caller_t caller)
{
    return caller == OS_IN_HANDLER ? osErrorISR : osError;
}

/* Ticks of the API from the start to now. */
uint64_t os_ticks(void);

/* The clock's time after a timeout. */
uint64_t os_due(uint32_t ticks);

/* Memory of the pool, aligned to 8 or to a higher power of two. NULL if there is none. */
void *os_pool(size_t size, size_t alignment);

/* Attributes with nothing set. */
extern const osTimerAttr_t os_no_attributes;

/* Whether memory of the attributes is a control block of that size. */
bool os_fits(const void *memory, uint32_t given, size_t size);

/* The control block of a new object: memory of the attributes, or of the pool, with more bytes of
 * the pool behind it. NULL if there is none, if it does not fit, and in a handler. */
void *os_block(uint32_t kind, const osTimerAttr_t *attr, size_t size, size_t more);

/* The threads of osThreadNew that have not ended; interrupts are masked. */
extern tandem_os_thread *os_threads;

/* The running thread, or in a handler the interrupted one. NULL if osThreadNew did not start it. */
tandem_os_thread *os_current(void);

/* The thread of osThreadNew with this record; NULL if there is none. */
tandem_os_thread *os_thread_of(const tandem_task *task);

/* The level of tandem for a priority from osPriorityIdle to osPriorityISR. */
unsigned os_level(osPriority_t priority);

/* Waits for flags of a group. The result is as for osEventFlagsWait. */
uint32_t os_wait_flags(tandem_group *group, uint32_t flags, uint32_t options, uint32_t timeout,
                       os_caller_t caller);

#endif
