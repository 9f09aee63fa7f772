/* Marks for chronoscope's watch: named intervals, instants and numbers, as notes in the program's
 * file. A mark costs no instruction on a microcontroller and a nop on Linux; what it may change is on
 * the page of the Rust crate chronoscope-mark (README.md beside this folder), which has the same marks.
 *
 *   CHRONO_BEGIN(control);                  the start of the interval `control`
 *   CHRONO_END(control);                    its end: of the last begin of that name in the thread
 *   CHRONO_BEGIN_ID(request, id);           the start of an interval that may overlap others
 *   CHRONO_END_ID(request, id);             the end of the one with this id
 *   CHRONO_INSTANT(sampled);                an instant: the time from one to the next
 *   CHRONO_VALUE(queue, waiting);           a number, from 0 to ULONG_MAX
 *
 * Each has a form with _UNORDERED at its end, across which the compiler may move accesses to memory.
 * A name is a plain identifier without "__". An id is converted to unsigned long.
 *
 * CHRONO_MARK_OFF removes all marks, and evaluates no id or number. CHRONO_MARK_NOP makes each mark a
 * nop on a microcontroller too, with an address of its own: for a mark that stands alone in a branch.
 *
 * CHRONO_MARK_BOARD: for a board that nobody observes. Each mark writes a record, which the program
 * sends: chronoscope_board.h beside this file.
 *
 * C99 and C++, GCC and Clang; Arm, AArch64, RISC-V, x86-64. Elsewhere a mark is nothing.
 */
#ifndef CHRONOSCOPE_MARK_H
#define CHRONOSCOPE_MARK_H

#if defined(CHRONO_MARK_BOARD) && defined(CHRONO_MARK_OFF)
#include "chronoscope_board.h"
#endif

#if !defined(CHRONO_MARK_OFF) && defined(__GNUC__) &&                                              \
    (defined(__arm__) || defined(__aarch64__) || defined(__riscv) || defined(__x86_64__))

#if defined(__linux__) || defined(CHRONO_MARK_NOP)
#define CHRONO_MARK_INSTRUCTION_ "nop\n"
#else
#define CHRONO_MARK_INSTRUCTION_ ""
#endif

#if defined(__LP64__)
#define CHRONO_MARK_WORD_ ".8byte"
#define CHRONO_MARK_SIZE_ "8"
#else
#define CHRONO_MARK_WORD_ ".4byte"
#define CHRONO_MARK_SIZE_ "4"
#endif

/* The note has the form of SystemTap's sdt.h: three lengths, the owner, the addresses of the mark, of
 * a base and of a semaphore that are not used, the provider, the name, and the argument. */
#define CHRONO_MARK_NOTE_(name, argument)                                                          \
    "990:\n" CHRONO_MARK_INSTRUCTION_                                                              \
    ".pushsection .note.stapsdt, \"\", %%note\n"                                                   \
    ".balign 4\n"                                                                                  \
    ".4byte 992f-991f, 994f-993f, 3\n"                                                             \
    "991: .asciz \"stapsdt\"\n"                                                                    \
    "992: .balign 4\n"                                                                             \
    "993: " CHRONO_MARK_WORD_ " 990b, 0, 0\n"                                                      \
    ".asciz \"chronoscope\"\n"                                                                     \
    ".asciz \"" name "\"\n"                                                                        \
    ".asciz \"" argument "\"\n"                                                                    \
    "994: .balign 4\n"                                                                             \
    ".popsection\n"

#ifdef CHRONO_MARK_BOARD
#include "chronoscope_board.h"
#else
#define CHRONO_MARK_(name) __asm__ __volatile__(CHRONO_MARK_NOTE_(name, "") : : : "memory")
#define CHRONO_MARK_UNORDERED_(name) __asm__ __volatile__(CHRONO_MARK_NOTE_(name, "") : :)
#define CHRONO_MARK_WITH_(name, value)                                                             \
    __asm__ __volatile__(CHRONO_MARK_NOTE_(name, CHRONO_MARK_SIZE_ "@%0")                          \
                         : : "r"((unsigned long)(value)) : "memory")
#define CHRONO_MARK_WITH_UNORDERED_(name, value)                                                   \
    __asm__ __volatile__(CHRONO_MARK_NOTE_(name, CHRONO_MARK_SIZE_ "@%0")                          \
                         : : "r"((unsigned long)(value)))
#endif

#else

#define CHRONO_MARK_(name) ((void)0)
#define CHRONO_MARK_UNORDERED_(name) ((void)0)
#define CHRONO_MARK_WITH_(name, value) ((void)sizeof(value))
#define CHRONO_MARK_WITH_UNORDERED_(name, value) ((void)sizeof(value))

#endif

#define CHRONO_BEGIN(name) CHRONO_MARK_(#name "__begin")
#define CHRONO_BEGIN_UNORDERED(name) CHRONO_MARK_UNORDERED_(#name "__begin")
#define CHRONO_BEGIN_ID(name, id) CHRONO_MARK_WITH_(#name "__begin", id)
#define CHRONO_BEGIN_ID_UNORDERED(name, id) CHRONO_MARK_WITH_UNORDERED_(#name "__begin", id)
#define CHRONO_END(name) CHRONO_MARK_(#name "__end")
#define CHRONO_END_UNORDERED(name) CHRONO_MARK_UNORDERED_(#name "__end")
#define CHRONO_END_ID(name, id) CHRONO_MARK_WITH_(#name "__end", id)
#define CHRONO_END_ID_UNORDERED(name, id) CHRONO_MARK_WITH_UNORDERED_(#name "__end", id)
#define CHRONO_INSTANT(name) CHRONO_MARK_(#name "__instant")
#define CHRONO_INSTANT_UNORDERED(name) CHRONO_MARK_UNORDERED_(#name "__instant")
#define CHRONO_VALUE(name, value) CHRONO_MARK_WITH_(#name "__value", value)
#define CHRONO_VALUE_UNORDERED(name, value) CHRONO_MARK_WITH_UNORDERED_(#name "__value", value)

#endif
