/* Marks, and reports of the time from mark to mark. */
#ifndef MARKS_H
#define MARKS_H

#include "board.h"

enum { ROUNDS = 400 };

static volatile uint32_t start_mark;
static uint32_t samples[ROUNDS];
static unsigned taken;

static inline void start(void)
{
    start_mark = ticks();
}

static inline void end(void)
{
    uint32_t now = ticks();
    if (taken < ROUNDS)
        samples[taken++] = now - start_mark;
}

static void report(const char *row)
{
    unsigned count = taken;
    for (unsigned i = 1; i < count; i++)
        for (unsigned j = i; j && samples[j - 1] > samples[j]; j--) {
            uint32_t swap = samples[j];
            samples[j] = samples[j - 1];
            samples[j - 1] = swap;
        }
    print("%44s median %4u  least %4u  most %4u  n %u\n", row, samples[count / 2], samples[0],
          samples[count - 1], count);
    taken = 0;
    if (count != ROUNDS)
        leave(false);
}

#endif
