/* Tandem: a real-time kernel for one core. The interface for C programs.
 *
 * Link with libtandem_c.a, which contains the kernel. The program defines the three functions under
 * "What the program defines", and calls tandem_expire in the handler of its alarm. With a start-up
 * file whose handlers have CMSIS names, link cmsis.ld as well. The program enables the FPU, if its
 * code uses one, before tandem_start. A linker script that defines __sheap, the end of the statics,
 * has the stack of main and of the handlers guarded, too.
 *
 * Words used below:
 *   thread        a task with a stack of its own, which may wait
 *   handler       the handler of an interrupt
 *   priority      0 to 31; a higher number is more urgent
 *   due           a time in ticks of tandem_board_now
 *
 * Objects (tandem_task, tandem_semaphore ...) are initialized once, before their first use, and
 * stay in place from then on, in static memory. Their content belongs to the kernel.
 *
 * "Waits" means that the call may block the thread. Such a call ends the program by tandem_panic in
 * a handler, in a critical section and before tandem_start. All other calls may be made anywhere.
 */
#ifndef TANDEM_H
#define TANDEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define TANDEM_NORETURN [[noreturn]]
#else
#define TANDEM_NORETURN __attribute__((noreturn))
#endif

/* The sizes of the objects, in words. The library does not compile if one is too small. */
#define TANDEM_TASK_WORDS 16
#define TANDEM_SEMAPHORE_WORDS 2
#define TANDEM_MUTEX_WORDS 4
#define TANDEM_EVENT_WORDS 4
#define TANDEM_QUEUE_WORDS 8
#define TANDEM_GROUP_WORDS 3
#define TANDEM_CONDVAR_WORDS 3
#define TANDEM_STREAM_WORDS 14
#define TANDEM_TIMERS_WORDS 7
#define TANDEM_TIMER_DOUBLE_WORDS 10

typedef struct { uintptr_t word[TANDEM_TASK_WORDS]; } tandem_task;
typedef struct { uintptr_t word[TANDEM_SEMAPHORE_WORDS]; } tandem_semaphore;
typedef struct { uintptr_t word[TANDEM_MUTEX_WORDS]; } tandem_mutex;
typedef struct { uintptr_t word[TANDEM_EVENT_WORDS]; } tandem_event;
typedef struct { uintptr_t word[TANDEM_QUEUE_WORDS]; } tandem_queue;
typedef struct { uintptr_t word[TANDEM_GROUP_WORDS]; } tandem_group;
typedef struct { uintptr_t word[TANDEM_CONDVAR_WORDS]; } tandem_condvar;
typedef struct { uintptr_t word[TANDEM_STREAM_WORDS]; } tandem_stream;
typedef struct { uintptr_t word[TANDEM_TIMERS_WORDS]; } tandem_timers;
typedef struct { uint64_t word[TANDEM_TIMER_DOUBLE_WORDS]; } tandem_timer;

/* ---- What the program defines ---- */

/* The time in ticks: monotonic, never wraps. Called with interrupts masked. A narrower counter is
 * extended to 64 bits by counting its wraps, for which it must be read at least once a period. */
uint64_t tandem_board_now(void);

/* Sets the alarm, in place of an earlier one: an interrupt at due, at once if that has come. Its
 * handler clears the interrupt's cause and calls tandem_expire. Called with interrupts masked. An
 * alarm that comes early is harmless: tandem_expire sets it again. A timer too narrow for due
 * interrupts at the end of its range. */
void tandem_board_arm(uint64_t due);

/* Ends the program, with a message of length bytes: misuse of a call, or a stack overflow. */
TANDEM_NORETURN void tandem_panic(const char *message, size_t length);

/* ---- The kernel ---- */

/* The low end of every stack, in bytes: no access is allowed there while the stack is in use. A
 * function whose frame is larger can pass over it unnoticed. */
