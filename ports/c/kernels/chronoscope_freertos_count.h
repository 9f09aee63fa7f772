/* The count of switches for FreeRTOSConfig.h: the kernel itself counts them, in the task's number,
 * which it does not use. A task that the scheduler selects again is not switched to. */
#ifndef CHRONOSCOPE_FREERTOS_COUNT_H
#define CHRONOSCOPE_FREERTOS_COUNT_H

#ifndef __ASSEMBLER__

/* The task that runs, defined by freertos.c. */
extern void *chrono_freertos_running;

#define CHRONO_COUNT_SWITCH()                         \
    do {                                              \
        if (chrono_freertos_running != pxCurrentTCB) { \
            chrono_freertos_running = pxCurrentTCB;   \
            pxCurrentTCB->uxTaskNumber++;             \
        }                                             \
    } while (0)

#endif

#endif
