/* What an application gives to the ports to ThreadX, embOS and CMSIS-RTOS2. The machine's functions
 * of chronoscope.h (clock, output, interrupts) and main() are the application's, too. */
#ifndef CHRONOSCOPE_TICKS_H
#define CHRONOSCOPE_TICKS_H

#include "chronoscope.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Relates the kernel's ticks to the clock: tick 0 was, or would have been, at `tick_zero` of
 * chrono_clock_now(). Call it before chrono_main(). */
void chrono_ticks_start(uint64_t tick_zero, uint32_t clock_ticks_per_tick);

/* The kernel's number of a priority; that of the director is
 * chrono_kernel_priority(CHRONO_ORDINARY). */
uint32_t chrono_kernel_priority(chrono_priority priority);

#ifdef __cplusplus
}
#endif

#endif
