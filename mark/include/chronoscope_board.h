/* The board form of the marks: each mark reads a clock and writes one record to a ring in memory,
 * which the program sends when it is idle. For firmware on a board, which nobody observes.
 *
 *   Every file:  -DCHRONO_MARK_BOARD     13 instructions a mark on a Cortex-M, 14 with an id
 *   One file:    #define CHRONO_MARK_IMPLEMENTATION
 *                #include <chronoscope_mark.h>
 *
 *   chrono_start_dwt(84000000)           Cortex-M: the cycle counter; 0 if the core has none
 *   chrono_start_counter(&TIM2->CNT, 84000000, 0xffffffff, 0)
 *                                        Cortex-M: any counter in memory: its rate in Hz, its
 *                                        largest value, and whether it counts down
 *   chrono_start_mcycle(16000000)        RISC-V in machine mode: mcycle
 *   chrono_drain(put)                    sends the records so far, byte by byte: from the idle
 *                                        hook or the main loop, and from there alone
 *   chrono_drain(chrono_put_rtt)         with -DCHRONO_MARK_RTT: to up-channel 0 of RTT, which the
 *                                        debugger reads from memory. The one control block of RTT
 *                                        in the program
 *
 * The ring has CHRONO_MARK_SLOTS records of 16 bytes, a power of two of at most 1024; 256 if nothing
 * is defined, and the same in every file. Records that are overwritten before they are sent are lost,
 * and the stream says how many.
 *
 * A mark masks interrupts while it writes (9 instructions), so it may stand in handlers, but not in a
 * handler of NMI or HardFault, and not in unprivileged code. One processor. Marks before
 * chrono_start_... count for nothing; on a Cortex-M such a mark reads address 0. The compiler moves no
 * access to memory across any mark, UNORDERED or not.
 *
 * chrono_drain must be called at least once in half a period of the clock: of 32 bits at 84 MHz, 25 s.
 *
 * chrono_name(id, "control") names the task that the numbers `task_runs` and `task_ready` mean: the
 * hooks of a kernel set those (chronoscope_freertos.h, _threadx.h, _zephyr.h). At most
 * CHRONO_MARK_NAMES tasks, 16 if nothing is defined, have names, of at most 16 letters.
 *
 * The channel of RTT has CHRONO_MARK_RTT_BYTES bytes, 1024 if nothing is defined, and chrono_room_rtt()
 * of them are free. chrono_put_rtt never waits: a byte that finds it full is left out, and its mark
 * counts as lost.
 */
#ifndef CHRONOSCOPE_BOARD_H
#define CHRONOSCOPE_BOARD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef CHRONO_MARK_RTT_BYTES
#define CHRONO_MARK_RTT_BYTES 1024
#endif

#ifdef CHRONO_MARK_OFF

static inline int chrono_start_dwt(uint32_t hertz) { return (void)hertz, 1; }
static inline void chrono_start_counter(volatile const void *counter, uint32_t hertz, uint32_t top,
                                        int is_down) {
    (void)counter, (void)hertz, (void)top, (void)is_down;
}
static inline void chrono_start_mcycle(uint32_t hertz) { (void)hertz; }
static inline void chrono_drain(void (*put)(uint8_t)) { (void)put; }
static inline void chrono_name(uint32_t id, const char *name) { (void)id, (void)name; }
static inline void chrono_put_rtt(uint8_t byte) { (void)byte; }
static inline uint32_t chrono_room_rtt(void) { return CHRONO_MARK_RTT_BYTES - 1; }

#else

#ifndef CHRONO_MARK_SLOTS
#define CHRONO_MARK_SLOTS 256
#endif
#if CHRONO_MARK_SLOTS < 2 || CHRONO_MARK_SLOTS > 1024 || (CHRONO_MARK_SLOTS & (CHRONO_MARK_SLOTS - 1))
#error "CHRONO_MARK_SLOTS is a power of two from 2 to 1024"
#endif

/* The instructions know the places of these fields. */
struct chrono_ring_ {
    volatile uint32_t head;  /* the number of records so far */
    volatile uint32_t clock; /* the address of the counter */
    uint32_t unused[2];
    volatile uint32_t slots[CHRONO_MARK_SLOTS][4]; /* place, clock, argument, nothing */
};
extern struct chrono_ring_ chrono_ring;

