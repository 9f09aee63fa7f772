//! `chronoscope watch --stream`: emulated boards send their marks, and each interval is the one
//! that the observer counts in the same image, to the instruction.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use super::watch::{AT_FLASH, AT_MEMORY, CORTEX_M4, RV32, compiled, lengths, marks};
use crate::common::{Answer, Folder, chronoscope, run};

const BOARD: &str = "-DCHRONO_MARK_BOARD";

/// The example for a board, with more options of the compiler.
fn example(folder: &Folder, more: &[&str]) -> String {
    let example = format!("{}/examples/firmware", marks());
    let (source, script) = (format!("{example}/board.c"), format!("{example}/link.ld"));
    compiled(folder, CORTEX_M4, &source, &script, more)
}

/// An emulator whose serial line goes to a place of QEMU's.
fn emulator(machine: &str, image: &str, line: &str) -> Command {
    let (program, machine) = match machine {
        "virt" => ("qemu-system-riscv32", "virt"),
        machine => ("qemu-system-arm", machine),
    };
    let mut qemu = Command::new(program);
    qemu.args(["-M", machine, "-display", "none", "-monitor", "none", "-semihosting"]);
    qemu.args(["-icount", "shift=0,sleep=off,align=off", "-serial", line]);
    qemu.args(if machine == "virt" { ["-bios", image] } else { ["-kernel", image] });
    qemu
}

/// The bytes that a board sends, in a file.
pub fn sent(folder: &Folder, machine: &str, image: &str) -> String {
    let stream = folder.path("stream");
    let line = format!("file:{stream}");
    run(emulator(machine, image, &line).stdin(Stdio::null())).exits(0);
    stream
}

fn watch(image: &str, stream: &str, more: &[&str]) -> Answer {
    let watch = ["watch", image, "--stream", stream, "-q", "--no-store"];
    chronoscope(&[&watch[..], more].concat())
}

/// The series of a stream's, and of the same image under the observer, where each instruction takes
/// a nanosecond, are the same.
#[track_caller]
fn agree(folder: &Folder, machine: &str, image: &str, names: &[&str]) -> String {
    let stream = sent(folder, machine, image);
    for name in names {
        let own = lengths(&["watch", image, "--stream", &stream], name);
        assert!(own.len() >= 10, "{own:?}");
        assert_eq!(own, lengths(&["watch", image, "--machine", machine], name), "{name}");
    }
    stream
}

#[test]
fn a_board_sends_the_intervals_that_the_observer_counts() {
    let folder = Folder::new("board-example");
    let image = example(&folder, &[BOARD]);
    let stream = agree(&folder, "netduinoplus2", &image, &["control", "state"]);
    // A mark in a handler, while others are written: none is lost.
    assert_eq!(lengths(&["watch", &image, "--stream", &stream], "sample").len(), 99);
    assert_eq!(lengths(&["watch", &image, "--stream", &stream], "mark to mark"), [13; 8]);
    watch(&image, &stream, &["--limit", "control <= 110ns"])
        .exits(2)
        .shows("10 of 100 rounds of control took over 110 ns");
}

