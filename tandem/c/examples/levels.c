/* A thread measures a level every 10 ms, and another prints it. */
#include "board.h"

static tandem_task meter_task, printer_task;
TANDEM_STACK(meter_stack, 1024);
TANDEM_STACK(printer_stack, 1024);
TANDEM_STACK(idle_stack, 256);

static tandem_queue levels;
static uint32_t storage[4];

static void measure(void *argument)
{
    uint64_t due = tandem_now();
    for (uint32_t level = 0;; level += *(uint32_t *)argument) {
        tandem_queue_send(&levels, &level);
        due += 10 * MILLISECOND;
        tandem_delay_until(due);
    }
}

static void print_levels(void *unused)
{
    (void)unused;
    uint32_t level;
    while (tandem_queue_receive_until(&levels, &level, tandem_now() + 50 * MILLISECOND)) {
        print("level %u\n", level);
        if (level == 60)
            leave(true); /* ends the emulation */
    }
}

static void set_up(void)
{
    static uint32_t step = 15;
    tandem_spawn(&meter_task, meter_stack, sizeof meter_stack, 2, "meter", measure, &step);
    tandem_spawn(&printer_task, printer_stack, sizeof printer_stack, 1, "printer", print_levels, 0);
}

int main(void)
{
    board_set_up();
    tandem_queue_init(&levels, storage, sizeof storage[0], 4);
    tandem_start(idle_stack, sizeof idle_stack, set_up);
}
