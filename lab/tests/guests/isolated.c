/* Asks the lab, which runs in the guest here, about processors that are isolated: at boot, or by a partition
 * of control groups. Prints a figure where all answers are right, for the lab outside reads one. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *lab;
static char answer[1 << 22];

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

/* Runs the lab with these words, and keeps what it prints. */
static void ask(const char *words)
{
    char *arguments[24] = { (char *)lab };
    char copy[512];
    int ends[2], count = 1;
    size_t length = 0;
    ssize_t more;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        arguments[count++] = word;
    if (pipe(ends) != 0)
        fail("pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        execv(lab, arguments);
        fail(lab);
    }
    close(ends[1]);
    while ((more = read(ends[0], answer + length, sizeof answer - 1 - length)) > 0)
        length += (size_t)more;
    answer[length] = 0;
    close(ends[0]);
    waitpid(child, NULL, 0);
}

static void shows(const char *words, const char *expected)
{
    if (strstr(answer, expected))
        return;
    for (char *end = answer; *end; end++)
        if (*end == '\n')
            *end = '|';
    fprintf(stderr, "`%s` does not show `%s`: %.3000s\n", words, expected, answer);
    exit(1);
}

static void shown(const char *words, const char *expected)
{
    ask(words);
    shows(words, expected);
}

static void put(const char *file, const char *text)
{
    int place = open(file, O_WRONLY);
    if (place < 0 || write(place, text, strlen(text)) != (ssize_t)strlen(text))
        fail(file);
    close(place);
}

#define PERIOD "run period -l 20 --repeat 1 -q --no-store --format json"

/* The kernel's tracer, which only kernels with PREEMPT_RT have. */
#define NOISE "run noise --set by=hwlat -a isolated -q --no-store --repeat 1 --format json"

static void booted(void)
{
    shown("doctor -a 0-1", "processor 0 is not isolated: 1 is");
    shows("doctor -a 0-1", "processor 1 is in isolcpus and nohz_full");
    shown(PERIOD, "\"cpu\": \"1\"");
    shown(PERIOD " -a 0-1", "\"cpu 1\"");
    shows("-a 0-1", "\"cpu 0\"");
    shown(PERIOD " -a all", "\"cpu 1\"");
    shows("-a all", "\"cpu 0\"");
    shown(NOISE, "\"name\": \"cpu 1\"");
    shows(NOISE, "\"status\": \"pass\"");
}

static void partitioned(void)
{
    if (mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL) != 0)
        fail("cgroup2");
    put("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset");
    if (mkdir("/sys/fs/cgroup/quiet", 0755) != 0)
        fail("quiet");
    put("/sys/fs/cgroup/quiet/cpuset.cpus", "1");
    put("/sys/fs/cgroup/quiet/cpuset.cpus.partition", "isolated");
    /* The rest of the system has no part in it. */
    shown("doctor -a 1", "processor 1 is in an isolated partition, which only the tasks of its control group may use");
    shown(PERIOD, "\"cpu\": \"0\"");
    put("/sys/fs/cgroup/quiet/cgroup.procs", "0");
    shown("doctor -a 1", "processor 1 is in an isolated partition, but has ticks");
    shown(PERIOD, "\"cpu\": \"1\"");
}

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    lab = words[2];
    setenv("HOME", "/tmp", 1);
    mkdir("/tmp", 0777);
    if (strcmp(words[1], "booted") == 0)
        booted();
    else
        partitioned();
    printf("1.0 usecs/op\n");
    return 0;
}
