/* A made-up system that records itself by barectf's generated functions. Usage: program STREAM [lose].
 * Prints the lengths of its intervals in us, a line each: handlers, waits, times on the processor, and
 * turns. With `lose` it stops recording for a while in the middle. */

#include <stdio.h>
#include <stdlib.h>

#include "barectf.h"

enum { TURNS = 500, CONTROL = 7, IDLE = 1 };

static uint64_t now;
static int is_full;
static FILE *stream;
static uint8_t packet[4096];
static struct barectf_default_ctx context;

static uint64_t clock_value(void *data)
{
    (void)data;
    return now;
}

static int full(void *data)
{
    (void)data;
    return is_full;
}

static void open_packet(void *data)
{
    (void)data;
    barectf_default_open_packet(&context, 0);
}

static void close_packet(void *data)
{
    (void)data;
    barectf_default_close_packet(&context);
    fwrite(barectf_packet_buf(&context), 1, barectf_packet_buf_size(&context), stream);
}

static unsigned next(unsigned most)
{
    static unsigned state = 1;
    state = state * 1103515245u + 12345u;
    return 1 + (state >> 16) % most;
}

int main(int count, char **words)
{
    static unsigned handlers[TURNS], waits[TURNS], runs[TURNS], turns[TURNS];
    const struct barectf_platform_callbacks callbacks = {clock_value, full, open_packet, close_packet};
    unsigned *const all[] = {handlers, waits, runs, turns};
    int turn, sort;

    stream = count > 1 ? fopen(words[1], "wb") : NULL;
    if (stream == NULL)
        return 1;
    barectf_init(&context, packet, sizeof packet, callbacks, NULL);
    open_packet(NULL);
    for (turn = 0; turn < TURNS; turn++) {
        const unsigned early = next(5), late = next(9), leave = next(7), work = next(900), rest = next(3);
        /* Several packets' worth of turns. */
        is_full = count > 2 && turn >= TURNS / 4 && turn < TURNS / 2;
        now += 1000;
        barectf_trace_isr_enter(&context);
        now += early;
        barectf_trace_thread_ready(&context, CONTROL, "control");
        now += late;
        barectf_trace_isr_exit(&context);
        now += leave;
        barectf_trace_thread_switched_out(&context, IDLE, "idle");
        barectf_trace_thread_switched_in(&context, CONTROL, "control");
        barectf_trace_turn_begin(&context, (uint32_t)turn);
        now += work;
        barectf_trace_turn_end(&context, (uint32_t)turn);
        barectf_trace_level(&context, work);
        now += rest;
        barectf_trace_thread_switched_out(&context, CONTROL, "control");
        barectf_trace_thread_switched_in(&context, IDLE, "idle");
        handlers[turn] = early + late;
        waits[turn] = late + leave;
        runs[turn] = work + rest;
        turns[turn] = work;
    }
    if (barectf_packet_is_open(&context) && !barectf_packet_is_empty(&context))
        close_packet(NULL);
    fclose(stream);
    for (sort = 0; sort < 4; sort++)
        for (turn = 0; turn < TURNS; turn++)
            printf("%u%c", all[sort][turn], turn + 1 < TURNS ? ' ' : '\n');
    return 0;
}
