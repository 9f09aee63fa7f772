/* FreeRTOS: tasks that yield to each other. TASKS is their number. */
#include <FreeRTOS.h>
#include <task.h>

/* The stack of each task, in words; the lab subtracts it from the size of a task. */
#define STACK 64

/* Shows the host a letter: semihosting's SYS_WRITEC. */
static inline void show(char letter)
{
    register int operation __asm("r0") = 3;
    register const char *at __asm("r1") = &letter;
    __asm volatile("bkpt 0xab" : "+r"(operation) : "r"(at) : "memory");
}

static void task(void *letter)
{
    for (;;) {
        show((char)(uintptr_t)letter);
        taskYIELD();
    }
}

int main(void)
{
    static StaticTask_t tasks[TASKS];
    static StackType_t stacks[TASKS][STACK] __attribute__((aligned(8)));
    for (uintptr_t i = 0; i < TASKS; i++)
        xTaskCreateStatic(task, "", STACK, (void *)('a' + i), 1, stacks[i], &tasks[i]);
    vTaskStartScheduler();
    return 0;
}
