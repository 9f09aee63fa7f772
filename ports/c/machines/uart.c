/* A sink over a UART: see chronoscope_uart.h, and docs/machines/serial.md for the protocol. */
#include "chronoscope_uart.h"

/* Sends a zero byte, which ends whatever was sent before, such as a boot loader's text. */
static void begin(void)
{
    static bool has_begun;
    if (!has_begun)
        chrono_uart_put(0);
    has_begun = true;
}

static void put_all(const uint8_t *bytes, size_t count)
{
    for (size_t at = 0; at < count; at++)
        chrono_uart_put(bytes[at]);
}

void chrono_write(const uint8_t *bytes, size_t count)
{
    begin();
    put_all(bytes, count);
}

/* Reads a line of at most `room` bytes and a zero byte, and returns its length. */
static size_t read_line(char *line, size_t room)
{
    size_t length = 0;
    for (;;) {
        const uint8_t byte = chrono_uart_get();
        if (byte == '\n' || byte == '\r')
            break;
        if (length < room)
            line[length++] = (char)byte;
    }
    line[length] = 0;
    return length;
}

/* A complaint is a line between two zero bytes. The sender of the next request gets no answer to it
 * and sends it again, which the restarted program then reads. */
void chrono_fail(const char *complaint, size_t length)
{
    static const char start[] = "\0chronoscope: ";
    char ignored[1];
    put_all((const uint8_t *)start, sizeof start - 1);
    put_all((const uint8_t *)complaint, length);
    put_all((const uint8_t *)"\n", 2);
    read_line(ignored, 0);
    chrono_uart_restart();
    for (;;)
        ;
}

const char *chrono_uart_request(void)
{
    static char request[512];
    while (read_line(request, sizeof request - 1) == 0)
        ;
    return request;
}
