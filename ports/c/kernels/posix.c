/* Chronoscope's port to POSIX threads: Linux, NuttX, QNX, RTEMS. A program of its own: the request
 * is its command line, the stream its standard output.
 *
 * Semaphores are sem_t. With CHRONO_POSIX_FUTEX, on Linux, they are a futex with a count and a number
 * of waiters, as in the port to Linux that is written in Rust. Build the library for call64.
 *
 * The clock is CLOCK_MONOTONIC in nanoseconds. A word instruction_ns=N of the command line, N a power of
 * two, makes a tick an instruction of N ns: for emulators that give every instruction the same time.
 *
 * All tasks run on one processor, the last one that the program may use. Urgent tasks have
 * SCHED_FIFO from the priority CHRONO_POSIX_PRIORITY on; without the permission they have the
 * ordinary class, and the evidence fails. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define CHRONO_CLOCK_64
#include "chronoscope.h"

#ifdef CHRONO_POSIX_FUTEX
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#endif

/* The priority of the least urgent urgent task. */
#ifndef CHRONO_POSIX_PRIORITY
#define CHRONO_POSIX_PRIORITY 80
#endif

/* How this file was compiled, for the build text. */
#ifndef CHRONO_OPTIONS
#define CHRONO_OPTIONS "options unknown"
#endif

/* ---- Clock and output ------------------------------------------------------------------------ */

/* The binary logarithm of a tick's nanoseconds. */
static unsigned shift;

/* The time of a clock in ticks. */
static inline uint64_t ticks_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) >> shift;
}

uint64_t chrono_clock_read(void)
{
    return ticks_of(CLOCK_MONOTONIC);
}

uint64_t chrono_clock_now(void)
{
    return chrono_clock_read();
}

void chrono_write(const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t written = write(STDOUT_FILENO, bytes, count);
        if (written < 0 && errno != EINTR)
            _exit(1);
        if (written > 0) {
            bytes += written;
            count -= (size_t)written;
        }
    }
}

void chrono_fail(const char *complaint, size_t length)
{
    fprintf(stderr, "%.*s\n", (int)length, complaint);
    exit(1);
}

/* Ends the program with a complaint about a call that failed. */
static void check(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", what, strerror(error));
        exit(1);
    }
}

/* ---- Tasks ----------------------------------------------------------------------------------- */

struct task {
    pthread_t thread;
    void (*entry)(void *);
    void *argument;
    pthread_t creator;
    struct task *next;
};

/* Tasks that nobody has waited for, the oldest first. Only one task at a time creates tasks. */
static struct task *tasks, **end = &tasks;

/* Urgent tasks that were asked for, and those that have the class. */
static uint32_t asked, granted;

static void *enter(void *argument)
{
    const struct task *task = (const struct task *)argument;
    task->entry(task->argument);
    return NULL;
}

static int create(struct task *task, const pthread_attr_t *attributes)
{
    return pthread_create(&task->thread, attributes, enter, task);
}

/* The least stack of a thread, and the 64 KiB of a task's calls of the C library. */
static size_t stack_bytes(void)
{
    return (size_t)PTHREAD_STACK_MIN + 64 * 1024;
}

bool chrono_spawn(void (*entry)(void *), void *argument, chrono_priority priority)
{
    struct task *task = (struct task *)malloc(sizeof *task);
    if (task == NULL)
        return false;
    task->entry = entry;
    task->argument = argument;
    task->creator = pthread_self();
    task->next = NULL;
    pthread_attr_t attributes;
    check(pthread_attr_init(&attributes), "pthread_attr_init");
    check(pthread_attr_setstacksize(&attributes, stack_bytes()), "pthread_attr_setstacksize");
    int error = EPERM;
    if (priority > CHRONO_ORDINARY) {
        struct sched_param urgent;
        memset(&urgent, 0, sizeof urgent);
        urgent.sched_priority = CHRONO_POSIX_PRIORITY + priority - 2;
        check(pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED), "inheritance");
        check(pthread_attr_setschedpolicy(&attributes, SCHED_FIFO), "SCHED_FIFO");
        check(pthread_attr_setschedparam(&attributes, &urgent), "CHRONO_POSIX_PRIORITY");
        asked++;
        error = create(task, &attributes);
        granted += error == 0;
        check(pthread_attr_setinheritsched(&attributes, PTHREAD_INHERIT_SCHED), "inheritance");
    }
    if (error == EPERM)
        error = create(task, &attributes);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        free(task);
        return false;
    }
    *end = task;
    end = &task->next;
    return true;
}

