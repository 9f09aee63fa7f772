/* Chronoscope for kernels written in C.
 *
 * The crate chronoscope-c, the library, holds the experiments. A port defines the functions below that are
 * marked "port", for one kernel on one machine, and calls chrono_main() in a task. The linker joins
 * the two: there is no table of pointers, no registration and no heap. A required function that is
 * missing is an error of the linker, which names it. An optional group is defined whole or not at
 * all; experiments that need a missing group are "not offered".
 *
 * docs/c-kernels.md explains each function with an example. C99, C++. */
#ifndef CHRONOSCOPE_H
#define CHRONOSCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. The library refuses a target compiled with another. */
#define CHRONO_ABI 1u

/* ---- Library --------------------------------------------------------------------------------- */

/* The meaning of a tick of the clock. */
typedef enum {
    CHRONO_WALL = 0,         /* time */
    CHRONO_INSTRUCTIONS = 1, /* instructions executed by an emulator */
    CHRONO_CYCLES = 2        /* cycles of the core's clock */
} chrono_domain;

/* The target, described by the port. Texts end with a zero byte and are at most 200 bytes long. */
typedef struct {
    uint32_t abi;        /* CHRONO_ABI */
    uint32_t domain;     /* a chrono_domain */
    const char *kernel;  /* the kernel's name in the target's name: "freertos" */
    const char *release; /* the kernel's version: "V11.2.0" */
    const char *build;   /* compiler, options, configuration; recorded with every figure */
    uint64_t hertz;      /* ticks of the clock per second */
    uint32_t tick_us;    /* period of the kernel's tick; 0 if delays end when they are due */
    void *memory;        /* for marks, tasks' bodies and chrono_alloc(): 16 KiB or more */
    size_t bytes;        /* its size */
} chrono_target;

/* The compiler, to begin a build text with: CHRONO_BUILD "-O2, no assertions". */
#define CHRONO_BUILD "compiler " __VERSION__ ", "

/* Runs the experiment that `request` names, and writes the stream of its results. `request` is one
 * line, "switch tasks=2". Call it once after each reset, in an ordinary task of the kernel with 8 KiB
 * of stack (64-bit machines: 32 KiB) at the priority CHRONO_ORDINARY. Returns when the case is over;
 * the port then ends the program. */
void chrono_main(const chrono_target *target, const char *request);

/* Returns `bytes` of zeroed memory, aligned to 16 bytes, or NULL if none is left. It is never freed.
 * Only after chrono_main() has been called, and only by the task that called it or by functions that
 * the library calls; never by a handler. */
void *chrono_alloc(size_t bytes);

/* Records proof of something that the port has counted, such as the stack that its tasks have left.
 * It holds if low <= value <= high; if not, the case is inconclusive. `name` must stay valid. At most
 * 8 names; a second call with the same name (the same pointer) replaces the first. */
void chrono_evidence(const char *name, uint32_t value, uint32_t low, uint32_t high);

/* Run the experiment's handler. The port's handlers of the two interrupt lines call them, after the
 * line was attached. Both may call chrono_give_from_handler(). */
void chrono_on_software(void);
void chrono_on_timer(void);

/* ---- Port: clock and output ------------------------------------------------------------------ */

/* Marks read the clock by the means that the library was built for:
 *   register  a 32-bit register: -Wl,--defsym=chrono_counter=0x40000C24. One load a mark.
 *   call32    chrono_clock_read(), 32 bits.
 *   call64    chrono_clock_read(), 64 bits.
 *   mcycle    RISC-V's own counter of cycles; the port defines nothing. */
extern volatile uint32_t chrono_counter;
#ifdef CHRONO_CLOCK_64
uint64_t chrono_clock_read(void);
#else
uint32_t chrono_clock_read(void);
#endif

/* Returns the same counter extended to 64 bits: equal low bits, and it never wraps. It goes on while
 * the processor sleeps. */
uint64_t chrono_clock_now(void);

/* Writes bytes of the stream: to a UART, by semihosting. May take any time; must lose none. */
void chrono_write(const uint8_t *bytes, size_t count);

/* Ends the program with a complaint for the user, `length` bytes of text. Does not return. */
void chrono_fail(const char *complaint, size_t length);

