//! Checks of the kernel's promises. Each is a scene with hostile processes; it prints `ok NAME`, or
//! ends the program.

use core::{arch::asm, mem::MaybeUninit};

use tandem_user::{self as user, Channel, Endpoint, FAULTED, Family, KILLED, Refused, Semaphore};

use crate::{
    coroutines, limits, lines,
    output::line,
    races,
    scene::{outcome, start, start_server},
};

/// Runs the scene `only`, or all but `generations`.
pub fn run(_arena: &'static mut [MaybeUninit<u8>], only: &str) {
    let scenes: &[(&str, fn())] = &[
        ("faults", faults),
        ("registers", registers),
        ("memory", memory),
        ("handles", handles),
        ("pointers", pointers),
        ("loops", loops),
        ("limits", limits),
        ("servers", servers),
        ("waits", waits),
        ("families", races::families),
        ("channels", races::channels),
        ("last", races::last),
        ("late", races::late),
        ("inheritance", races::inheritance),
        ("forgotten", races::forgotten),
        ("mutexes", races::mutexes),
        ("latency", races::latency),
        ("storm", races::storm),
        ("records", races::records),
        ("coroutines", coroutines::coroutines),
        ("spaces", coroutines::spaces),
        ("published", coroutines::published),
        ("unawaited", coroutines::unawaited),
        ("pages", coroutines::pages),
        ("unreaped", races::unreaped),
        ("successor", races::successor),
        ("lowered", races::lowered),
        ("lines", lines::lines),
        ("rights", limits::rights),
        ("waiting", limits::waiting),
        ("quota", races::quota),
        (LONG, races::generations),
    ];
    let is_wanted = |name: &str| if only == "all" { name != LONG } else { name == only };
    assert!(scenes.iter().any(|(name, _)| is_wanted(name)), "there is no scene {only}");
    for (name, scene) in scenes.iter().filter(|(name, _)| is_wanted(name)) {
        scene();
        line(format_args!("ok {name}"));
    }
}

/// The scene that takes 20 seconds; the others take less than one together.
const LONG: &str = "generations";

/// Each of these instructions ends the process that executes it.
fn faults() {
    let all: [(&str, fn()); 9] = [
        ("load-kernel", || load(0x8000_2000)),
        ("load-nothing", || load(0)),
        ("load-high", || load(usize::MAX - 7)),
        ("store-text", || store(0x4000_0000)),
        ("store-kernel", || store(0x8010_0000)),
        ("store-device", || store(0x1000_0000)),
        // SAFETY: the process ends by it.
        ("float", || unsafe { asm!(".insn i 0x07, 3, x0, x2, 0") }),
        // SAFETY: as above.
        ("vector", || unsafe { asm!(".word 0x0d0572d7") }),
        // SAFETY: as above.
        ("sret", || unsafe { asm!("sret") }),
    ];
    for (name, body) in all {
        assert_eq!(outcome(Family::Apart, name, body), FAULTED, "{name}");
    }
    let execute = || {
        let code = [0x8082_u16; 2];
        // SAFETY: the process ends by it.
        unsafe { asm!("jr {}", in(reg) code.as_ptr()) };
    };
    assert_eq!(outcome(Family::Apart, "execute-stack", execute), FAULTED);
    // SAFETY: as above.
    let csr = || unsafe { asm!("csrw satp, zero") };
    assert_eq!(outcome(Family::Apart, "write-satp", csr), FAULTED);
    assert_eq!(
        outcome(Family::Apart, "overflow", || {
            deep(0);
        }),
        FAULTED
    );
}

#[inline(never)]
fn deep(depth: usize) -> usize {
    let mut frame = [depth; 64];
    core::hint::black_box(&mut frame);
    if depth < 1000 { deep(depth + 1) + frame[depth % 64] } else { 0 }
}

fn load(address: usize) {
    // SAFETY: the process ends by it.
    unsafe { asm!("ld {}, 0({})", out(reg) _, in(reg) address) };
}

fn store(address: usize) {
    // SAFETY: as above.
    unsafe { asm!("sd zero, 0({})", in(reg) address) };
}

