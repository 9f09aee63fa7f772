/* Timers, whose functions run in a thread of the layer. */
#include "layer.h"

static tandem_timers timers;

static void run(void *unused)
{
    (void)unused;
    tandem_timers_run(&timers);
}

/* Starts the thread of the timers, unless it has been started. */
static void begin(void)
{
    static bool has_begun;
    static tandem_os_thread block;
    TANDEM_STACK(stack, TANDEM_OS_TIMER_STACK);
    static const osThreadAttr_t attributes = {
        "timers", 0, &block, sizeof block, stack, sizeof stack, TANDEM_OS_TIMER_PRIORITY, 0, 0,
    };
    uint32_t interrupts = tandem_enter();
    bool is_first = !has_begun;
    if (is_first)
        tandem_timers_init(&timers);
    has_begun = true;
    tandem_exit(interrupts);
    if (is_first)
        osThreadNew(run, NULL, &attributes);
}

osTimerId_t osTimerNew(osTimerFunc_t func, osTimerType_t type, void *argument,
                       const osTimerAttr_t *attr)
{
    if (func == NULL || (type != osTimerOnce && type != osTimerPeriodic))
        return NULL;
    tandem_os_timer *it = (tandem_os_timer *)os_block(
        OS_TIMER, attr != NULL ? attr : &os_no_attributes, sizeof *it, 0);
    if (it != NULL) {
        begin();
        tandem_timer_init(&it->timer, &timers, func, argument);
        it->type = type;
    }
    return it;
}

const char *osTimerGetName(osTimerId_t timer_id)
{
    return os_name(timer_id, OS_TIMER);
}

osStatus_t osTimerStart(osTimerId_t timer_id, uint32_t ticks)
{
    tandem_os_timer *it = (tandem_os_timer *)os_object(timer_id, OS_TIMER);
    if (os_caller() == OS_IN_HANDLER)
        return osErrorISR;
    if (it == NULL || ticks == 0)
        return osErrorParameter;
    if (it->type == osTimerPeriodic)
        tandem_timer_start_periodic(&it->timer, os_due(ticks), (uint64_t)ticks * OS_PERIOD);
    else
        tandem_timer_start_once(&it->timer, os_due(ticks));
    return osOK;
}

osStatus_t osTimerStop(osTimerId_t timer_id)
{
    tandem_os_timer *it = (tandem_os_timer *)os_object(timer_id, OS_TIMER);
    if (os_caller() == OS_IN_HANDLER)
        return osErrorISR;
    if (it == NULL)
        return osErrorParameter;
    if (!tandem_timer_is_running(&it->timer))
        return osErrorResource;
    tandem_timer_stop(&it->timer);
    return osOK;
}

uint32_t osTimerIsRunning(osTimerId_t timer_id)
{
    tandem_os_timer *it = (tandem_os_timer *)os_object(timer_id, OS_TIMER);
    return it != NULL && os_caller() != OS_IN_HANDLER && tandem_timer_is_running(&it->timer);
}
