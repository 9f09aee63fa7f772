/* ChibiOS/RT at its fastest: its template of settings without the checks of debugging, and with a
 * periodic tick. With GUARDS, it guards stacks by the MPU; with SLICES, it has time slices. */
#define CH_CFG_ST_TIMEDELTA 0
#define CH_DBG_SYSTEM_STATE_CHECK FALSE
#define CH_DBG_ENABLE_CHECKS FALSE
#define CH_DBG_ENABLE_ASSERTS FALSE
#define CH_DBG_TRACE_MASK CH_DBG_TRACE_MASK_DISABLED
#define CH_DBG_FILL_THREADS FALSE

/* Masks by PRIMASK, which takes fewer instructions than BASEPRI. */
#define CORTEX_SIMPLIFIED_PRIORITY TRUE

#ifdef GUARDS
#define CH_DBG_ENABLE_STACK_CHECK TRUE
#define PORT_ENABLE_GUARD_PAGES TRUE
#else
#define CH_DBG_ENABLE_STACK_CHECK FALSE
#endif

#ifdef SLICES
#define CH_CFG_TIME_QUANTUM 20
#endif

/* The allocator's memory; 0 is all that a linker script of ChibiOS's leaves. */
#define CH_CFG_MEMCORE_SIZE 1024

/* The template, os/rt/templates/chconf.h, keeps what is defined. */
#include_next <chconf.h>