/// The registers that a call may change, after it: results, or 0.
fn after_call(number: usize, argument: usize) -> [usize; 13] {
    let mut seen = [0; 13];
    // SAFETY: as `raw`; the stores go to `seen`, whose address is in `tp`, which
    // programs do not use and the kernel preserves.
    unsafe {
        asm!(
            "mv tp, {to}",
            "li t0, -1", "li t1, -1", "li t2, -1", "li t3, -1", "li t4, -1", "li t5, -1",
            "li t6, -1", "li a6, -1", "li ra, -1", "li gp, -1",
            "li a3, 0", "li a4, 0", "li a5, 0", "li a1, 0", "li a2, 0",
            "ecall",
            "sd t0, 0(tp)", "sd t1, 8(tp)", "sd t2, 16(tp)", "sd t3, 24(tp)",
            "sd t4, 32(tp)", "sd t5, 40(tp)", "sd t6, 48(tp)", "sd a6, 56(tp)",
            "sd a7, 64(tp)", "sd ra, 72(tp)", "sd gp, 80(tp)", "sd a1, 88(tp)",
            "sd s2, 96(tp)",
            to = in(reg) seen.as_mut_ptr(),
            in("a0") argument, in("a7") number,
            lateout("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _, out("s7") _,
            out("s8") _, out("s9") _, out("s10") _, out("s11") _,
            clobber_abi("C"),
        );
    }
    seen
}

/// No register shows a value of the kernel's or of another process's.
fn registers() {
    const YIELD: usize = 1;
    const GIVE: usize = 2;
    const TAKE: usize = 3;
    const SLEEP: usize = 4;
    const CALL: usize = 12;
    const S2: usize = 12;
    let seen = after_call(SLEEP, 0);
    // a1 is a result, which this call does not have: a value of the process's own.
    assert_eq!(seen[..S2 - 1], [0; S2 - 1], "a function's registers");
    // The partner leaves a value in every register that it may, and yields.
    start(1, Family::Same, "partner", || {
        for _ in 0..4 {
            // SAFETY: as `raw`.
            unsafe {
                asm!(
                    "li s2, 77", "li s3, 77", "li s11, 77", "li t3, 77", "li a5, 77", "li ra, 77",
                    "li gp, 77", "ecall", in("a7") YIELD,
                    out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _, out("s7") _,
                    out("s8") _, out("s9") _, out("s10") _, out("s11") _, clobber_abi("C"),
                );
            }
        }
    });
    for _ in 0..3 {
        assert_eq!(after_call(YIELD, 0), [0; 13], "the registers of another process");
    }
    let semaphore = Semaphore::new(0).expect("a semaphore");
    for number in [GIVE, TAKE] {
        assert_eq!(after_call(number, semaphore.0)[..S2 - 1], [0; S2 - 1], "of the kernel's");
    }
    // One that is more urgent leaves values, and waits for a unit; then it answers a call.
    let endpoint = Endpoint::new().expect("an endpoint");
    start_server(3, "urgent", endpoint, move || {
        let answer = |number: usize, handle: usize| {
            // SAFETY: as `raw`.
            unsafe {
                asm!(
                    "li s2, 77", "li s3, 77", "li s11, 77", "li t3, 77", "li ra, 77", "li gp, 77",
                    "li t0, 77", "li a6, 77", "ecall", in("a7") number, in("a0") handle,
                    in("a1") 0, in("a2") 0, in("a3") 0, in("a4") 0, in("a5") 77,
                    lateout("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _,
                    out("s7") _, out("s8") _, out("s9") _, out("s10") _, out("s11") _,
                    clobber_abi("C"),
                );
            }
        };
        answer(TAKE, semaphore.0);
        for _ in 0..4 {
            answer(CALL + 1, endpoint.0);
        }
    });
    let seen = after_call(GIVE, semaphore.0);
    assert_eq!(seen[..S2 - 1], [0; S2 - 1], "of the more urgent process");
    assert_eq!(seen[S2], 0, "of the more urgent process");
    for _ in 0..3 {
        assert_eq!(after_call(CALL, endpoint.0), [0; 13], "of the server");
    }
    assert_eq!(endpoint.call([0; 4]), Err(Refused::Dead));
    assert!(user::reap().is_some());
    // The value of `tp` is a process's own.
    let kept: usize;
    // SAFETY: `tp` is not used by programs.
    unsafe {
        asm!(
            "li tp, 1234", "ecall", "mv a0, tp", lateout("a0") kept, in("a7") YIELD,
            out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _, out("s7") _,
            out("s8") _, out("s9") _, out("s10") _, out("s11") _, clobber_abi("C"),
        );
    }
    assert_eq!(kept, 1234);
    assert!(user::reap().is_some());
}

/// A new process's stack is zero below its own frames.
fn memory() {
    const BOTTOM: usize = 0x5000_0000 - 4096;
    let fill = || {
        for at in (BOTTOM..BOTTOM + 2048).step_by(8) {
            // SAFETY: the low half of the process's own stack, which its frames do not reach.
            unsafe { (at as *mut usize).write_volatile(0x5ec7e7) };
        }
    };
    let look = || {
        for at in (BOTTOM..BOTTOM + 2048).step_by(8) {
            // SAFETY: as above.
            let word = unsafe { (at as *const usize).read_volatile() };
            if word != 0 {
                user::end(1);
            }
        }
    };
    assert_eq!(outcome(Family::Apart, "fill", fill), 0);
    assert_eq!(outcome(Family::Apart, "look", look), 0, "memory is cleared");
    // A process apart has no arena.
    assert_eq!(outcome(Family::Apart, "arena", || load(0x4800_0000)), FAULTED);
    assert_eq!(outcome(Family::Same, "arena", || load(0x4800_0000)), 0);
}

/// Handles that name nothing for the caller are refused.
fn handles() {
    let semaphore = Semaphore::new(0).expect("a semaphore");
    let give = |word: usize| {
        // SAFETY: the call starts no process.
        let [result, ..] = unsafe { user::raw(2, [word, 0, 0, 0, 0, 0]) };
        result as isize
    };
    assert_eq!(give(semaphore.0), 0);
    for wrong in [0, 1, usize::MAX, semaphore.0 + 1, semaphore.0 + 4096, semaphore.0 | 1 << 32] {
        assert_eq!(give(wrong), -1, "{wrong:#x}");
    }
    let channel = Channel::new().expect("a channel");
    assert_eq!(give(channel.0), -1, "another kind");
    let word = semaphore.0;
    let foreign = move || {
        // SAFETY: as above.
        let result = unsafe { user::raw(2, [word, 0, 0, 0, 0, 0]) }[0];
        user::end(u32::from(result as isize == -1));
    };
    assert_eq!(outcome(Family::Apart, "foreign", foreign), 1, "another family");
    let mine = move || {
        let result = Semaphore(word);
        result.take();
    };
    assert_eq!(outcome(Family::Same, "mine", mine), 0);
    // SAFETY: there is no such call.
    assert_eq!(unsafe { user::raw(99, [0; 6]) }[0] as isize, -5);
}

/// Addresses that the caller may not read are refused.
fn pointers() {
    let print = |address: usize, length: usize| {
        // SAFETY: the call starts no process.
        let [result, ..] = unsafe { user::raw(14, [address, length, 0, 0, 0, 0]) };
        result as isize
    };
    let last = 0x5000_0000;
    let bad = [
        (0x8000_1000, 8),
        (0, 1),
        (usize::MAX, 8),
        (last - 4, 8),
        (0x1000_0000, 1),
        (0x4000_0000, 1 << 40),
        (last - 32 * 1024 - 1, 2),
        (0x7fff_ffff_f000, 1),
    ];
    for (address, length) in bad {
        assert_eq!(print(address, length), -2, "{address:#x}");
        // SAFETY: refused before a process starts.
        let spawned = unsafe { user::raw(5, [0, address, length, 1, 0, 0]) }[0];
        assert_eq!(spawned as isize, -2, "{address:#x}");
    }
    assert_eq!(print(0x8000_1000, 0), 0, "no byte is read");
}

/// A process that loops is pre-empted by more urgent ones, and its parent ends it.
fn loops() {
    let endless = || loop {
        core::hint::spin_loop();
    };
    let child = start(0, Family::Apart, "endless", endless);
    user::sleep_until(user::cycles() + 50_000);
    assert!(child.kill());
    assert_eq!(user::reap(), Some((child, KILLED)));
    assert!(!child.kill(), "it has ended");
    // One that loops in calls.
    let child = start(0, Family::Apart, "yielding", || {
        loop {
            user::yield_now();
        }
    });
    user::sleep_until(user::cycles() + 50_000);
    assert!(child.kill());
    assert_eq!(user::reap(), Some((child, KILLED)));
}

/// A family's limits hold, and leave others their room.
fn limits() {
    let greedy = || {
        let mut made = 0;
        while Semaphore::new(0).is_ok() {
            made += 1;
        }
        let mut started = 0;
        // SAFETY: the body holds nothing.
        while unsafe { user::spawn(0, "child", Family::Same, || ()) }.is_ok() {
            started += 1;
        }
        // SAFETY: as above.
        let urgent = unsafe { user::spawn(31, "urgent", Family::Same, || ()) };
        let refused = urgent == Err(Refused::Full);
        user::end(made * 100 + started * 10 + u32::from(refused));
    };
    assert_eq!(outcome(Family::Apart, "greedy", greedy), 16 * 100 + 7 * 10 + 1);
    assert!(Semaphore::new(0).is_ok());
    // Places come back: more processes than there are records.
    for _ in 0..1200 {
        assert_eq!(outcome(Family::Same, "one", || ()), 0);
    }
}

/// Calls reach the server and its answers the callers; a server that ends fails its callers.
fn servers() {
    let endpoint = Endpoint::new().expect("an endpoint");
    let serve = move || {
        let mut message = endpoint.reply_and_receive([0; 4]).expect("the first call");
        while message[0] != 0 {
            message = message.map(|word| word * 2);
            message = endpoint.reply_and_receive(message).expect("a call");
        }
    };
    let server = start_server(3, "server", endpoint, serve);
    assert_eq!(endpoint.call([1, 2, 3, 4]), Ok([2, 4, 6, 8]));
    assert_eq!(endpoint.reply_and_receive([0; 4]), Err(Refused::Invalid), "it has a server");
    assert_eq!(endpoint.call([0, 0, 0, 0]), Err(Refused::Dead), "the server ends");
    assert_eq!(user::reap(), Some((server, 0)));
    // The server is less urgent than its callers, one of which is killed while it waits.
    let server = start_server(0, "server", endpoint, serve);
    let caller = move || {
        assert_eq!(endpoint.call([5, 5, 5, 5]), Ok([10; 4]));
    };
    let killed = start(1, Family::Same, "killed", caller);
    user::yield_now();
    let callers =
        [start(2, Family::Same, "caller", caller), start(2, Family::Same, "caller", caller)];
    assert!(killed.kill());
    for _ in 0..3 {
        let (child, status) = user::reap().expect("a caller has ended");
        assert!(child == killed && status == KILLED || callers.contains(&child) && status == 0);
    }
    assert!(server.kill());
    assert_eq!(user::reap(), Some((server, KILLED)));
}

/// Waits of all kinds end when the process is killed, and the object stays usable.
fn waits() {
    let (semaphore, channel) =
        (Semaphore::new(0).expect("a semaphore"), Channel::new().expect("a channel"));
    let endpoint = Endpoint::new().expect("an endpoint");
    let waiting = [
        start(2, Family::Same, "take", move || semaphore.take()),
        start(2, Family::Same, "receive", move || {
            channel.receive();
        }),
        start(2, Family::Same, "sleep", || user::sleep_until(u64::MAX)),
        start(2, Family::Same, "call", move || {
            let _ = endpoint.call([1; 4]);
        }),
        start(2, Family::Same, "reap", || {
            // SAFETY: the body holds nothing.
            let child = unsafe {
                user::spawn(0, "grandchild", Family::Same, || user::sleep_until(u64::MAX))
            };
            assert!(child.is_ok());
            user::reap();
        }),
    ];
    for child in waiting {
        assert!(child.kill());
        assert_eq!(user::reap(), Some((child, KILLED)));
    }
    semaphore.give();
    semaphore.take();
    channel.send(7);
    assert_eq!(channel.receive(), 7);
}
