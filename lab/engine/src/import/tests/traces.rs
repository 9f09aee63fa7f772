//! Traces of systems: the text of babeltrace2, and recordings of TraceX's, which a writer of the test's
//! makes.

use super::{evidence, text_file};
use crate::import::{from_bytes, is_of_a_tool};
use chronoscope_run::{CaseResult, Role, Status};

/// A turn of Zephyr's thread `control`, as babeltrace2 prints it.
pub const CTF: &str = "\
[0.001000000] isr_enter: { cpu_id = 0 }
[0.001003000] thread_ready: { cpu_id = 0 }, { thread_id = 0x7, name = \"control\" }
[0.001005000] isr_exit: { cpu_id = 0 }
[0.001009000] thread_switched_out: { cpu_id = 0 }, { thread_id = 1, name = \"idle\" }
[0.001009000] thread_switched_in: { cpu_id = 0 }, { thread_id = 7, name = \"control\" }
[0.001010000] control_begin: { cpu_id = 0 }, { id = 5, way = 0 }
[0.001110000] control_end: { cpu_id = 0 }, { id = 5 }
[0.001111000] sem_give: { cpu_id = 0 }, { id = 5 }
[0.001112000] thread_switched_out: { cpu_id = 0 }, { thread_id = 7, name = \"control\" }
[0.001112000] thread_switched_in: { cpu_id = 0 }, { thread_id = 1, name = \"idle\" }
";

/// The name, the lengths in ns, and the role of each series of a case.
fn lengths(case: &CaseResult) -> Vec<(&str, Vec<f64>, bool)> {
    let of = |series: &chronoscope_run::SeriesResult| {
        series.samples.iter().map(|(_, length)| *length).collect()
    };
    let role = |series: &chronoscope_run::SeriesResult| series.role == Role::Measured;
    case.series.iter().map(|series| (&*series.name, of(series), role(series))).collect()
}

#[test]
fn threads_handlers_and_pairs_of_a_trace_are_series() {
    let case = text_file(CTF).cases.remove(0);
    assert_eq!(
        lengths(&case),
        [
            ("control", vec![100_000.0], true),
            ("control, ready to running", vec![6_000.0], true),
            ("interrupt (handler)", vec![5_000.0], true),
            ("control, on the processor", vec![103_000.0], false),
        ]
    );
    assert_eq!(evidence(&case)[0], ("events in the file", 10.0, true));
    assert!(case.log.iter().any(|line| line.contains("other sorts, in no series: 1")));

    // An interval that was open when events were lost has no length.
    let at = CTF.find("[0.001009000]").unwrap();
    let lost = "WARNING: Tracer discarded 188 events between [0.001] and [0.002] in trace \"\"\n";
    let case = text_file(&[&CTF[..at], lost, &CTF[at..]].concat()).cases.remove(0);
    assert_eq!(evidence(&case)[1], ("events that were lost", 188.0, false));
    assert_eq!(case.verdict.status, Status::Inconclusive);
    assert_eq!(lengths(&case).len(), 3, "{:?}", lengths(&case));

    // One lost event is one too many, and a trace without any says so, too.
    for (count, status) in [("1", Status::Inconclusive), ("0", Status::Pass)] {
        let lost = lost.replace("188", count);
        let case = text_file(&[CTF, &lost].concat()).cases.remove(0);
        assert_eq!(evidence(&case)[1].1, count.parse::<f64>().unwrap());
        assert_eq!(case.verdict.status, status);
        assert!(!case.log.iter().any(|line| line.contains("import the folder")));
    }
    assert!(text_file(CTF).cases[0].log.iter().any(|line| line.contains("import the folder")));
}

#[test]
fn tasks_of_one_name_have_their_numbers_and_nothing_is_left_over() {
    let text = CTF.replace("sem_give", "sem_end").replace("\"idle\"", "\"control\"");
    let case = text_file(&text).cases.remove(0);
    let names: Vec<&str> = lengths(&case).iter().map(|(name, ..)| *name).collect();
    assert_eq!(
        names,
        [
            "control",
            "control 0x7, ready to running",
            "interrupt (handler)",
            "control 0x7, on the processor",
        ]
    );
    assert!(!case.log.iter().any(|line| line.contains("other sorts")), "{:?}", case.log);
}

#[test]
fn tasks_of_linux_in_a_trace_have_their_numbers() {
    let text = "\
[08:00:00.000000100] (+?.?????????) vm sched_waking: { cpu_id = 0 }, { comm = \"app\", tid = 7, prio = 20 }
[08:00:00.000000400] (+0.000000300) vm sched_switch: { cpu_id = 1 }, { prev_comm = \"swapper/1\", \
     prev_tid = 0, next_comm = \"app\", next_tid = 7 }
[08:00:00.000001400] (+0.000001000) vm irq_handler_entry: { cpu_id = 1 }, { irq = 24, name = \"eth0\" }
[08:00:00.000001500] (+0.000000100) vm irq_handler_exit: { cpu_id = 1 }, { irq = 24, ret = 1 }
[08:00:00.000002400] (+0.000000900) vm sched_switch: { cpu_id = 1 }, { prev_comm = \"app\", \
     prev_tid = 7, next_comm = \"swapper/1\", next_tid = 0 }
";
    let case = text_file(text).cases.remove(0);
    assert_eq!(
        lengths(&case),
        [
            ("app 7, wake-up to running", vec![300.0], true),
            ("eth0 (handler)", vec![100.0], true),
            ("app 7, on the processor", vec![2000.0], false),
        ]
    );
}

/// Two threads of Zephyr's wait for one semaphore at the same time; one of them moves to another processor.
#[test]
fn pairs_of_one_object_are_ended_by_the_thread_that_began_them() {
    let text = "\
[0.001000000] thread_switched_in: { cpu_id = 0 }, { thread_id = 7, name = \"a\" }
[0.001001000] semaphore_take_enter: { cpu_id = 0 }, { id = 5 }
[0.001002000] thread_switched_out: { cpu_id = 0 }, { thread_id = 7, name = \"a\" }
[0.001003000] thread_switched_in: { cpu_id = 0 }, { thread_id = 8, name = \"b\" }
[0.001004000] semaphore_take_enter: { cpu_id = 0 }, { id = 5 }
[0.001005000] thread_switched_out: { cpu_id = 0 }, { thread_id = 8, name = \"b\" }
[0.001006000] thread_switched_in: { cpu_id = 1 }, { thread_id = 7, name = \"a\" }
[0.001011000] semaphore_take_exit: { cpu_id = 1 }, { id = 5 }
[0.001012000] thread_switched_in: { cpu_id = 0 }, { thread_id = 8, name = \"b\" }
[0.001034000] semaphore_take_exit: { cpu_id = 0 }, { id = 5 }
";
    let case = text_file(text).cases.remove(0);
    assert_eq!(lengths(&case)[0], ("semaphore_take", vec![10_000.0, 30_000.0], true));
    assert!(!case.log.iter().any(|line| line.contains("left out")), "{:?}", case.log);
}

/// A thread moves after a begin whose end is not in the trace.
#[test]
fn a_begin_without_an_end_gives_no_interval() {
    let text = "\
[0.001000000] callback_start: { cpu_id = 0 }, { vtid = 1 }, { callback = 0x10 }
[0.005000000] callback_start: { cpu_id = 1 }, { vtid = 1 }, { callback = 0x10 }
[0.005010000] callback_end: { cpu_id = 0 }, { vtid = 1 }, { callback = 0x10 }
";
    let case = text_file(text).cases.remove(0);
    assert_eq!(lengths(&case), [("callback", vec![10_000.0], true)]);
}

#[test]
fn pairs_on_two_processors_are_ended_on_their_own() {
    let text = "\
[0.001000000] irq_softirq_entry: { cpu_id = 0 }, { vec = 1 }
[0.001002000] irq_softirq_entry: { cpu_id = 1 }, { vec = 1 }
[0.001010000] irq_softirq_exit: { cpu_id = 0 }, { vec = 1 }
[0.001030000] irq_softirq_exit: { cpu_id = 1 }, { vec = 1 }
";
    let case = text_file(text).cases.remove(0);
    assert_eq!(lengths(&case), [("irq_softirq", vec![10_000.0, 28_000.0], true)]);
}

#[test]
fn an_end_that_may_be_of_several_pairs_gives_no_interval_and_is_counted() {
    let text = "\
[0.001000000] callback_start: { cpu_id = 0 }, { vtid = 1 }, { callback = 0x10 }
[0.001002000] callback_start: { cpu_id = 1 }, { vtid = 2 }, { callback = 0x10 }
[0.001010000] callback_end: { cpu_id = 2 }, { vtid = 3 }, { callback = 0x10 }
[0.001020000] callback_start: { cpu_id = 0 }, { vtid = 1 }, { callback = 0x10 }
[0.001021000] callback_start: { cpu_id = 1 }, { vtid = 2 }, { callback = 0x10 }
[0.001030000] callback_end: { cpu_id = 3 }, { vtid = 2 }, { callback = 0x10 }
[0.001040000] callback_end: { cpu_id = 3 }, { vtid = 9 }, { callback = 0x10 }
";
    let case = text_file(text).cases.remove(0);
    assert_eq!(lengths(&case), [("callback", vec![9_000.0, 20_000.0], true)]);
    let is_its = |line: &str| line.starts_with("spans left out") && line.ends_with(": 2");
    assert!(case.log.iter().any(|line| is_its(line)), "{:?}", case.log);
}

/// Processors' events may be out of order among each other, also before the first one of the file.
#[test]
fn an_event_before_the_first_of_another_processor_is_at_the_start() {
    let text = "\
[5.000002000] isr_enter: { cpu_id = 0 }
[5.000001000] isr_enter: { cpu_id = 1 }
[5.000004000] isr_exit: { cpu_id = 1 }
[5.000005000] isr_exit: { cpu_id = 0 }
";
    let case = text_file(text).cases.remove(0);
    assert_eq!(lengths(&case), [("interrupt (handler)", vec![2000.0, 3000.0], true)]);
    assert_eq!(case.series[0].samples[0].0, 0.0);
}

#[test]
fn a_trace_that_is_damaged_is_refused() {
    for (from, to, reason) in [
        (
            "thread_id = 7, name",
            "thread = 7, name",
            "line 5: `thread_switched_in` has no `thread_id`",
        ),
        ("thread_id = 1,", "thread_id = x1,", "line 4: `thread_id = x1` is no number"),
        ("[0.001110000]", "[0.000110000]", "line 7: the time runs backward on processor 0"),
        ("[0.001110000] control", "control", "line 7: it is no event"),
        ("cpu_id = 0 }, { id = 5 }\n", "cpu_id = -1 }, { id = 5 }\n", "`cpu_id = -1` is no number"),
        ("\"idle\" }\n", "\"idle\" }", ""),
    ] {
        let text = CTF.replacen(from, to, 1);
        assert_ne!(text, CTF);
        let text = if reason.is_empty() { text.trim_end().to_owned() } else { text };
        let Err(error) = from_bytes(text.as_bytes(), None) else { panic!("{to}: it was read") };
        let reason = if reason.is_empty() { "its last line has no end" } else { reason };
        assert!(format!("{error:#}").contains(reason), "{error:#}");
    }
    let Err(error) = from_bytes(b"[0.001000000] tick: { cpu_id = 0 }\n", None) else {
        panic!("it was read")
    };
    assert!(
        format!("{error:#}").contains("record thread_ready with thread_switched_in"),
        "{error:#}"
    );
}

/// The words of an event of TraceX's: thread, number, time, and four more.
pub type Words = [u32; 7];

/// A thread at 0x100 waits; a handler makes it ready, and it runs when the handler has ended.
pub const TURN: &[Words] = &[
    [0xf0f0_f0f0, 150, 10, 0, 0, 0, 0],
    [0x100, 2, 100, 0x100, 6, 0, 0],
    [0xffff_ffff, 3, 1000, 0, 15, 1, 0],
    [0xffff_ffff, 83, 1010, 0x300, 0, 0, 0],
    [0xffff_ffff, 1, 1020, 0x100, 6, 0, 0x100],
    [0xffff_ffff, 4, 1050, 0, 15, 1, 0],
    [0x100, 50, 1090, 0x300, 0, 0, 0],
    [0x100, 1, 1100, 0x200, 6, 0, 0x100],
    [0x100, 2, 1200, 0x100, 6, 0, 0x200],
    [0x200, 2, 1500, 0x200, 6, 0, 0],
];

/// A recording of TraceX's with two threads and a semaphore, and room for 12 events, of which the one
/// behind the last is the oldest.
pub fn trx(is_big: bool, mask: u32, events: &[Words]) -> Vec<u8> {
    const ROOM: usize = 12;
    let word = |word: u32| if is_big { word.to_be_bytes() } else { word.to_le_bytes() };
    let mut bytes = word(u32::from_be_bytes(*b"TXTB")).to_vec();
    let add = |bytes: &mut Vec<u8>, words: &[u32]| {
        words.iter().for_each(|one| bytes.extend(word(*one)));
    };
    // At 0x2000_0000 is the head, behind it three objects of 48 bytes, and the ring.
    let (registry, ring) = (0x2000_0030, 0x2000_0030 + 3 * 48);
    add(&mut bytes, &[mask, 0x2000_0000, registry]);
    let size = 32_u16;
    bytes.extend([0; 2]);
    bytes.extend(if is_big { size.to_be_bytes() } else { size.to_le_bytes() });
    let next = events.len() % ROOM;
    add(&mut bytes, &[ring, ring, ring + 32 * ROOM as u32, ring + 32 * next as u32, 0, 0, 0]);
    for (sort, at, name) in [(1, 0x100, "control"), (1, 0x200, "worker"), (4, 0x300, "lock")] {
        bytes.extend([0, sort, 0, 0]);
        add(&mut bytes, &[at, 0, 0]);
        let mut field = [0; 32];
        field[..name.len()].copy_from_slice(name.as_bytes());
        bytes.extend(field);
    }
    let mut ring = [[0; 7]; ROOM];
    for (place, event) in events.iter().enumerate() {
        ring[place % ROOM] = *event;
    }
    for [thread, number, time, more @ ..] in ring {
        add(&mut bytes, &[thread, 1, number, time]);
        add(&mut bytes, &more);
    }
    bytes
}

#[test]
fn threads_and_handlers_of_tracex_are_series() {
    for is_big in [false, true] {
        let bytes = trx(is_big, u32::MAX, TURN);
        assert!(is_of_a_tool(&bytes));
        let case = from_bytes(&bytes, Some(1_000_000)).unwrap().cases.remove(0);
        assert_eq!(
            lengths(&case),
            [
                // It is ready while `control` runs, and chosen when that one waits.
                ("control, ready to chosen", vec![30_000.0], true),
                ("worker, ready to chosen", vec![100_000.0], true),
                ("interrupt 15 (handler)", vec![50_000.0], true),
                ("control, on the processor", vec![0.0, 150_000.0], false),
                ("worker, on the processor", vec![300_000.0], false),
            ]
        );
        assert_eq!(evidence(&case)[0], ("events in the file", 10.0, true));
    }
}

#[test]
fn the_ring_and_the_clock_of_tracex_wrap() {
    // 14 events in 12 places; the two oldest are overwritten. The clock has 12 bits.
    let mut events: Vec<Words> = TURN.to_vec();
    let later = TURN[2..6].iter().map(|event| {
        let mut event = *event;
        event[2] = (event[2] + 4000) & 0xfff;
        event
    });
    events.extend(later);
    let case = from_bytes(&trx(false, 0xfff, &events), Some(1_000_000)).unwrap().cases.remove(0);
    let all = lengths(&case);
    let of = |name: &str| all.iter().find(|(own, ..)| *own == name).unwrap().1.clone();
    assert_eq!(of("interrupt 15 (handler)"), [50_000.0, 50_000.0]);
    assert_eq!(of("control, ready to chosen"), [30_000.0, 30_000.0]);
    assert_eq!(evidence(&case)[0], ("events in the file", 12.0, true));
}

#[test]
fn a_damaged_recording_of_tracex_is_refused() {
    let good = trx(false, u32::MAX, TURN);
    let message = |bytes: &[u8], rate| {
        let Err(error) = from_bytes(bytes, rate) else { panic!("it was read") };
        let message = format!("{error:#}");
        assert!(!message.contains('\n'), "{message}");
        message
    };
    assert!(message(&good, None).contains("--clock 168MHz"));
    assert!(message(CTF.as_bytes(), Some(1)).contains("--clock is for TraceX's"));
    for end in [4, 20, 47, 48, 200, good.len() - 1] {
        assert!(message(&good[..end], Some(1)).contains("cut off"), "{end}");
    }
    for (at, with, reason) in [
        (4, 6, "0x6 is no mask of a clock"),
        (20, 0x2000_0031, "are no objects of 48 bytes"),
        (28, 0x2000_00d0, "are no events of 32 bytes"),
        (32, 0x2000_0060, "are no events of 32 bytes"),
        (32, 0x2000_0240 + 32, "behind the ring's end"),
    ] {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(with));
        assert!(message(&bytes, Some(1)).contains(reason), "{at} {}", message(&bytes, Some(1)));
    }
    assert!(message(&trx(false, 1, &[]), Some(1)).contains("no event"));
}
