/* Measures as a C program would, beside the lab's own experiments: threads and processes that are made and
 * seen to end, pages that are touched, signals that threads wait for, and calls over a message queue, a
 * connection of the loopback device and a pair of sockets. Prints the mean of an operation, or the median of
 * switches between two processors. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <mqueue.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void check(int is_right, const char *what)
{
    if (!is_right) {
        perror(what);
        exit(1);
    }
}

#define CHECK(is_right) check(is_right, #is_right)

enum { TASKS = 100, RUNS = 20, SIZE = 64, CALLS = 2000, WARM = 100 };

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static volatile int visited[TASKS];

static void *visit(void *place)
{
    *(volatile int *)place = 1;
    return NULL;
}

static void threads(void)
{
    pthread_t made[TASKS];
    pthread_attr_t attributes;
    for (int i = 0; i < TASKS; i++) {
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 64 * 1024);
        CHECK(pthread_create(&made[i], &attributes, visit, (void *)&visited[i]) == 0);
        pthread_attr_destroy(&attributes);
    }
    for (int i = 0; i < TASKS; i++)
        pthread_join(made[i], NULL);
}

/* Where a child leaves a sign that its parent sees. */
static volatile int *shared;

/* The child's text lies in three places, as in the lab's program: each page fault of text maps sixteen pages,
 * which takes 14,000 instructions with their end. */
enum { APART = 128 * 1024 };

__attribute__((noinline, aligned(APART))) static void leave_a_sign(int place)
{
    shared[place] = 1;
}

__attribute__((noinline, aligned(APART))) static void processes(void)
{
    for (int i = 0; i < TASKS; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            leave_a_sign(i);
            _exit(0);
        }
    }
    for (int i = 0; i < TASKS; i++)
        CHECK(wait(NULL) > 0);
    if (wait(NULL) >= 0)
        abort();
    for (int i = 0; i < TASKS; i++) {
        CHECK(shared[i] == 1);
        shared[i] = 0;
    }
}

/* What a fork copies: the areas of the address space, and the pages that are the program's own. */
struct memory {
    int areas, pages;
};

static struct memory mapped(void)
{
    char line[256];
    int size;
    struct memory all = { 0, 0 };
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "Anonymous: %d kB", &size) == 1) {
            all.areas++;
            all.pages += size / 4;
        }
    fclose(maps);
    return all;
}

/* A fork costs by that, and by the forks since the parent's program began: each one lengthens the chains that
 * lead to a page's owners. The lab's program has these. */
enum { AREAS = 13, PAGES = 18, FORKS = 1 };

static void become_a_parent(void)
{
    shared = mmap(NULL, sizeof visited, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    volatile char *own = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int kind = 0; mapped().areas < AREAS; kind ^= 1)
        mmap(NULL, 4096, kind ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int page = 0; mapped().pages < PAGES; page++)
        own[page * 4096] = 1;
    for (int forks = 0; forks < FORKS; forks++)
        if (fork() != 0) {
            wait(NULL);
            _exit(0);
        }
}

static double made(void (*run)(void))
{
    double all = 0;
    for (int i = 0; i < RUNS; i++) {
        double start = now_us();
        run();
        all += now_us() - start;
    }
    return all / RUNS / TASKS;
}

/* One side of a channel. */
struct side {
    int reader, writer;
    int is_queue;
};

static void send_all(struct side side, const char *bytes)
{
    if (side.is_queue)
        CHECK(mq_send(side.writer, bytes, SIZE, 0) == 0);
    else
        CHECK(write(side.writer, bytes, SIZE) == SIZE);
}

static void receive_all(struct side side, char *bytes)
{
    if (side.is_queue)
        CHECK(mq_receive(side.reader, bytes, SIZE, NULL) == SIZE);
    else
        CHECK(read(side.reader, bytes, SIZE) == SIZE);
}

static mqd_t queue(const char *name)
{
    struct mq_attr attributes = { .mq_maxmsg = 2, .mq_msgsize = SIZE };
    mqd_t made = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    CHECK(made != (mqd_t)-1);
    mq_unlink(name);
    return made;
}