#if defined(__riscv)
#define TANDEM_GUARD 64
#elif defined(__ARM_ARCH_8M_MAIN__)
#define TANDEM_GUARD 40
#elif defined(__ARM_ARCH_7EM__)
#define TANDEM_GUARD 128
#else
#define TANDEM_GUARD 32
#endif

/* The alignment of the low end of every stack. */
#if defined(__ARM_ARCH_7EM__)
#define TANDEM_GUARD_ALIGN 128
#else
#define TANDEM_GUARD_ALIGN 32
#endif

/* Defines NAME, storage for a stack of BYTES bytes: a multiple of 8. */
#define TANDEM_STACK(NAME, BYTES) \
    static uint8_t NAME[TANDEM_GUARD + (BYTES)] __attribute__((aligned(TANDEM_GUARD_ALIGN)))

/* Starts the kernel: runs set_up with interrupts masked, then the most urgent thread. stack is for
 * the idle task, of at least 128 bytes and one interrupt's frame. From here on, the stack of main
 * serves handlers. Once. */
TANDEM_NORETURN void tandem_start(void *stack, size_t size, void (*set_up)(void));

/* Wakes the threads whose time has come, and sets the alarm for the next. For the alarm's handler;
 * harmless anywhere else. */
void tandem_expire(void);

/* The time in ticks. */
uint64_t tandem_now(void);

/* The version: 10,000,000 times the first number, 10,000 times the second, and the third. */
uint32_t tandem_version(void);

/* Whether a call that waits may be made here: in a thread, and not in a critical section. */
bool tandem_may_wait(void);

/* The running thread, or in a handler the interrupted one. Another record than the program's where
 * there is none. */
const tandem_task *tandem_current(void);

/* Masks interrupts, and restores their state. Sections nest. */
uint32_t tandem_enter(void);
void tandem_exit(uint32_t state);

/* ---- Threads ---- */

/* Starts a thread that runs body(argument) and ends when that returns. A more urgent one than the
 * caller runs at once. stack is defined by TANDEM_STACK, size is its sizeof; name stays valid.
 * Returns false if the task's earlier thread has not ended. */
bool tandem_spawn(tandem_task *task, void *stack, size_t size, unsigned priority, const char *name,
                  void (*body)(void *argument), void *argument);

/* An alive task has been spawned and has not ended. A record is zeroed before its first use, as
 * static memory is. */
bool tandem_is_alive(const tandem_task *task);

/* A ready task runs, or runs as soon as no other is more urgent; one that is not waits or has
 * ended. */
bool tandem_is_ready(const tandem_task *task);

/* Ends the calling thread, as a return from its body does; not in a critical section. Mutexes that
 * it owns stay locked for ever. */
TANDEM_NORETURN void tandem_end(void);

/* The priority, with what is inherited. */
unsigned tandem_priority(const tandem_task *task);

/* Changes a thread's own priority; for threads. Returns false if it has ended. */
bool tandem_set_priority(tandem_task *task, unsigned priority);

/* Waits until the thread has ended, so that its record and stack can be used again. Ends the
 * program if it is the caller. */
void tandem_join(const tandem_task *task);

/* Returns false if it had not ended by due. */
bool tandem_join_until(const tandem_task *task, uint64_t due);

/* Prepares a stack for tandem_stack_unused, before its thread is spawned. */
void tandem_stack_paint(void *stack, size_t size);

/* The bytes of a painted stack that its thread has not used so far: its high-water mark. */
size_t tandem_stack_unused(void *stack, size_t size);

/* Lets the next ready thread of the same priority run. In a handler or a critical section, no
 * effect. */
void tandem_yield(void);

/* Waits until due. */
void tandem_delay_until(uint64_t due);

/* Waits for a number of ticks. */
void tandem_delay(uint64_t ticks);

/* ---- Semaphores: a count, or the threads that wait for it ---- */

void tandem_semaphore_init(tandem_semaphore *semaphore, uint32_t count);

/* The count. */
uint32_t tandem_semaphore_count(const tandem_semaphore *semaphore);

