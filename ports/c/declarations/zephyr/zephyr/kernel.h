/* Declarations of what zephyr.c and the module's application use of Zephyr, written for Chronoscope from
 * its documentation: they check that these compile, and are no part of Zephyr. */
#ifndef ZEPHYR_KERNEL_H
#define ZEPHYR_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_SYS_CLOCK_TICKS_PER_SEC 1000
#define CONFIG_SYS_CLOCK_HW_CYCLES_PER_SEC 1000000000

struct k_thread {
    void *custom_data;
};
struct k_sem {
    unsigned int count;
};
struct k_msgq {
    size_t size;
};
struct k_mutex {
    struct k_thread *owner;
};
typedef struct k_thread *k_tid_t;
typedef struct {
    char data;
} k_thread_stack_t;
typedef struct {
    int64_t ticks;
} k_timeout_t;
typedef void (*k_thread_entry_t)(void *first, void *second, void *third);

#define K_PRIO_PREEMPT(priority) (priority)
#define K_SEM_MAX_LIMIT UINT32_MAX
#define K_FOREVER ((k_timeout_t){-1})
#define K_NO_WAIT ((k_timeout_t){0})
#define K_TIMEOUT_ABS_TICKS(time) ((k_timeout_t){-2 - (int64_t)(time)})
#define K_KERNEL_STACK_ARRAY_DEFINE(name, count, bytes) k_thread_stack_t name[count][bytes]
#define IRQ_CONNECT(line, priority, handler, argument, flags) \
    irq_connect_dynamic(line, priority, handler, argument, flags)

k_tid_t k_thread_create(struct k_thread *thread, k_thread_stack_t *stack, size_t bytes,
                        k_thread_entry_t entry, void *first, void *second, void *third,
                        int priority, uint32_t options, k_timeout_t delay);
k_tid_t k_current_get(void);
extern struct k_thread *_current;
int k_thread_stack_space_get(const struct k_thread *thread, size_t *unused);
void k_yield(void);
int32_t k_sleep(k_timeout_t timeout);
int64_t k_uptime_ticks(void);
uint32_t sys_clock_cycle_get_32(void);
int k_sem_init(struct k_sem *semaphore, unsigned int initial, unsigned int limit);
int k_sem_take(struct k_sem *semaphore, k_timeout_t timeout);
void k_sem_give(struct k_sem *semaphore);
void k_msgq_init(struct k_msgq *queue, char *buffer, size_t size, uint32_t count);
int k_msgq_put(struct k_msgq *queue, const void *message, k_timeout_t timeout);
int k_msgq_get(struct k_msgq *queue, void *message, k_timeout_t timeout);
int k_mutex_init(struct k_mutex *mutex);
int k_mutex_lock(struct k_mutex *mutex, k_timeout_t timeout);
int k_mutex_unlock(struct k_mutex *mutex);
unsigned int irq_lock(void);
void irq_unlock(unsigned int key);
int irq_connect_dynamic(unsigned int line, unsigned int priority, void (*handler)(const void *),
                        const void *argument, uint32_t flags);
void irq_enable(unsigned int line);

#endif