/// Round N has N turns, on a processor without a counter in memory.
const TURNS: &str = "
    #define CHRONO_MARK_IMPLEMENTATION
    #include <chronoscope_mark.h>
    static volatile unsigned turns;
    static void put(uint8_t byte) { *(volatile uint8_t *)0x10000000 = byte; }
    __asm__(\".section .text.first, \\\"ax\\\"\\nli sp, 0x80100000\\nj start\\n.text\");
    void start(void) {
        chrono_start_mcycle(1000000000);
        for (unsigned long round = 0; round < 50; round++) {
            CHRONO_BEGIN_ID(turns, round);
            for (unsigned long turn = 0; turn < round; turn++) turns++;
            CHRONO_END_ID(turns, round);
            chrono_drain(put);
        }
        *(volatile unsigned *)0x100000 = 0x5555;
        for (;;) {}
    }
";

#[test]
fn a_risc_v_board_sends_what_the_observer_counts() {
    let folder = Folder::new("board-risc-v");
    let source = folder.file("turns.c", TURNS);
    let script = AT_MEMORY.replace("*(.text*)", "*(.text.first) *(.text*)");
    let script = folder.file("link.ld", script);
    let family = [RV32[0], "-march=rv32imc_zicsr", RV32[2], RV32[3]];
    let image = compiled(&folder, &family, &source, &script, &[BOARD, "-ffreestanding"]);
    agree(&folder, "virt", &image, &["turns"]);
}

/// A clock that counts down, whose period is no power of two: within `work` it begins anew six times,
/// and nothing but the stream's heads says so.
const OTHER_PERIOD: &str = "
    #define CHRONO_MARK_IMPLEMENTATION
    #include <chronoscope_mark.h>
    #define REGISTER(address) (*(volatile uint32_t *)(address))
    static void put(uint8_t byte) { REGISTER(0x40011004) = byte; }
    static void __attribute__((noinline)) turns(void) {
        for (volatile uint32_t turn = 0; turn < 20000; turn++) {}
    }
    void start(void) {
        register uint32_t call __asm__(\"r0\"), reason __asm__(\"r1\");
        REGISTER(0x4001100C) = 1u << 13 | 1u << 3;
        REGISTER(0xE000E014) = 65536;
        REGISTER(0xE000E018) = 0;
        REGISTER(0xE000E010) = 5;
        chrono_start_counter(&REGISTER(0xE000E018), 168000000, 65536, 1);
        CHRONO_BEGIN(once);
        turns();
        CHRONO_END(once);
        chrono_drain(put);
        CHRONO_BEGIN(work);
        for (uint32_t drain = 0; drain < 20; drain++) {
            turns();
            chrono_drain(put);
        }
        CHRONO_END(work);
        chrono_drain(put);
        call = 0x18, reason = 0x20026;
        __asm__ volatile(\"bkpt 0xab\" : : \"r\"(call), \"r\"(reason) : \"memory\");
        for (;;) {}
    }
    extern uint32_t stack_top[];
    static void (*const vectors[2])(void) __attribute__((section(\".vectors\"), used)) = {
        (void (*)(void))stack_top, start,
    };
";

#[test]
fn a_clock_of_any_period_loses_no_time_between_two_marks() {
    let folder = Folder::new("board-period");
    let source = folder.file("period.c", OTHER_PERIOD);
    let script = format!("{}/examples/firmware/link.ld", marks());
    let image = compiled(&folder, CORTEX_M4, &source, &script, &[BOARD, "-ffreestanding"]);
    let stream = sent(&folder, "netduinoplus2", &image);
    let [once, work] =
        ["once", "work"].map(|name| lengths(&["watch", &image, "--stream", &stream], name)[0]);
    assert!((20 * once..21 * once).contains(&work), "{once} {work}");
}

/// Marks one behind the other, whose distance is the length of one.
const IN_A_ROW: &str = "
    #define CHRONO_MARK_IMPLEMENTATION
    #include <chronoscope_mark.h>
    void start(unsigned long id) {
        CHRONO_INSTANT(one);
        CHRONO_INSTANT(two);
        CHRONO_VALUE(three, id);
        CHRONO_INSTANT(four);
    }
    int main(void) { chrono_start_dwt(1); chrono_drain(0); return 0; }
";

#[test]
fn a_mark_is_at_most_14_instructions_and_off_nothing() {
    let folder = Folder::new("board-length");
    let (source, script) = (folder.file("row.c", IN_A_ROW), folder.file("link.ld", AT_FLASH));
    for level in ["-O2", "-Os", "-O1"] {
        let image = compiled(&folder, CORTEX_M4, &source, &script, &[BOARD, level]);
        let mut objdump = Command::new("llvm-objdump");
        let listing = run(objdump.args(["-d", "--mcpu=cortex-m4", "--no-show-raw-insn", &image]))
            .exits(0)
            .stdout
            .clone();
        // The first instruction of each mark of `start`, and no other, reads the program counter.
        let start = listing.split("<start>:").nth(1).unwrap().split("\n\n").next().unwrap();
        let is_first = |line: &str| line.contains("mov") && line.trim_end().ends_with("pc");
        let instructions: Vec<&str> = start.lines().filter(|line| !line.is_empty()).collect();
        let firsts: Vec<usize> =
            (0..instructions.len()).filter(|place| is_first(instructions[*place])).collect();
        let lengths: Vec<usize> = firsts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(lengths, [13, 13, 14], "{start}");
    }
    let off = compiled(&folder, CORTEX_M4, &source, &script, &[BOARD, "-DCHRONO_MARK_OFF"]);
    let symbols = run(Command::new("llvm-nm").arg(&off)).exits(0).stdout.clone();
    assert!(!symbols.contains("chrono"), "{symbols}");
    let notes = run(Command::new("readelf").args(["-n", "-W", &off])).exits(0).stdout.clone();
    assert!(!notes.contains("chronoscope"), "{notes}");
    // As C++, too.
    let mut compiler = Command::new("arm-none-eabi-g++");
    let include = format!("-I{}/include", marks());
    compiler.args(["-mcpu=cortex-m4", "-mthumb", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
    run(compiler.args([&include, BOARD, "-x", "c++", &source])).exits(0);
}

/// Two kernels, as far as the headers of hooks use them: their sources are the user's.
const THREADX: &str = "
    #include <chronoscope_threadx.h>
    typedef struct TX_THREAD_STRUCT { char *tx_thread_name; } TX_THREAD;
    enum { TX_READY, TX_SLEEP };
    extern TX_THREAD *_tx_thread_current_ptr;
    #ifndef TX_THREAD_STATE_CHANGE
    #define TX_THREAD_STATE_CHANGE(thread, state)
    #define TX_THREAD_CREATE_INTERNAL_EXTENSION(thread) (void)(thread);
    #endif
    void create(TX_THREAD *thread);
    void create(TX_THREAD *thread) {
        TX_THREAD_CREATE_INTERNAL_EXTENSION(thread)
        TX_THREAD_STATE_CHANGE(thread, TX_READY)
    }
";
const ZEPHYR: &str = "
    #include <stdint.h>
    struct k_thread;
    typedef struct k_thread *k_tid_t;
    const char *k_thread_name_get(k_tid_t thread);
    extern k_tid_t _current;
";

/// Their figures were tried by hand with ThreadX' own sources.
#[test]
fn hooks_of_threadx_and_zephyr_compile_and_are_nothing_without_a_board() {
    let folder = Folder::new("hooks");
    fs::create_dir_all(folder.path("zephyr")).unwrap();
    folder.file("zephyr/kernel.h", ZEPHYR);
    let object = folder.path("object.o");
    let compile = |source: &str, more: &[&str]| {
        let mut gcc = Command::new("arm-none-eabi-gcc");
        gcc.args(["-mcpu=cortex-m4", "-mthumb", "-std=gnu99", "-Wall", "-Wextra", "-Werror"]);
        gcc.args([format!("-I{}/include", marks()), format!("-I{}", folder.path(""))]);
        run(gcc.args(["-c", source, "-o", &object]).args(more)).exits(0);
        run(Command::new("llvm-nm").arg(&object)).exits(0).stdout.clone()
    };
    for program in [THREADX, "#include <chronoscope_zephyr.h>"] {
        let text = format!("#define CHRONO_MARK_IMPLEMENTATION\n{program}\n");
        let source = folder.file("program.c", text);
        assert!(compile(&source, &[BOARD]).contains(" T chrono_drain"), "{program}");
        for nothing in [&[][..], &[BOARD, "-DCHRONO_MARK_OFF"]] {
            assert!(!compile(&source, nothing).contains("chrono"), "{program}");
        }
    }
    // The kernel's assembly reads it, too.
    compile(&folder.file("tx.S", "#include <chronoscope_threadx.h>\n"), &[BOARD]);
}

/// Ten calls of a function of seven instructions with the call, and of marks with ids.
const RUST: &str = "
    #![no_std]
    #![no_main]
    use chronoscope_mark::{begin, board::Board, end, value};
    core::arch::global_asm!(
        \".pushsection .vectors, \\\"a\\\"\", \".word 0x20010000\", \".word start\", \".popsection\"
    );
    const TIMER: *mut u32 = 0x4000_0000 as *mut u32;
    const SERIAL: *mut u32 = 0x4001_1000 as *mut u32;
    #[unsafe(no_mangle)]
    extern \"C\" fn start() -> ! {
        if Board::start_dwt(1).is_none() {
            let board = unsafe {
                TIMER.write_volatile(1);
                SERIAL.add(3).write_volatile(0x2008);
                Board::start_counter(TIMER.add(9), 1_000_000_000, u32::MAX, false)
            };
            let again = unsafe { Board::start_counter(TIMER.add(9), 1, u32::MAX, false) };
            if let (Some(mut board), None) = (board, again) {
                rounds(&mut board);
            }
        }
        unsafe { core::arch::asm!(\"bkpt 0xab\", in(\"r0\") 0x18, in(\"r1\") 0x20026, options(noreturn)) }
    }
    fn rounds(board: &mut Board) {
        board.name(7, \"worker\");
        for round in 0..core::hint::black_box(10) {
            begin!(nops);
            nops();
            end!(nops);
            begin!(unordered request, round);
            end!(unordered request, round);
            value!(round, round);
            value!(task_runs, 7);
            nops();
            value!(task_runs, 0);
            board.drain(&mut |byte| unsafe { SERIAL.add(1).write_volatile(byte.into()) });
        }
    }
    #[inline(never)]
    fn nops() {
        unsafe { core::arch::asm!(\"nop\", \"nop\", \"nop\") };
    }
    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }
";

#[test]
fn the_crate_s_board_sends_what_the_observer_counts() {
    let folder = Folder::new("board-crate");
    fs::create_dir_all(folder.path("src")).unwrap();
    folder.file("src/main.rs", RUST);
    let manifest = super::watch::MANIFEST;
    let mark = format!(
        "\"{}\", features = [\"board\"] }}\n[features]\noff = [\"chronoscope-mark/off\"]\n\
         rtt = [\"chronoscope-mark/rtt\"]\n",
        marks()
    );
    folder.file("Cargo.toml", format!("{manifest}{mark}"));
    let script = folder.file(
        "link.ld",
        AT_FLASH.replace("/DISCARD/", ". = 0x20000000; .bss (NOLOAD) : { *(.bss*) } /DISCARD/"),
    );
    let built = folder.path("target");
    let build = |more: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--release", "--offline"]).args(more);
        cargo.args(["--target", "thumbv7em-none-eabihf"]).env("CARGO_TARGET_DIR", &built);
        cargo.env("RUSTFLAGS", format!("-C link-arg=-T{script}"));
        run(cargo.current_dir(folder.path(""))).exits(0);
        format!("{built}/thumbv7em-none-eabihf/release/nops")
    };
    let image = build(&[]);
    let stream = agree(&folder, "netduinoplus2", &image, &["nops", "request", "round"]);
    // Seven instructions, as marks without one count in `the_crate_s_marks_are_watched`, and the 13
    // of a mark; with an id the mark is one longer.
    assert_eq!(lengths(&["watch", &image, "--stream", &stream], "nops"), [20; 10]);
    assert_eq!(lengths(&["watch", &image, "--stream", &stream], "request"), [14; 10]);
    // As above, and the instruction that puts the number into a register.
    let named = "worker, on the processor";
    assert_eq!(lengths(&["watch", &image, "--stream", &stream], named), [22; 10]);
    let off = build(&["--features", "off"]);
    let symbols = run(Command::new("llvm-nm").arg(&off)).exits(0).stdout.clone();
    assert!(!symbols.contains("chrono_ring"), "{symbols}");

    // The same by RTT, whose ring is shorter than the stream: the program waits for room.
    let put = "{ while rtt::room() == 0 {} rtt::put(byte) }";
    let by_rtt = RUST
        .replace("use chronoscope_mark::{", "use chronoscope_mark::{rtt, ")
        .replace("unsafe { SERIAL.add(1).write_volatile(byte.into()) }", put)
        .replace(
            "    #[inline(never)]",
            "    fn wait() { while rtt::room() < 1023 {} }\n    #[inline(never)]",
        )
        .replace("rounds(&mut board);", "rounds(&mut board); wait();");
    folder.file("src/main.rs", by_rtt);
    let image = build(&["--features", "rtt"]);
    let stream = sent_by_rtt(&folder, &image);
    assert_eq!(lengths(&["watch", &image, "--stream", &stream], "nops"), [20; 10]);
    assert_eq!(lengths(&["watch", &image, "--stream", &stream], "request"), [14; 10]);
}

#[test]
fn lost_marks_and_garbage_are_counted_and_nothing_is_invented() {
    let folder = Folder::new("board-lost");
    // Four marks a round, eight rounds between two drains, and room for 16 marks.
    let image = example(&folder, &[BOARD, "-DCHRONO_MARK_SLOTS=16", "-DBETWEEN_DRAINS=8"]);
    let stream = sent(&folder, "netduinoplus2", &image);
    watch(&image, &stream, &["--full"]).exits(4).shows("inconclusive: lost marks: ");

    let image = example(&folder, &[BOARD]);
    let whole = fs::read(sent(&folder, "netduinoplus2", &image)).unwrap();
    let own = lengths(&["watch", &image, "--stream", &folder.path("stream")], "control");
    // Before the first byte, in the middle of one mark, and at the end.
    let (middle, end) = (whole.len() / 2, whole.len() - 30);
    let late = [b"U-Boot\r\n".as_slice(), &whole].concat();
    let late = folder.file("late", late);
    assert_eq!(lengths(&["watch", &image, "--stream", &late], "control"), own);
    watch(&image, &late, &["--full"]).exits(0).shows("8 bytes of the stream are of no mark");
    let cut = folder.file("cut", &whole[..end]);
    watch(&image, &cut, &["--full"]).exits(0).shows("bytes of the stream are of no mark");
    let broken = [&whole[..middle], b"\xff", &whole[middle..]].concat();
    let broken = folder.file("broken", broken);
    watch(&image, &broken, &["--full"]).exits(4).shows("inconclusive: lost marks: 1, not 0");

    let other = example(&folder, &[BOARD, "-DROUNDS=99", "-Os"]);
    watch(&other, &folder.path("stream"), &["--full"]).exits(4).shows("another");
    let text = folder.file("text", "no marks at all\0");
    watch(&image, &text, &["--full"]).exits(4).shows("no mark is in its 16 bytes");
    watch(&image, "nowhere", &[]).complains("`nowhere` is no stream of marks: name a file");
    watch(&image, "/dev/nowhere", &[]).exits(4).shows("/dev/nowhere is not there");
    let plain = super::watch::example(&folder);
    watch(&plain, &text, &["-D", "0"]).exits(1);
}

/// Ends the emulator when the test does.
struct Emulator(Child);

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_board_behind_a_server_is_watched_while_it_runs() {
    let folder = Folder::new("board-live");
    let image = example(&folder, &[BOARD]);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let line = format!("tcp:{free},server=on,wait=on");
    let mut qemu = emulator("netduinoplus2", &image, &line);
    let board = Emulator(qemu.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    thread::sleep(Duration::from_millis(500));
    let live = lengths(&["watch", &image, "--stream", &format!("tcp://{free}")], "control");
    drop(board);
    assert_eq!(live, lengths(&["watch", &image, "--machine", "netduinoplus2"], "control"));
}

/// A debugger's connection to an emulator's processor.
struct Debugger(BufReader<TcpStream>);

impl Debugger {
    /// Connects as soon as the emulator listens.
    fn new(port: u16) -> Self {
        let connect = || TcpStream::connect(("127.0.0.1", port)).ok();
        let stream = (0..100).find_map(|_| {
            thread::sleep(Duration::from_millis(50));
            connect()
        });
        let stream = stream.expect("the emulator listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    /// Sends a packet, and returns its answer; `None` once the emulator has ended.
    fn ask(&mut self, text: &str) -> Option<String> {
        let sum = text.bytes().fold(0_u8, u8::wrapping_add);
        self.0.get_mut().write_all(format!("${text}#{sum:02x}").as_bytes()).ok()?;
        self.answer()
    }

    fn answer(&mut self) -> Option<String> {
        let mut packet = Vec::new();
        self.0.read_until(b'$', &mut packet).ok()?;
        packet.clear();
        self.0.read_until(b'#', &mut packet).ok().filter(|length| *length > 0)?;
        let mut sum = [0; 2];
        self.0.read_exact(&mut sum).ok()?;
        self.0.get_mut().write_all(b"+").ok()?;
        packet.pop();
        String::from_utf8(packet).ok()
    }

    /// Lets the processor run for a moment, and halts it.
    fn run(&mut self) -> Option<()> {
        self.0.get_mut().write_all(b"$c#63").ok()?;
        thread::sleep(Duration::from_millis(10));
        self.0.get_mut().write_all(&[3]).ok()?;
        self.answer().filter(|stop| stop.starts_with(['S', 'T'])).map(|_| ())
    }

    fn read(&mut self, address: u32, length: u32) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        // An answer has at most 2048 bytes.
        for first in (0..length).step_by(1024) {
            let count = 1024.min(length - first);
            let digits = self.ask(&format!("m{:x},{count:x}", address + first))?;
            assert_eq!(digits.len(), 2 * count as usize, "{digits}");
            let byte = |place: usize| u8::from_str_radix(&digits[place..place + 2], 16).unwrap();
            bytes.extend((0..count as usize).map(|place| byte(2 * place)));
        }
        Some(bytes)
    }
}

/// Reads up-channel 0 of RTT from a running emulator's memory, as OpenOCD does from a board's, until
/// the program ends.
fn read_by_rtt(image: &str, port: u16) -> Vec<u8> {
    let symbols = run(Command::new("llvm-nm").arg(image)).exits(0).stdout.clone();
    let line =
        symbols.lines().find(|line| line.ends_with(" _SEGGER_RTT")).expect("a control block");
    let block = u32::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
    let mut debugger = Debugger::new(port);
    let mut sent = Vec::new();
    while debugger.run().is_some() {
        let Some(id) = debugger.read(block, 16) else { break };
        if !id.starts_with(b"SEGGER RTT\0") {
            continue;
        }
        let Some(words) = debugger.read(block + 24, 24) else { break };
        let [_, buffer, size, written, read, _] = [0, 4, 8, 12, 16, 20]
            .map(|at| u32::from_le_bytes(words[at..at + 4].try_into().unwrap()));
        let parts = if read <= written { [read..written, 0..0] } else { [read..size, 0..written] };
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            sent.extend(debugger.read(buffer + part.start, part.end - part.start).unwrap());
        }
        let digits: String =
            written.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(debugger.ask(&format!("M{:x},4:{digits}", block + 40)).as_deref(), Some("OK"));
    }
    sent
}

/// The stream of an image that sends by RTT, from the memory of an emulator by its debugger's port.
fn sent_by_rtt(folder: &Folder, image: &str) -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut qemu = emulator("netduinoplus2", image, "null");
    qemu.args(["-S", "-gdb", &format!("tcp:127.0.0.1:{port}")]);
    qemu.args(["-semihosting-config", "enable=on,target=native"]);
    let board = Emulator(qemu.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let sent = read_by_rtt(image, port);
    drop(board);
    folder.file("rtt", sent)
}

#[test]
fn a_board_sends_by_rtt_too() {
    let folder = Folder::new("board-rtt");
    // An emulator that runs for a moment runs the whole program: the channel has room for all of it.
    let roomy = [BOARD, "-DCHRONO_MARK_RTT", "-DCHRONO_MARK_RTT_BYTES=16384"];
    let image = example(&folder, &roomy);
    let stream = sent_by_rtt(&folder, &image);
    let own = lengths(&["watch", &image, "--stream", &stream], "control");
    assert_eq!(own.len(), 100);
    assert_eq!(own, lengths(&["watch", &image, "--machine", "netduinoplus2"], "control"));
    // What finds no room is lost, and counted once a later mark comes through.
    let image = example(&folder, &[BOARD, "-DCHRONO_MARK_RTT", "-DROUNDS=20000"]);
    let stream = sent_by_rtt(&folder, &image);
    watch(&image, &stream, &["--full"]).exits(4).shows("inconclusive: lost marks: ");
}

/// A benchmark of a function of three instructions, and of one whose length follows from its
/// argument.
const BENCH: &str = "
    #![no_std]
    #![no_main]
    use core::hint::black_box;
    use chronoscope_mark::{bench, end_of_bench};
    core::arch::global_asm!(
        \".pushsection .vectors, \\\"a\\\"\", \".word 0x20010000\", \".word start\", \".popsection\"
    );
    #[unsafe(no_mangle)]
    extern \"C\" fn start() -> ! {
        bench!(nops, || unsafe { core::arch::asm!(\"nop\", \"nop\", \"nop\") });
        bench!(sum, 20, || (0..black_box(100_u32)).fold(0, |sum, one| sum ^ black_box(one)));
        end_of_bench()
    }
    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }
";

#[test]
fn a_benchmark_runs_by_cargo_s_own_command() {
    let folder = Folder::new("board-bench");
    for inner in ["src", ".cargo"] {
        fs::create_dir_all(folder.path(inner)).unwrap();
    }
    folder.file("src/main.rs", BENCH);
    folder.file("Cargo.toml", format!("{}\"{}\" }}\n", super::watch::MANIFEST, marks()));
    let script = folder.file("link.ld", AT_FLASH);
    let program = crate::common::program_path();
    let runner = [
        &*program.to_string_lossy(),
        "watch",
        "--machine",
        "netduinoplus2",
        "-q",
        "--no-store",
        "--format",
        "json",
    ];
    folder.file(
        ".cargo/config.toml",
        format!("[target.thumbv7em-none-eabihf]\nrunner = {runner:?}\nrustflags = [\"-Clink-arg=-T{script}\"]\n"),
    );
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--release", "--offline", "--target", "thumbv7em-none-eabihf"]);
    cargo.env("CARGO_TARGET_DIR", folder.path("target")).env_remove("RUSTFLAGS");
    cargo.env("XDG_DATA_HOME", folder.path("data"));
    let run = run(cargo.current_dir(folder.path(""))).exits(0).json();
    let lengths = |name: &str| {
        let mut all = run["cases"][0]["series"].as_array().unwrap().iter();
        let series = all.find(|series| series["name"] == name).unwrap();
        let samples = series["samples"].as_array().unwrap().iter();
        samples.map(|sample| sample[1].as_f64().unwrap() as u64).collect::<Vec<_>>()
    };
    let control = lengths("bench_control");
    assert!(control.len() == 30 && control.iter().all(|one| *one == control[0]), "{control:?}");
    assert_eq!(lengths("nops"), vec![control[0] + 3; 10]);
    let sum = lengths("sum");
    assert!(sum.len() == 20 && sum.iter().all(|one| *one == sum[0] && *one > 300), "{sum:?}");
}