/* Adds one to the count, or hands it to the most urgent waiter. */
void tandem_semaphore_give(tandem_semaphore *semaphore);

/* Takes one if the count is not 0. */
bool tandem_semaphore_try_take(tandem_semaphore *semaphore);

/* Takes one; waits while the count is 0. */
void tandem_semaphore_take(tandem_semaphore *semaphore);

/* Returns false if the count was 0 until due. */
bool tandem_semaphore_take_until(tandem_semaphore *semaphore, uint64_t due);

/* ---- Mutexes, with priority inheritance; for threads ---- */

void tandem_mutex_init(tandem_mutex *mutex);

/* Waits while another thread owns the mutex. Ends the program if the caller owns it already, or if
 * the owner has ended. */
void tandem_mutex_lock(tandem_mutex *mutex);

/* Returns false if another thread owned it until due. */
bool tandem_mutex_lock_until(tandem_mutex *mutex, uint64_t due);

/* Returns false if the mutex is owned. For threads; ends the program elsewhere. */
bool tandem_mutex_try_lock(tandem_mutex *mutex);

/* Ends the program if the caller does not own the mutex. */
void tandem_mutex_unlock(tandem_mutex *mutex);

/* ---- Condition variables; for threads that own a mutex ---- */

void tandem_condvar_init(tandem_condvar *condvar);

/* Wakes the most urgent thread that waits, or all. */
void tandem_condvar_notify_one(tandem_condvar *condvar);
void tandem_condvar_notify_all(tandem_condvar *condvar);

/* Unlocks the mutex, waits until notified, and locks the mutex again. Ends the program if the caller
 * does not own the mutex. */
void tandem_condvar_wait(tandem_condvar *condvar, tandem_mutex *mutex);

/* Returns false if it was not notified until due. The mutex is locked again in any case. */
bool tandem_condvar_wait_until(tandem_condvar *condvar, tandem_mutex *mutex, uint64_t due);

/* ---- Events: 32 flags for one thread ---- */

void tandem_event_init(tandem_event *event);

/* Raises flags, and wakes the thread that waits. */
void tandem_event_signal(tandem_event *event, uint32_t flags);

/* Takes the flags that are raised; waits for one. Ends the program if another thread waits. */
uint32_t tandem_event_wait(tandem_event *event);

/* Returns 0 if no flag was raised until due. */
uint32_t tandem_event_wait_until(tandem_event *event, uint64_t due);

/* Takes the flags that are raised; 0 if there are none. */
uint32_t tandem_event_try_wait(tandem_event *event);

/* ---- Groups: 32 flags for any number of threads, which stay set until they are cleared ---- */

void tandem_group_init(tandem_group *group);

/* Sets flags, and wakes the threads whose wait they end. A step for each thread that waits. */
void tandem_group_set(tandem_group *group, uint32_t flags);

/* Clears flags. Returns those that were set before. */
uint32_t tandem_group_clear(tandem_group *group, uint32_t flags);

/* What to wait for, added: any of the flags is the default; all of them; and clear those that end
 * the wait, in that moment. */
#define TANDEM_ALL 1u
#define TANDEM_TAKE 2u

/* The result of a wait that ends at once; 0 if it would not. */
uint32_t tandem_group_try_wait(tandem_group *group, uint32_t flags, unsigned options);

/* Waits for flags, which are not 0. Returns those that ended the wait. */
uint32_t tandem_group_wait(tandem_group *group, uint32_t flags, unsigned options);

/* Returns 0 if the wait had not ended by due. */
uint32_t tandem_group_wait_until(tandem_group *group, uint32_t flags, unsigned options,
                                 uint64_t due);

/* ---- Timers that call a function, in the thread that runs them ---- */

void tandem_timers_init(tandem_timers *timers);

/* Runs the timers, for ever; for the body of one thread, at whose priority functions run. */
TANDEM_NORETURN void tandem_timers_run(tandem_timers *timers);

