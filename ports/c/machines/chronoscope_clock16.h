/* A clock of 16 bits, extended to 64 without masking interrupts. Link the library for call32: clock16.c
 * defines chrono_clock_read() and chrono_clock_now(). */
#ifndef CHRONOSCOPE_CLOCK16_H
#define CHRONOSCOPE_CLOCK16_H

#include "chronoscope.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Application: reads the counter, which counts up from 0 to 65535 and on from 0. */
uint16_t chrono_counter16(void);

/* Called by a periodic interrupt, such as the kernel's tick. Two calls are at most 32768 ticks of the
 * counter apart, and so are a call and the end of the longest time in which that interrupt is held
 * off: a wrap that is missed would make samples too short, and nothing would reveal it. Only one
 * handler calls it. */
void chrono_clock16_tick(void);

#ifdef __cplusplus
}
#endif

#endif