#if defined(__ARM_ARCH) && __ARM_ARCH >= 7 && defined(__thumb2__) && __ARM_ARCH_PROFILE == 'M'
/* The place is the program counter four bytes behind the mark. */
#define CHRONO_BOARD_BEHIND_ 4
#define CHRONO_BOARD_CODE_(store)                                                                  \
    "mov %[place], pc\n"                                                                           \
    "movw %[ring], #:lower16:chrono_ring\n"                                                        \
    "movt %[ring], #:upper16:chrono_ring\n"                                                        \
    "mrs %[mask], primask\n"                                                                       \
    "cpsid i\n"                                                                                    \
    "ldrd %[head], %[clock], [%[ring]]\n"                                                          \
    "ldr %[clock], [%[clock]]\n"                                                                   \
    "add %[head], %[head], #1\n"                                                                   \
    "str %[head], [%[ring]]\n"                                                                     \
    "ubfx %[head], %[head], #0, %[bits]\n"                                                         \
    "add %[ring], %[ring], %[head], lsl #4\n"                                                      \
    "strd %[place], %[clock], [%[ring], #16]\n" store "msr primask, %[mask]\n"
#define CHRONO_BOARD_STORE_ "str %[argument], [%[ring], #24]\n"
#elif defined(__riscv)
#define CHRONO_BOARD_BEHIND_ 0
#define CHRONO_BOARD_CODE_(store)                                                                  \
    "auipc %[place], 0\n"                                                                          \
    "la %[ring], chrono_ring\n"                                                                    \
    "csrrci %[mask], mstatus, 8\n"                                                                 \
    "lw %[head], 0(%[ring])\n"                                                                     \
    "csrr %[clock], mcycle\n"                                                                      \
    "addi %[head], %[head], 1\n"                                                                   \
    "sw %[head], 0(%[ring])\n"                                                                     \
    "andi %[head], %[head], (1 << %[bits]) - 1\n"                                                  \
    "slli %[head], %[head], 4\n"                                                                   \
    "add %[ring], %[ring], %[head]\n"                                                              \
    "sw %[place], 16(%[ring])\n"                                                                   \
    "sw %[clock], 20(%[ring])\n" store "andi %[mask], %[mask], 8\n"                                \
    "csrs mstatus, %[mask]\n"
#define CHRONO_BOARD_STORE_ "sw %[argument], 24(%[ring])\n"
#else
#error "CHRONO_MARK_BOARD is for Cortex-M3 and newer (not M0), and for RISC-V in machine mode"
#endif

/* A mark: the note, whose address is the first instruction's, and the record. */
#define CHRONO_BOARD_(name, form, store, more)                                                     \
    do {                                                                                           \
        unsigned long chrono_place_, chrono_at_, chrono_mask_, chrono_head_, chrono_clock_;        \
        __asm__ __volatile__(                                                                      \
            CHRONO_MARK_NOTE_(name, form) CHRONO_BOARD_CODE_(store)                                \
            : [place] "=&r"(chrono_place_), [ring] "=&r"(chrono_at_), [mask] "=&r"(chrono_mask_),  \
              [head] "=&r"(chrono_head_), [clock] "=&r"(chrono_clock_)                             \
            : [bits] "i"(__builtin_ctz(CHRONO_MARK_SLOTS)) more                                              \
            : "memory");                                                                           \
    } while (0)
#define CHRONO_BOARD_COMMA_ ,
#define CHRONO_MARK_(name) CHRONO_BOARD_(name, "", "", )
#define CHRONO_MARK_WITH_(name, value)                                                             \
    CHRONO_BOARD_(name, CHRONO_MARK_SIZE_ "@%[argument]", CHRONO_BOARD_STORE_,                     \
                  CHRONO_BOARD_COMMA_[argument] "r"((unsigned long)(value)))
#define CHRONO_MARK_UNORDERED_(name) CHRONO_MARK_(name)
#define CHRONO_MARK_WITH_UNORDERED_(name, value) CHRONO_MARK_WITH_(name, value)

void chrono_drain(void (*put)(uint8_t));
void chrono_name(uint32_t id, const char *name);
#ifdef CHRONO_MARK_RTT
/* The control block of RTT: a debugger finds it by its first 16 bytes, or by its name. */
struct chrono_rtt_ {
    volatile char id[16];
    int32_t ups, downs;
    const char *name;
    volatile uint8_t *buffer;
    uint32_t size;
    volatile uint32_t written; /* the place of the next byte, which the program writes */
    volatile uint32_t read;    /* the place of the next byte, which the debugger reads */
    uint32_t flags;            /* 0: what finds no room is left out */
};
extern struct chrono_rtt_ _SEGGER_RTT;
void chrono_put_rtt(uint8_t byte);
uint32_t chrono_room_rtt(void);
#endif
#ifdef __riscv
void chrono_start_mcycle(uint32_t hertz);
#else
int chrono_start_dwt(uint32_t hertz);
void chrono_start_counter(volatile const void *counter, uint32_t hertz, uint32_t top, int is_down);
#endif