/* Makes a stopped timer. */
void tandem_timer_init(tandem_timer *timer, tandem_timers *timers, void (*function)(void *argument),
                       void *argument);

/* Calls the function at due, once; or at due and every period ticks, at least 1, from then on. */
void tandem_timer_start_once(tandem_timer *timer, uint64_t due);
void tandem_timer_start_periodic(tandem_timer *timer, uint64_t due, uint64_t period);

/* A call that has begun is completed; another does not begin. */
void tandem_timer_stop(tandem_timer *timer);

/* Whether a call is to come. */
bool tandem_timer_is_running(const tandem_timer *timer);

/* ---- Queues of messages, which are copied, with interrupts masked ---- */

/* Makes a queue of at most count messages of size bytes, in storage of count * size bytes. */
void tandem_queue_init(tandem_queue *queue, void *storage, size_t size, size_t count);

/* The number of messages in the queue. */
size_t tandem_queue_count(const tandem_queue *queue);

/* Sends the message at the address; waits while the queue is full. */
void tandem_queue_send(tandem_queue *queue, const void *message);

/* Returns false if the queue was full until due. */
bool tandem_queue_send_until(tandem_queue *queue, const void *message, uint64_t due);

/* Returns false if the queue is full. */
bool tandem_queue_try_send(tandem_queue *queue, const void *message);

/* Receives a message into the address; waits while the queue is empty. */
void tandem_queue_receive(tandem_queue *queue, void *message);

/* Returns false if the queue was empty until due. */
bool tandem_queue_receive_until(tandem_queue *queue, void *message, uint64_t due);

/* Returns false if the queue is empty. */
bool tandem_queue_try_receive(tandem_queue *queue, void *message);

/* ---- Streams of bytes: one context at a time writes, and one reads ----
 *
 * Bytes are copied with interrupts on. A second writer or reader at the same time ends the
 * program. */

/* Makes an empty stream, in storage of size bytes: at least 5. */
void tandem_stream_init(tandem_stream *stream, void *storage, size_t size);

/* Writes as many bytes as there is space for. Returns their number. */
size_t tandem_stream_try_write(tandem_stream *stream, const void *bytes, size_t count);

/* Writes all bytes; waits whenever the ring is full. */
void tandem_stream_write(tandem_stream *stream, const void *bytes, size_t count);

/* Returns the number of bytes written until due. */
size_t tandem_stream_write_until(tandem_stream *stream, const void *bytes, size_t count,
                                 uint64_t due);

/* Reads as many bytes as there are and fit. Returns their number. */
size_t tandem_stream_try_read(tandem_stream *stream, void *bytes, size_t count);

/* The same, and waits until there are level bytes at least, or as many as fit. */
size_t tandem_stream_read(tandem_stream *stream, void *bytes, size_t count, size_t level);

/* Waits until due at the latest; may return fewer bytes than level. */
size_t tandem_stream_read_until(tandem_stream *stream, void *bytes, size_t count, size_t level,
                                uint64_t due);

/* ---- Messages of any length, each received whole, in a stream used for nothing else ----
 *
 * A message takes its size and 4 bytes of the storage. One that never fits ends the program. */

/* Returns false if there is no space. */
bool tandem_message_try_send(tandem_stream *buffer, const void *message, size_t size);

/* Waits until there is space. */
void tandem_message_send(tandem_stream *buffer, const void *message, size_t size);

/* Returns false if there was no space until due. */
bool tandem_message_send_until(tandem_stream *buffer, const void *message, size_t size,
                               uint64_t due);

/* Receives a message into *size bytes, and sets *size to its size. Returns false if there is none. */
bool tandem_message_try_receive(tandem_stream *buffer, void *message, size_t *size);

/* Waits for a message. */
void tandem_message_receive(tandem_stream *buffer, void *message, size_t *size);

/* Returns false if there was none until due. */
bool tandem_message_receive_until(tandem_stream *buffer, void *message, size_t *size, uint64_t due);

#ifdef __cplusplus
}
#endif

#endif