static void connected(int sides[2])
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0);
    getsockname(listener, (struct sockaddr *)&address, &size);
    sides[0] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(sides[0], (struct sockaddr *)&address, size) == 0);
    sides[1] = accept(listener, NULL, NULL);
    for (int i = 0; i < 2; i++)
        setsockopt(sides[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static double called(struct side client, struct side server)
{
    char bytes[SIZE];
    struct sched_param priority = { .sched_priority = 81 };
    memset(bytes, 7, SIZE);
    /* In the ordinary class a wake-up takes one way or another by the tasks' past. */
    CHECK(sched_setscheduler(0, SCHED_FIFO, &priority) == 0);
    if (fork() == 0) {
        for (int i = 0; i < WARM + CALLS; i++) {
            receive_all(server, bytes);
            send_all(server, bytes);
        }
        _exit(0);
    }
    double all = 0;
    for (int i = 0; i < WARM + CALLS; i++) {
        double start = now_us();
        send_all(client, bytes);
        receive_all(client, bytes);
        if (i >= WARM)
            all += now_us() - start;
    }
    return all / CALLS;
}

enum { STEPS = 4000 };

static double marks[STEPS + 1];
static sem_t turns[2];

/* Each thread marks its step, wakes the other one and waits. */
static void *step(void *own)
{
    long place = (long)own;
    cpu_set_t processor;
    CPU_ZERO(&processor);
    CPU_SET(place, &processor);
    CHECK(sched_setaffinity(0, sizeof processor, &processor) == 0);
    struct sched_param priority = { .sched_priority = 80 };
    CHECK(sched_setscheduler(0, SCHED_FIFO, &priority) == 0);
    for (long at = place; at <= STEPS; at += 2) {
        sem_wait(&turns[place]);
        marks[at] = now_us();
        sem_post(&turns[1 - place]);
    }
    return NULL;
}

static int order(const void *one, const void *other)
{
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

static double between(void)
{
    pthread_t threads[2];
    static double lengths[STEPS];
    sem_init(&turns[0], 0, 1);
    sem_init(&turns[1], 0, 0);
    for (long i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, step, (void *)i) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < STEPS; i++)
        lengths[i] = marks[i + 1] - marks[i];
    qsort(lengths, STEPS, sizeof *lengths, order);
    return lengths[STEPS / 2];
}

enum { PAGES_TOUCHED = 2000 };

static double faults(void)
{
    double all = 0;
    size_t size = PAGES_TOUCHED * 4096;
    volatile char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)pages, size, MADV_NOHUGEPAGE);
    for (int i = 0; i < PAGES_TOUCHED; i++) {
        double start = now_us();
        pages[i * 4096] = 1;
        all += now_us() - start;
    }
    return all / PAGES_TOUCHED;
}

static pthread_t waiters[2];

/* Each thread waits for its signal and sends the other one's. */
static void *answer(void *own)
{
    long place = (long)own;
    int number;
    sigset_t mine;
    struct sched_param priority = { .sched_priority = 80 };
    CHECK(sched_setscheduler(0, SCHED_FIFO, &priority) == 0);
    sigemptyset(&mine);
    sigaddset(&mine, SIGRTMIN + place);
    for (long at = place; at <= STEPS; at += 2) {
        sigwait(&mine, &number);
        marks[at] = now_us();
        pthread_kill(waiters[1 - place], SIGRTMIN + 1 - place);
    }
    return NULL;
}

static double signals(void)
{
    sigset_t both;
    sigemptyset(&both);
    for (int i = 0; i < 2; i++)
        sigaddset(&both, SIGRTMIN + i);
    pthread_sigmask(SIG_BLOCK, &both, NULL);
    for (long i = 0; i < 2; i++)
        CHECK(pthread_create(&waiters[i], NULL, answer, (void *)i) == 0);
    pthread_kill(waiters[0], SIGRTMIN);
    for (int i = 0; i < 2; i++)
        pthread_join(waiters[i], NULL);
    return (marks[STEPS] - marks[0]) / STEPS;
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    double mean;
    if (strcmp(what, "thread") == 0) {
        mean = made(threads);
    } else if (strcmp(what, "fork") == 0) {
        become_a_parent();
        mean = made(processes);
    } else if (strcmp(what, "fault") == 0) {
        mean = faults();
    } else if (strcmp(what, "signal") == 0) {
        mean = signals();
    } else if (strcmp(what, "matrix") == 0) {
        mean = between();
    } else if (strcmp(what, "mq") == 0) {
        mqd_t there = queue("/there"), back = queue("/back");
        mean = called((struct side) { back, there, 1 }, (struct side) { there, back, 1 });
    } else {
        int sides[2];
        if (strcmp(what, "tcp") == 0)
            connected(sides);
        else
            CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sides) == 0);
        mean = called((struct side) { sides[0], sides[0], 0 }, (struct side) { sides[1], sides[1], 0 });
    }
    printf("%.4f usecs/op\n", mean);
    return 0;
}
