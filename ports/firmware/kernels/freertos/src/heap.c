/* FreeRTOS's heap: the experiment's memory, which is never freed. Like heap_1.c of the kernel. */
#include <FreeRTOS.h>
#include <task.h>

#include "chronoscope.h"

void *pvPortMalloc(size_t bytes)
{
    return chrono_alloc(bytes);
}

void vPortFree(void *memory)
{
    (void)memory;
}
