/* Declarations written for Chronoscope: see kernel.h. */
#ifndef ZEPHYR_SYSTEM_TIMER_H
#define ZEPHYR_SYSTEM_TIMER_H

#include <stdint.h>

void sys_clock_announce(int32_t ticks);
uint32_t sys_clock_elapsed(void);

#endif