/* ---- Port: tasks and semaphores -------------------------------------------------------------- */

/* Priorities: a higher number pre-empts a lower one. Urgent tasks have 2 to 9. */
typedef uint8_t chrono_priority;
#define CHRONO_IDLE 0u
#define CHRONO_ORDINARY 1u

/* An object of the kernel: its handle, or the address of a control block. */
typedef void *chrono_object;

/* Creates a ready task that calls entry(argument). It may run before this returns. `entry` returns
 * when the task is to end; the port then ends it. 768 bytes of stack suffice on 32-bit machines.
 * Returns false if there is no room for the task. */
bool chrono_spawn(void (*entry)(void *), void *argument, chrono_priority priority);

/* Puts the caller behind the ready tasks of its own priority. */
void chrono_yield(void);

/* Waits until chrono_clock_now() >= due, and never less; returns at once if that has passed. */
void chrono_delay_until(uint64_t due);

/* Returns how often the kernel has switched to the calling task, by the kernel's own count;
 * UINT32_MAX if it does not count. */
uint32_t chrono_switches(void);

/* Creates a counting semaphore; NULL if there is no room. */
chrono_object chrono_semaphore(uint32_t initial);
void chrono_take(chrono_object semaphore);
/* Never waits. A more urgent task that is given the semaphore runs before this returns. */
void chrono_give(chrono_object semaphore);
/* As chrono_give(), called by a handler: the more urgent task runs when the handler returns. */
void chrono_give_from_handler(chrono_object semaphore);

/* ---- Port: optional groups, each whole or not at all ----------------------------------------- */

/* Messages: queues of 32-bit words, with one sender and one receiver. NULL: no room. */
chrono_object chrono_queue(uint32_t capacity);
void chrono_send(chrono_object queue, uint32_t word);
uint32_t chrono_receive(chrono_object queue);

/* Mutexes. */
typedef enum { CHRONO_PLAIN = 0, CHRONO_INHERITANCE = 1, CHRONO_CEILING = 2 } chrono_protocol;
/* `protocol` is a chrono_protocol; `ceiling` counts for CHRONO_CEILING only. NULL: the kernel lacks
 * the protocol. */
chrono_object chrono_mutex(uint32_t protocol, chrono_priority ceiling);
void chrono_lock(chrono_object mutex);
void chrono_unlock(chrono_object mutex);

/* Interrupts: two lines, one raised by software, one by a timer. Both have the most urgent level
 * FROM WHICH THE KERNEL MAY BE CALLED (FreeRTOS: configMAX_SYSCALL_INTERRUPT_PRIORITY). */

/* Enables a line, whose handler calls chrono_on_timer() or chrono_on_software(). Returns false if
 * the machine lacks it. */
bool chrono_attach(bool timer);
/* Raises the software line. Its handler, and the more urgent tasks it woke, have run on return. */
void chrono_raise(void);
/* Sets the timer line to fire once, when chrono_clock_now() reaches `due`; at once if it has. */
void chrono_arm(uint64_t due);

/* Ticks: returns the time of the kernel's first tick at or after `time`. Experiments on periods and
 * delays then ask for due times that are ticks, as the kernel's users do, and report the phase,
 * from a time that is no tick to the next one, apart. For ports with a tick_us. */
uint64_t chrono_tick_after(uint64_t time);

/* Ends of tasks (experiment `spawn`): waits for one task that the caller spawned to end; false if
 * none is left. */
bool chrono_reap(void);

/* Processor time of the calling task by the kernel's account, in ticks of the clock (experiment
 * `interference`). */
uint64_t chrono_processor_time(void);

/* The kernel's usual log (experiment `log`): writes a line with both numbers; and the bytes that the
 * log has accepted so far. */
void chrono_log(uint32_t round, uint64_t ticks);
uint64_t chrono_logged(void);

/* Called once after the experiment, by the task that called chrono_main(): the place for
 * chrono_evidence(). */
void chrono_report(void);

/* Sets a pin for a logic analyser, 0 to 7, by one store if possible. Called only by libraries that
 * drive pins. */
void chrono_pin(uint8_t pin, bool high);

#ifdef __cplusplus
}
#endif

#endif
