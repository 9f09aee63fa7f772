/* The settings of CMSIS-RTOS2 on tandem, and its control blocks for static memory:
 *
 *     static tandem_os_semaphore block;
 *     static const osSemaphoreAttr_t attributes = {.cb_mem = &block, .cb_size = sizeof block};
 *
 * The content of a control block belongs to the layer. A thread's block and stack can be used for
 * another thread once it has ended; every other block is in use for ever. */
#ifndef TANDEM_OS2_H
#define TANDEM_OS2_H

#include "cmsis_os2.h"
#include "tandem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Settings: the same for all files of the layer ---- */

/* Ticks of tandem_board_now in a second: a multiple of TANDEM_OS_TICK_HZ, below 2^32. */
#ifndef TANDEM_OS_CLOCK_HZ
#error "define TANDEM_OS_CLOCK_HZ, the ticks of tandem_board_now in a second"
#endif

/* Ticks of the API in a second. */
#ifndef TANDEM_OS_TICK_HZ
#define TANDEM_OS_TICK_HZ 1000
#endif

/* The bytes of the pool for objects without memory in their attributes. Threads whose block and
 * stack are both from the pool give them back when they have ended, the joinable ones when they
 * have been joined. 0: every object has its own memory. */
#ifndef TANDEM_OS_POOL
#define TANDEM_OS_POOL 8192
#endif

/* The bytes of a stack from the pool where the attributes have no size. */
#ifndef TANDEM_OS_STACK
#define TANDEM_OS_STACK 1024
#endif

/* The stack and the priority of the thread that runs the timers' functions. Programs without
 * osTimerNew do not have it. */
#ifndef TANDEM_OS_TIMER_STACK
#define TANDEM_OS_TIMER_STACK 1024
#endif
#ifndef TANDEM_OS_TIMER_PRIORITY
#define TANDEM_OS_TIMER_PRIORITY osPriorityHigh
#endif

/* The stack of the idle task: an interrupt's frame and 128 bytes. */
#ifndef TANDEM_OS_IDLE_STACK
#define TANDEM_OS_IDLE_STACK 256
#endif

/* ---- Control blocks ---- */

typedef struct {
    uint32_t kind;
    const char *name;
} __attribute__((aligned(8))) tandem_os_head;

/* What is to happen with a thread's memory at its end. */
typedef enum { TANDEM_OS_DETACHED, TANDEM_OS_JOINABLE, TANDEM_OS_JOINING } tandem_os_join;

typedef struct tandem_os_thread {
    tandem_os_head head;
    tandem_task task;
    tandem_group flags;
    struct tandem_os_thread *next;
    osThreadFunc_t func;
    void *argument;
    uint8_t *stack; /* with the guard */
    size_t size;
    osPriority_t priority;
    tandem_os_join join;
    bool ended, pooled;
} tandem_os_thread;

typedef struct {
    tandem_os_head head;
    tandem_timer timer;
    osTimerType_t type;
} tandem_os_timer;

typedef struct {
    tandem_os_head head;
    tandem_group group;
} tandem_os_event_flags;

typedef struct {
    tandem_os_head head;
    tandem_mutex mutex;
    const tandem_task *owner;
    uint32_t depth;
    bool recursive;
} tandem_os_mutex;

typedef struct {
    tandem_os_head head;
    tandem_semaphore semaphore;
    uint32_t most;
} tandem_os_semaphore;

typedef struct {
    tandem_os_head head;
    tandem_queue queue;
    uint32_t size;
    uint32_t capacity;
} tandem_os_message_queue;

#ifdef __cplusplus
}
#endif

#endif
