/* What all calls share: the state, the objects' memory and names, the threads and their levels. */
#include "layer.h"

osKernelState_t os_state = osKernelInactive;

/* ---- Objects ---- */

const osTimerAttr_t os_no_attributes;

/* The object's size is a multiple of 8, so that blocks behind each other are aligned. */
static uint64_t pool[TANDEM_OS_POOL / 8 + 1] __attribute__((aligned(TANDEM_GUARD_ALIGN)));

void *os_pool(size_t size, size_t alignment)
{
    static size_t used;
    void *memory = NULL;
    uint32_t interrupts = tandem_enter();
    size_t from = (used + alignment - 1) & ~(alignment - 1);
    if (from <= TANDEM_OS_POOL && size <= TANDEM_OS_POOL - from) {
        used = (from + size + 7) & ~(size_t)7;
        memory = (uint8_t *)pool + from;
    }
    tandem_exit(interrupts);
    return memory;
}

bool os_fits(const void *memory, uint32_t given, size_t size)
{
    return memory != NULL && given >= size && (uintptr_t)memory % 8 == 0;
}

void *os_block(uint32_t kind, const osTimerAttr_t *attr, size_t size, size_t more)
{
    if (os_caller() == OS_IN_HANDLER)
        return NULL;
    tandem_os_head *head = NULL;
    if (os_fits(attr->cb_mem, attr->cb_size, size))
        head = (tandem_os_head *)attr->cb_mem;
    else if (attr->cb_mem == NULL && attr->cb_size == 0 && more <= TANDEM_OS_POOL)
        head = (tandem_os_head *)os_pool(size + more, 8);
    if (head != NULL) {
        head->kind = kind;
        head->name = attr->name;
    }
    return head;
}

const char *os_name(void *id, uint32_t kind)
{
    const tandem_os_head *head = (const tandem_os_head *)os_object(id, kind);
    return head != NULL && os_caller() != OS_IN_HANDLER ? head->name : NULL;
}

/* ---- Threads ---- */

tandem_os_thread *os_threads;

/* The level 0 is osPriorityIdle, then come five for each of six names, and the last is
 * osPriorityISR. */
unsigned os_level(osPriority_t priority)
{
    unsigned name = (unsigned)priority / 8, above = (unsigned)priority % 8;
    return name == 0 ? 0 : 1 + (name - 1) * 5 + (above < 4 ? above : 4);
}

tandem_os_thread *os_thread_of(const tandem_task *task)
{
    uint32_t interrupts = tandem_enter();
    tandem_os_thread *thread = os_threads;
    while (thread != NULL && &thread->task != task)
        thread = thread->next;
    tandem_exit(interrupts);
    return thread;
}

tandem_os_thread *os_current(void)
{
    return os_thread_of(tandem_current());
}
