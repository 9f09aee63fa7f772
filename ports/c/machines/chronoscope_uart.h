/* A sink over a UART, polled, for boards on a serial line: `--target mine=app.elf@serial:/dev/ttyUSB0`.
 *
 * The application sets the UART up (8 bits, no parity, 1 stop bit, no flow control) and defines the
 * three functions that are marked "application". */
#ifndef CHRONOSCOPE_UART_H
#define CHRONOSCOPE_UART_H

#include "chronoscope.h"

#ifdef __cplusplus
extern "C" {
#endif

/* uart.c defines chrono_write() and chrono_fail(), too. */

/* Waits for a line that is not empty and returns it: the request, for chrono_main(). Bytes beyond the
 * first 511 are dropped. */
const char *chrono_uart_request(void);

/* Application: waits for a byte and returns it. */
uint8_t chrono_uart_get(void);

/* Application: sends a byte. Returns when it is on its way and would survive a restart. */
void chrono_uart_put(uint8_t byte);

/* Application: restarts the board as from a reset; does not return. main() calls it after chrono_main(),
 * so each repetition of a case finds the same machine. */
void chrono_uart_restart(void);

#ifdef __cplusplus
}
#endif

#endif
