/* The machines cortex-m4 and rv32, for kernels written in C.
 *
 * The library defines the functions of chronoscope.h that belong to the machine: the clock, the
 * output, the interrupts and the pins; the vector table and the start of the program, too, which
 * calls main(). A port to these machines defines the kernel's functions, main() and
 * machine_tick(). */
#ifndef CHRONOSCOPE_MACHINE_H
#define CHRONOSCOPE_MACHINE_H

#include "chronoscope.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Ticks of the clock per second. One tick is one executed instruction. */
#define MACHINE_HERTZ 1000000000u

/* Starts the clock and the interrupt lines. Call it in the director, before all other functions:
 * with interrupts enabled, and with the kernel's own handlers in place. cortex-m4: the experiments'
 * two lines have the priority `level`, 0 to 14 (0 is the most urgent), and the kernel's alarm the
 * next one. rv32 has one level, and ignores it. */
void machine_start(uint8_t level);

/* Calls machine_tick() in the alarm's handler every `ticks` ticks of the clock, beginning `ticks`
 * from now. */
void machine_tick_every(uint32_t ticks);

/* cortex-m4: calls machine_tick() in the alarm's handler once, at `due` or at once if that has
 * passed; possibly earlier, if it is more than a second ahead. In place of machine_tick_every(). */
void machine_alarm(uint64_t due);

/* Port: the kernel's tick, or its alarm. */
void machine_tick(void);

/* The request, for chrono_main(). */
const char *machine_request(void);

/* The unit of a tick of this machine's clock, and its ticks per second: for chrono_target. */
uint32_t machine_domain(void);
uint64_t machine_hertz(void);

/* Sleeps until an interrupt is pending. */
void machine_sleep(void);

/* Ends the program; does not return. */
void machine_exit(void);

#ifdef __cplusplus
}
#endif

#endif