#ifdef CHRONO_MARK_IMPLEMENTATION

struct chrono_ring_ chrono_ring __attribute__((aligned(16)));

static struct {
    uint32_t hertz, top, is_down;
    uint32_t tail;    /* the number of records that were sent or lost */
    uint32_t since;   /* the records since the last head of the stream */
    uint32_t stamped; /* the clock at that head */
} chrono_stream_;

#ifndef CHRONO_MARK_NAMES
#define CHRONO_MARK_NAMES 16
#endif
static struct {
    uint32_t words[CHRONO_MARK_NAMES][5]; /* an id, and 16 letters */
    uint32_t count, sent, repeated;
} chrono_names_;

/* A task that has another one's id takes its place. */
void chrono_name(uint32_t id, const char *name) {
    unsigned place = 0, letter;
    if (!name)
        name = "";
    while (place < chrono_names_.count && chrono_names_.words[place][0] != id)
        place++;
    if (place == CHRONO_MARK_NAMES)
        return;
    for (letter = 0; letter < 4; letter++)
        chrono_names_.words[place][1 + letter] = 0;
    for (letter = 0; letter < 16 && name[letter]; letter++)
        chrono_names_.words[place][1 + letter / 4] |= (uint32_t)(uint8_t)name[letter] << (8 * (letter % 4));
    chrono_names_.words[place][0] = id;
    if (place == chrono_names_.count)
        chrono_names_.count++;
    if (place < chrono_names_.sent)
        chrono_names_.sent = place;
}

static uint32_t chrono_now_(void) {
#ifdef __riscv
    unsigned long now;
    __asm__ __volatile__("csrr %0, mcycle" : "=r"(now));
    return (uint32_t)now;
#else
    return *(volatile const uint32_t *)chrono_ring.clock;
#endif
}

/* Sends the words behind a letter, with a CRC-16 (CCITT), as a frame of COBS. */
static void chrono_send_(uint8_t letter, const uint32_t *words, unsigned count,
                         void (*put)(uint8_t)) {
    uint8_t frame[1 + 4 * 5 + 2];
    unsigned length = 0, start = 0, place, bit;
    uint32_t crc = 0xffff;
    frame[length++] = letter;
    for (place = 0; place < 4 * count; place++)
        frame[length++] = (uint8_t)(words[place / 4] >> (8 * (place % 4)));
    for (place = 0; place < length; place++) {
        crc ^= (uint32_t)frame[place] << 8;
        for (bit = 0; bit < 8; bit++)
            crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
    }
    frame[length++] = (uint8_t)crc;
    frame[length++] = (uint8_t)(crc >> 8);
    for (place = 0; place <= length; place++) {
        if (place < length && frame[place])
            continue;
        put((uint8_t)(place - start + 1));
        while (start < place)
            put(frame[start++]);
        start = place + 1;
    }
    put(0);
}

/* Sends the head of the stream: version and direction, rate, largest value, records, clock. */
static void chrono_send_head_(uint32_t now, void (*put)(uint8_t)) {
    const uint32_t words[5] = {1 | chrono_stream_.is_down << 8, chrono_stream_.hertz,
                               chrono_stream_.top, chrono_stream_.tail, now};
    chrono_stream_.since = 0;
    chrono_stream_.stamped = now;
    chrono_send_('H', words, 5, put);
    /* Who listens since then hears each name within as many heads. */
    if (chrono_names_.repeated < chrono_names_.sent)
        chrono_send_('N', chrono_names_.words[chrono_names_.repeated++], 5, put);
    else
        chrono_names_.repeated = 0;
}

