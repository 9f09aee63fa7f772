/* A program for CMSIS-RTOS2, as it is written for any kernel: a producer measures every 10 ms, a
 * consumer receives the measurements, and both print under a mutex. A timer ends the run. */
#include "board.h" /* print and leave */
#include "cmsis_os2.h"

typedef struct {
    uint32_t number;
    uint32_t level;
} measurement_t;

static osMessageQueueId_t measurements;
static osMutexId_t console;

static void say(const char *who, const measurement_t *it)
{
    osMutexAcquire(console, osWaitForever);
    print("%4u ms  %s %u: level %u\n", osKernelGetTickCount(), who, it->number, it->level);
    osMutexRelease(console);
}

static void produce(void *argument)
{
    (void)argument;
    for (measurement_t it = {0, 0};; it.number++, it.level += 15) {
        say("produced", &it);
        osMessageQueuePut(measurements, &it, 0, osWaitForever);
        osDelay(10);
    }
}

static void consume(void *argument)
{
    (void)argument;
    measurement_t it;
    while (osMessageQueueGet(measurements, &it, NULL, 50) == osOK)
        say("consumed", &it);
}

static void stop(void *argument)
{
    (void)argument;
    leave(osMessageQueueGetCount(measurements) == 0);
}

int main(void)
{
    board_set_up();
    osKernelInitialize();
    static const osMutexAttr_t console_attributes = {
        .name = "console", .attr_bits = osMutexRecursive | osMutexPrioInherit};
    static const osThreadAttr_t producer_attributes = {
        .name = "producer", .stack_size = 512, .priority = osPriorityAboveNormal};
    static const osThreadAttr_t consumer_attributes = {.name = "consumer", .stack_size = 512};
    console = osMutexNew(&console_attributes);
    measurements = osMessageQueueNew(4, sizeof(measurement_t), NULL);
    osThreadNew(produce, NULL, &producer_attributes);
    osThreadNew(consume, NULL, &consumer_attributes);
    osTimerStart(osTimerNew(stop, osTimerOnce, NULL, NULL), 55);
    return osKernelStart();
}
