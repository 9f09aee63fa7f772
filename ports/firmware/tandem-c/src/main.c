/* The image: tandem by its C interface on the machine cortex-m4. */
#include "chronoscope.h"
#include "chronoscope_machine.h"
#include "tandem.h"

#define MEMORY (88 * 1024)

TANDEM_STACK(idle_stack, 2048);
TANDEM_STACK(director_stack, 8192);

static uint64_t memory[MEMORY / sizeof(uint64_t)];

uint64_t tandem_board_now(void)
{
    return chrono_clock_now();
}

void tandem_board_arm(uint64_t due)
{
    machine_alarm(due);
}

void machine_tick(void)
{
    tandem_expire();
}

static void director(void *unused)
{
    static chrono_target target = {
        .abi = CHRONO_ABI,
        .kernel = KERNEL,
        .release = "tandem.h",
        .build = CHRONO_BUILD OPTIONS,
        .memory = memory,
        .bytes = sizeof memory,
    };
    (void)unused;
    /* tandem masks by PRIMASK: its lines may have the most urgent level. */
    machine_start(0);
    target.domain = machine_domain();
    target.hertz = machine_hertz();
    chrono_main(&target, machine_request());
    machine_exit();
}

static void set_up(void)
{
    static tandem_task task;
    tandem_spawn(&task, director_stack, sizeof director_stack, CHRONO_ORDINARY, "director",
                 director, NULL);
}

int main(void)
{
    tandem_start(idle_stack, sizeof idle_stack, set_up);
}