/* Sends the records so far, at most as many as the ring has. Not from two places at once. */
void chrono_drain(void (*put)(uint8_t)) {
    uint32_t now, from, to, passed, turn;
    if (chrono_stream_.hertz == 0)
        return;
    now = chrono_now_();
    from = chrono_stream_.is_down ? now : chrono_stream_.stamped;
    to = chrono_stream_.is_down ? chrono_stream_.stamped : now;
    /* The period of a counter of 32 bits is 0. */
    passed = to - from + (to < from ? chrono_stream_.top + 1 : 0);
    if (chrono_stream_.since > 63 || passed > chrono_stream_.top / 8)
        chrono_send_head_(now, put);
    while (chrono_names_.sent < chrono_names_.count)
        chrono_send_('N', chrono_names_.words[chrono_names_.sent++], 5, put);
    for (turn = 0; turn < CHRONO_MARK_SLOTS; turn++) {
        const uint32_t head = chrono_ring.head, position = chrono_stream_.tail;
        const volatile uint32_t *slot = chrono_ring.slots[(position + 1) % CHRONO_MARK_SLOTS];
        const uint32_t words[4] = {position, slot[0] - CHRONO_BOARD_BEHIND_, slot[1], slot[2]};
        if (head == position)
            return;
        /* A handler may have overwritten the record while it was read. */
        if (chrono_ring.head - position > CHRONO_MARK_SLOTS) {
            chrono_stream_.tail = chrono_ring.head - CHRONO_MARK_SLOTS;
            continue;
        }
        chrono_stream_.tail = position + 1;
        chrono_stream_.since++;
        chrono_send_('M', words, 4, put);
    }
}

#ifdef CHRONO_MARK_RTT
static volatile uint8_t chrono_rtt_bytes_[CHRONO_MARK_RTT_BYTES];

struct chrono_rtt_ _SEGGER_RTT;

/* The name comes last: a debugger that finds it finds all of the block. */
static void chrono_start_rtt_(void) {
    static const char id[16] = "SEGGER RTT";
    unsigned place;
    _SEGGER_RTT.ups = 1;
    _SEGGER_RTT.name = "chronoscope";
    _SEGGER_RTT.buffer = chrono_rtt_bytes_;
    _SEGGER_RTT.size = CHRONO_MARK_RTT_BYTES;
    for (place = 16; place > 0; place--)
        _SEGGER_RTT.id[place - 1] = id[place - 1];
}

uint32_t chrono_room_rtt(void) {
    const uint32_t read = _SEGGER_RTT.read, written = _SEGGER_RTT.written;
    return read - written - 1 + (read > written ? 0 : CHRONO_MARK_RTT_BYTES);
}

void chrono_put_rtt(uint8_t byte) {
    const uint32_t place = _SEGGER_RTT.written;
    const uint32_t next = place + 1 < CHRONO_MARK_RTT_BYTES ? place + 1 : 0;
    if (chrono_room_rtt() == 0)
        return;
    chrono_rtt_bytes_[place] = byte;
    /* The debugger sees the byte before its count. */
    __asm__ __volatile__("" : : : "memory");
    _SEGGER_RTT.written = next;
}
#endif

/* Begins the stream, with the cost of a mark: begins and ends with nothing between. */
static void chrono_start_(uint32_t hertz, uint32_t top, int is_down) {
    unsigned round;
#ifdef CHRONO_MARK_RTT
    chrono_start_rtt_();
#endif
    chrono_stream_.hertz = hertz;
    chrono_stream_.top = top;
    chrono_stream_.is_down = is_down != 0;
    chrono_stream_.tail = chrono_ring.head;
    chrono_stream_.since = 64;
    for (round = 0; round < 8 && round < CHRONO_MARK_SLOTS / 4; round++) {
        CHRONO_MARK_("mark_to_mark__begin");
        CHRONO_MARK_("mark_to_mark__end");
    }
}

#ifdef __riscv
void chrono_start_mcycle(uint32_t hertz) { chrono_start_(hertz, 0xffffffff, 0); }
#else
void chrono_start_counter(volatile const void *counter, uint32_t hertz, uint32_t top, int is_down) {
    chrono_ring.clock = (uint32_t)counter;
    chrono_start_(hertz, top, is_down);
}

int chrono_start_dwt(uint32_t hertz) {
    volatile uint32_t *const debug = (volatile uint32_t *)0xe000edfc;
    volatile uint32_t *const dwt = (volatile uint32_t *)0xe0001000;
    uint32_t first;
    unsigned turn;
    *debug |= 1u << 24;
    dwt[0xfb0 / 4] = 0xc5acce55; /* Cortex-M7: unlocked */
    dwt[0] |= 1;
    first = dwt[1];
    for (turn = 0; turn < 8 && dwt[1] == first; turn++) {
    }
    if (dwt[1] == first)
        return 0;
    chrono_start_counter(&dwt[1], hertz, 0xffffffff, 0);
    return 1;
}
#endif

#endif
#endif

#ifdef __cplusplus
}
#endif

#endif
