/* Calls that must end with a report: the one whose number is CASE. */
#include "board.h"

static tandem_task task;
TANDEM_STACK(stack, 768);
TANDEM_STACK(idle_stack, 256);
static tandem_semaphore semaphore;
static tandem_mutex mutex;

void handler_0(void)
{
    tandem_semaphore_take(&semaphore);
}

static unsigned overflow(volatile unsigned *above)
{
    volatile unsigned here[4] = {*above + 1};
    return *above > 10000 ? 0 : overflow(here) + here[0];
}

static void run(void *unused)
{
    (void)unused;
    volatile unsigned top = 0;
    switch (CASE) {
    case 1:
        raise_interrupt(0);
        break;
    case 2:
        tandem_enter();
        tandem_delay(MILLISECOND);
        break;
    case 3:
        tandem_mutex_lock(&mutex);
        tandem_mutex_lock(&mutex);
        break;
    case 4:
        tandem_mutex_unlock(&mutex);
        break;
    case 5:
        overflow(&top);
        break;
    }
    leave(true);
}

static void set_up(void)
{
    tandem_spawn(&task, stack, sizeof stack, 3, "waits", run, NULL);
}

int main(void)
{
    board_set_up();
    tandem_semaphore_init(&semaphore, 0);
    tandem_mutex_init(&mutex);
    if (CASE == 6)
        tandem_mutex_lock(&mutex);
    tandem_start(idle_stack, sizeof idle_stack, set_up);
}
