/* Declarations of what threadx.c uses of ThreadX, written for Chronoscope: they check that the port
 * compiles, and are no part of ThreadX. */
#ifndef TX_API_H
#define TX_API_H

#define VOID void
typedef char CHAR;
typedef unsigned int UINT;
typedef unsigned long ULONG;

typedef struct {
    ULONG tx_thread_run_count;
} TX_THREAD;
typedef struct {
    ULONG tx_semaphore_id;
} TX_SEMAPHORE;
typedef struct {
    ULONG tx_queue_id;
} TX_QUEUE;
typedef struct {
    ULONG tx_mutex_id;
} TX_MUTEX;

#define TX_SUCCESS 0u
#define TX_NO_TIME_SLICE 0ul
#define TX_AUTO_START 1u
#define TX_WAIT_FOREVER 0xFFFFFFFFul
#define TX_1_ULONG 1u
#define TX_INHERIT 1u
#define TX_NO_INHERIT 0u

UINT tx_thread_create(TX_THREAD *thread, CHAR *name, VOID (*entry)(ULONG), ULONG input,
                      VOID *stack, ULONG bytes, UINT priority, UINT threshold, ULONG slice,
                      UINT start);
TX_THREAD *tx_thread_identify(VOID);
VOID tx_thread_relinquish(VOID);
UINT tx_thread_sleep(ULONG ticks);
ULONG tx_time_get(VOID);
UINT tx_semaphore_create(TX_SEMAPHORE *semaphore, CHAR *name, ULONG initial);
UINT tx_semaphore_get(TX_SEMAPHORE *semaphore, ULONG wait);
UINT tx_semaphore_put(TX_SEMAPHORE *semaphore);
UINT tx_queue_create(TX_QUEUE *queue, CHAR *name, UINT words, VOID *memory, ULONG bytes);
UINT tx_queue_send(TX_QUEUE *queue, VOID *message, ULONG wait);
UINT tx_queue_receive(TX_QUEUE *queue, VOID *message, ULONG wait);
UINT tx_mutex_create(TX_MUTEX *mutex, CHAR *name, UINT inherit);
UINT tx_mutex_get(TX_MUTEX *mutex, ULONG wait);
UINT tx_mutex_put(TX_MUTEX *mutex);

#endif
