/* A control loop with marks, in C for Linux: each round is named, and so are the rounds' starts.
 *
 *     gcc -O2 -I mark/include mark/examples/loop.c -o loop
 *     chronoscope watch --limit 'control <= 500us' -- ./loop
 */
#include <chronoscope_mark.h>
#include <time.h>

enum { ROUNDS = 500, PERIOD_NS = 1000000 };

static volatile unsigned state;

static void control(void) {
    CHRONO_BEGIN(control);
    for (int i = 0; i < 20000; i++)
        state += i;
    CHRONO_END(control);
}

int main(void) {
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (int round = 0; round < ROUNDS; round++) {
        due.tv_nsec += PERIOD_NS;
        if (due.tv_nsec >= 1000000000) {
            due.tv_nsec -= 1000000000;
            due.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, 0);
        CHRONO_INSTANT(round);
        control();
    }
    return 0;
}