bool chrono_reap(void)
{
    struct task **place = &tasks;
    while (*place != NULL && !pthread_equal((*place)->creator, pthread_self()))
        place = &(*place)->next;
    struct task *task = *place;
    if (task == NULL)
        return false;
    *place = task->next;
    if (task->next == NULL)
        end = place;
    check(pthread_join(task->thread, NULL), "pthread_join");
    free(task);
    return true;
}

void chrono_yield(void)
{
    sched_yield();
}

void chrono_delay_until(uint64_t due)
{
    due <<= shift;
    const struct timespec at = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
        ;
}

uint32_t chrono_switches(void)
{
#ifdef RUSAGE_THREAD
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (uint32_t)(usage.ru_nvcsw + usage.ru_nivcsw);
#else
    return UINT32_MAX;
#endif
}

uint64_t chrono_processor_time(void)
{
    return ticks_of(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- Semaphores ------------------------------------------------------------------------------ */

#ifdef CHRONO_POSIX_FUTEX

#define SEMAPHORES "futex"

struct semaphore {
    _Atomic uint32_t count;
    _Atomic uint32_t waiters;
};

chrono_object chrono_semaphore(uint32_t initial)
{
    struct semaphore *semaphore = (struct semaphore *)chrono_alloc(sizeof *semaphore);
    if (semaphore != NULL)
        atomic_store(&semaphore->count, initial);
    return semaphore;
}

/* Takes one if there is one. */
static inline bool take_one(struct semaphore *semaphore)
{
    uint32_t count = atomic_load_explicit(&semaphore->count, memory_order_relaxed);
    while (count > 0)
        if (atomic_compare_exchange_weak(&semaphore->count, &count, count - 1))
            return true;
    return false;
}

void chrono_take(chrono_object object)
{
    struct semaphore *semaphore = (struct semaphore *)object;
    while (!take_one(semaphore)) {
        atomic_fetch_add(&semaphore->waiters, 1);
        syscall(SYS_futex, &semaphore->count, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
        atomic_fetch_sub(&semaphore->waiters, 1);
    }
}

void chrono_give(chrono_object object)
{
    struct semaphore *semaphore = (struct semaphore *)object;
    atomic_fetch_add(&semaphore->count, 1);
    if (atomic_load(&semaphore->waiters) > 0)
        syscall(SYS_futex, &semaphore->count, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#else

#define SEMAPHORES "sem_t"

chrono_object chrono_semaphore(uint32_t initial)
{
    sem_t *semaphore = (sem_t *)chrono_alloc(sizeof *semaphore);
    if (semaphore != NULL && sem_init(semaphore, 0, initial) != 0)
        return NULL;
    return semaphore;
}

void chrono_take(chrono_object semaphore)
{
    while (sem_wait((sem_t *)semaphore) != 0)
        ;
}

void chrono_give(chrono_object semaphore)
{
    sem_post((sem_t *)semaphore);
}

#endif

/* No handler of this port gives: it has no interrupts. */
void chrono_give_from_handler(chrono_object semaphore)
{
    chrono_give(semaphore);
}

/* ---- Messages: a ring between two semaphores -------------------------------------------------- */

struct queue {
    chrono_object filled;
    chrono_object free;
    uint32_t capacity;
    uint32_t head;
    uint32_t tail;
    uint32_t words[];
};

chrono_object chrono_queue(uint32_t capacity)
{
    struct queue *queue =
        (struct queue *)chrono_alloc(sizeof *queue + capacity * sizeof(uint32_t));
    if (queue == NULL)
        return NULL;
    queue->capacity = capacity;
    queue->filled = chrono_semaphore(0);
    queue->free = chrono_semaphore(capacity);
    return queue->filled != NULL && queue->free != NULL ? queue : NULL;
}

void chrono_send(chrono_object object, uint32_t word)
{
    struct queue *queue = (struct queue *)object;
    chrono_take(queue->free);
    queue->words[queue->tail] = word;
    queue->tail = queue->tail + 1 == queue->capacity ? 0 : queue->tail + 1;
    chrono_give(queue->filled);
}

uint32_t chrono_receive(chrono_object object)
{
    struct queue *queue = (struct queue *)object;
    chrono_take(queue->filled);
    const uint32_t word = queue->words[queue->head];
    queue->head = queue->head + 1 == queue->capacity ? 0 : queue->head + 1;
    chrono_give(queue->free);
    return word;
}

/* ---- Mutexes --------------------------------------------------------------------------------- */

chrono_object chrono_mutex(uint32_t protocol, chrono_priority ceiling)
{
    pthread_mutex_t *mutex = (pthread_mutex_t *)chrono_alloc(sizeof *mutex);
    pthread_mutexattr_t attributes;
    if (mutex == NULL)
        return NULL;
    pthread_mutexattr_init(&attributes);
    int error = 0;
    if (protocol == CHRONO_INHERITANCE)
        error = pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    if (protocol == CHRONO_CEILING) {
        error = pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT);
        if (error == 0)
            error = pthread_mutexattr_setprioceiling(&attributes, CHRONO_POSIX_PRIORITY + ceiling - 2);
    }
    if (error == 0)
        error = pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return error == 0 ? (chrono_object)mutex : NULL;
}

void chrono_lock(chrono_object mutex)
{
    check(pthread_mutex_lock((pthread_mutex_t *)mutex), "pthread_mutex_lock");
}

void chrono_unlock(chrono_object mutex)
{
    check(pthread_mutex_unlock((pthread_mutex_t *)mutex), "pthread_mutex_unlock");
}

/* ---- Start ----------------------------------------------------------------------------------- */

void chrono_report(void)
{
    chrono_evidence("urgent tasks with a real-time class", granted, asked, asked);
}

/* Keeps all threads on the last processor. */
static void choose_processor(void)
{
#ifdef __linux__
    cpu_set_t all, one;
    check(sched_getaffinity(0, sizeof all, &all) == 0 ? 0 : errno, "sched_getaffinity");
    int cpu = CPU_SETSIZE - 1;
    while (cpu > 0 && !CPU_ISSET(cpu, &all))
        cpu--;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    check(sched_setaffinity(0, sizeof one, &one) == 0 ? 0 : errno, "sched_setaffinity");
#endif
}

/* Reads the word instruction_ns=N. Returns false if it is another word. */
static bool reads_clock(const char *word)
{
    static const char key[] = "instruction_ns=";
    if (strncmp(word, key, sizeof key - 1) != 0)
        return false;
    const unsigned long nanoseconds = strtoul(word + sizeof key - 1, NULL, 10);
    const bool is_power = nanoseconds > 0 && (nanoseconds & (nanoseconds - 1)) == 0;
    check(is_power ? 0 : EINVAL, "instruction_ns");
    while (1ul << shift < nanoseconds)
        shift++;
    return true;
}

int main(int count, char **words)
{
    static uint64_t memory[(64u << 20) / sizeof(uint64_t)] __attribute__((aligned(16)));
    static char request[512];
    static struct utsname system;
    size_t length = 0;
    bool counts_instructions = false;
    for (int word = 1; word < count; word++) {
        if (reads_clock(words[word])) {
            counts_instructions = true;
            continue;
        }
        const int more = snprintf(request + length, sizeof request - length, "%s%s",
                                  length > 0 ? " " : "", words[word]);
        check(more < 0 || (size_t)more >= sizeof request - length ? E2BIG : 0, "the request");
        length += (size_t)more;
    }
    choose_processor();
    uname(&system);
    /* Without the permission, page faults fall into samples. */
    (void)mlockall(MCL_CURRENT | MCL_FUTURE);
    static chrono_target target;
    target.abi = CHRONO_ABI;
    target.domain = counts_instructions ? CHRONO_INSTRUCTIONS : CHRONO_WALL;
    target.kernel = system.sysname;
    target.release = system.release;
    target.build = CHRONO_BUILD CHRONO_OPTIONS ", " SEMAPHORES;
    target.hertz = 1000000000u >> shift;
    target.memory = memory;
    target.bytes = sizeof memory;
    chrono_main(&target, request);
    return 0;
}
