/* Declarations of what embos.c uses of embOS, written for Chronoscope from the names in its public
 * manual: they check that the port compiles, and are no part of embOS. */
#ifndef RTOS_H
#define RTOS_H

#include <stddef.h>
#include <stdint.h>

#define OS_STACKPTR
typedef unsigned int OS_UINT;
typedef uint32_t OS_U32;
typedef uint32_t OS_PRIO;
typedef int32_t OS_TIME;

typedef struct {
    int data;
} OS_TASK;
typedef struct {
    int data;
} OS_SEMAPHORE;
typedef struct {
    int data;
} OS_MAILBOX;
typedef struct {
    int data;
} OS_MUTEX;

void OS_TASK_CreateEx(OS_TASK *task, const char *name, OS_PRIO priority, void (*routine)(void *),
                      void OS_STACKPTR *stack, OS_UINT bytes, OS_UINT slice, void *context);
void OS_TASK_Terminate(OS_TASK *task);
void OS_TASK_Yield(void);
void OS_TASK_DelayUntil(OS_TIME tick);
OS_TASK *OS_TASK_GetID(void);
OS_U32 OS_STAT_GetNumActivations(const OS_TASK *task);
void OS_SEMAPHORE_Create(OS_SEMAPHORE *semaphore, OS_UINT initial);
void OS_SEMAPHORE_TakeBlocked(OS_SEMAPHORE *semaphore);
void OS_SEMAPHORE_Give(OS_SEMAPHORE *semaphore);
void OS_MAILBOX_Create(OS_MAILBOX *mailbox, uint16_t bytes, OS_UINT messages, void *memory);
void OS_MAILBOX_PutBlocked(OS_MAILBOX *mailbox, const void *message);
void OS_MAILBOX_GetBlocked(OS_MAILBOX *mailbox, void *message);
void OS_MUTEX_Create(OS_MUTEX *mutex);
int OS_MUTEX_LockBlocked(OS_MUTEX *mutex);
void OS_MUTEX_Unlock(OS_MUTEX *mutex);

#endif
