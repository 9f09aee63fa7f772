/* A sink by semihosting: see chronoscope_semihosting.h. */
#include "chronoscope_semihosting.h"

/* Operations of Arm's semihosting, version 2; RISC-V has the same. */
#define SYS_OPEN 0x01u
#define SYS_WRITE 0x05u
#define SYS_GET_CMDLINE 0x15u
#define SYS_EXIT 0x18u

#define STOPPED_BY_PROGRAM 0x20026u
#define STOPPED_BY_ERROR 0x20023u

static uintptr_t call(uintptr_t operation, uintptr_t argument)
{
#ifdef __riscv
    register uintptr_t a0 __asm("a0") = operation;
    register uintptr_t a1 __asm("a1") = argument;
    /* The three instructions are one page's, uncompressed, as the specification asks. */
    __asm volatile(".option push\n.option norvc\n.balign 16\n"
                   "slli zero, zero, 0x1f\nebreak\nsrai zero, zero, 7\n.option pop"
                   : "+r"(a0)
                   : "r"(a1)
                   : "memory");
    return a0;
#else
    register uintptr_t r0 __asm("r0") = operation;
    register uintptr_t r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
#endif
}

/* The modes in which ":tt" is opened. */
enum { STANDARD_OUTPUT = 4, STANDARD_ERROR = 8 };

/* Returns the host's file of a mode. It is opened once: a host may have room for few. */
static uintptr_t file_of(unsigned mode)
{
    static const char console[] = ":tt";
    static struct {
        bool is_open;
        uintptr_t handle;
    } files[2];
    const size_t number = mode == STANDARD_ERROR;
    if (!files[number].is_open) {
        const uintptr_t block[] = {(uintptr_t)console, mode, sizeof console - 1};
        files[number].handle = call(SYS_OPEN, (uintptr_t)block);
        if (files[number].handle == UINTPTR_MAX)
            chrono_semihosting_exit(false);
        files[number].is_open = true;
    }
    return files[number].handle;
}

static void write_all(unsigned mode, const void *bytes, size_t count)
{
    const uintptr_t file = file_of(mode);
    const uint8_t *rest = (const uint8_t *)bytes;
    while (count > 0) {
        const uintptr_t block[] = {file, (uintptr_t)rest, count};
        /* The number of bytes that were not written. */
        const size_t left = call(SYS_WRITE, (uintptr_t)block);
        if (left >= count)
            chrono_semihosting_exit(false);
        rest += count - left;
        count = left;
    }
}

void chrono_write(const uint8_t *bytes, size_t count)
{
    write_all(STANDARD_OUTPUT, bytes, count);
}

void chrono_fail(const char *complaint, size_t length)
{
    write_all(STANDARD_ERROR, complaint, length);
    write_all(STANDARD_ERROR, "\n", 1);
    chrono_semihosting_exit(false);
}

const char *chrono_semihosting_request(void)
{
    static char request[512];
    uintptr_t block[] = {(uintptr_t)request, sizeof request};
    return call(SYS_GET_CMDLINE, (uintptr_t)block) == 0 ? request : "";
}

void chrono_semihosting_exit(bool success)
{
    const uintptr_t reason = success ? STOPPED_BY_PROGRAM : STOPPED_BY_ERROR;
#ifdef __LP64__
    const uintptr_t block[] = {reason, success ? 0 : 1};
    call(SYS_EXIT, (uintptr_t)block);
#else
    call(SYS_EXIT, reason);
#endif
    for (;;)
        ;
}
