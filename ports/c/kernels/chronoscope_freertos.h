/* What an application gives to Chronoscope's port to FreeRTOS (freertos.c). */
#ifndef CHRONOSCOPE_FREERTOS_H
#define CHRONOSCOPE_FREERTOS_H

#include <FreeRTOS.h>

#include "chronoscope.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Relates FreeRTOS's ticks to the clock: tick 0 was, or would have been, at `tick_zero` of
 * chrono_clock_now(). Call it before chrono_main(). */
void chrono_freertos_start(uint64_t tick_zero, uint32_t clock_ticks_per_tick);

/* FreeRTOS's number of a priority: that of the director is
 * chrono_freertos_priority(CHRONO_ORDINARY). */
UBaseType_t chrono_freertos_priority(chrono_priority priority);

#ifdef __cplusplus
}
#endif

#endif
