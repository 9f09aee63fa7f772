/* A sink by semihosting, for Arm and RISC-V: the debugger, or QEMU with -semihosting. For bring-up: the
 * processor stops at each call. */
#ifndef CHRONOSCOPE_SEMIHOSTING_H
#define CHRONOSCOPE_SEMIHOSTING_H

#include "chronoscope.h"

#ifdef __cplusplus
extern "C" {
#endif

/* semihosting.c defines chrono_write() and chrono_fail(), too: the stream goes to standard output. */

/* Returns the request, for chrono_main(): the command line that the host gives. */
const char *chrono_semihosting_request(void);

/* Ends the program; does not return. */
void chrono_semihosting_exit(bool success);

#ifdef __cplusplus
}
#endif

#endif
