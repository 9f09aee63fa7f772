/* A clock of 16 bits, extended to 64: see chronoscope_clock16.h. */
#include "chronoscope_clock16.h"

/* The half periods of the counter that had passed at the last tick, 32768 ticks each. One word, so a
 * reader at any level of interrupts finds it whole. The clock wraps after 2^47 ticks. */
static volatile uint32_t halves;

/* Less than a whole period has passed since the half period began: the sum is the time. */
static uint64_t since(uint32_t passed)
{
    const uint64_t began = (uint64_t)passed << 15;
    return began + (uint16_t)(chrono_counter16() - (uint16_t)began);
}

void chrono_clock16_tick(void)
{
    halves = (uint32_t)(since(halves) >> 15);
}

uint64_t chrono_clock_now(void)
{
    return since(halves);
}

uint32_t chrono_clock_read(void)
{
    const uint32_t began = halves << 15;
    return began + (uint16_t)(chrono_counter16() - (uint16_t)began);
}
