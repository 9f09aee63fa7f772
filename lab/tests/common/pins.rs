//! Artificial cases of a machine that observes pins and instructions.

// Each test program uses its own part of this module.
#![allow(dead_code)]

use chronoscope_capture::{Capture, Channel, Sampling, Tick};
use serde_json::{Value, json};

/// Samples of an interrupt's handler: `samples` pulses of D0, 12 to 49 cycles wide, each started by
/// `irq`. The core sleeps between them. D7 shows the control, D6 changes in every cycle of a burst.
pub fn capture(samples: u64, tick: Tick) -> Capture {
    let width = |index: u64| 12 + index * 7919 % 38;
    let rise = |index: u64| 1_000 + 120 * index + index * 31 % 17;
    let pulses = |begin: &dyn Fn(u64) -> u64, length: &dyn Fn(u64) -> u64| -> Vec<u64> {
        (0..samples).flat_map(|index| [begin(index), begin(index) + length(index)]).collect()
    };
    let channel =
        |name: &str, edges: Vec<u64>| Channel { name: name.to_owned(), initial: false, edges };
    let end = rise(samples) + 100;
    Capture {
        source: "made up".to_owned(),
        tick,
        sampling: Sampling::Exact,
        start: 0,
        end: end + 400,
        channels: vec![
            channel("D0", pulses(&rise, &width)),
            channel("D1", Vec::new()),
            channel("D6", (rise(0) + 5..rise(0) + 45).collect()),
            channel("D7", (0..8).map(|index| end + 20 * index).collect()),
            channel("irq", pulses(&|index| rise(index) - 9, &|index| width(index) + 14)),
            channel("sleep", pulses(&|index| rise(index) - 60, &|_| 52)),
        ],
    }
}

pub fn dump(capture: &Capture) -> String {
    let mut bytes = Vec::new();
    capture.to_vcd(&mut bytes).expect("memory can be written to");
    String::from_utf8(bytes).expect("a dump is text")
}

/// A series of the first repetition with its samples as the timer has them: each `less` ticks
/// shorter and begun half of that later.
pub fn series(name: &str, role: &str, capture: &Capture, channel: &str, less: u64) -> Value {
    let pulses: Vec<_> = capture.pulses(channel, true).expect("it has that channel").collect();
    let first = pulses[0].at;
    let samples: Vec<(u64, u64)> =
        pulses.iter().map(|pulse| (pulse.at - first, pulse.width - less)).collect();
    let values = || samples.iter().map(|sample| sample.1);
    let (min, max) = (values().min(), values().max());
    let mut histogram = std::collections::BTreeMap::new();
    values().for_each(|value| *histogram.entry(value).or_insert(0) += 1);
    let mut sorted: Vec<u64> = values().collect();
    sorted.sort_unstable();
    let (p50, p99) = (sorted[sorted.len() / 2], sorted[sorted.len() * 99 / 100]);
    let count = samples.len();
    json!({
        "name": name, "role": role, "unit": "cycles", "nominal": 0, "per": 1, "x": null, "count": count,
        "min": min, "p50": p50, "p90": p99, "p99": p99, "p999": null, "p9999": null, "max": max, "mean": p50, "sigma": 3,
        "worst": [], "cold": [], "cold_count": 0, "p50_interval": null, "deadline": null, "misses": null,
        "by_repetition": [{"count": count, "min": min, "p50": p50, "p99": p99, "max": max, "mean": p50}],
        "histogram": histogram.into_iter().collect::<Vec<_>>(), "samples": samples,
    })
}

/// A case on the bench board with the recordings of all its instruments. `rows`: name, cycles,
/// instructions.
pub fn case(target: &str, capture: &Capture, rows: &[(&str, u64, u64)]) -> Value {
    let windows = capture.pulses("D0", true).expect("it has that channel").count() as u64;
    let rows: Vec<Value> = rows
        .iter()
        .map(|(name, cycles, retired)| json!({"name": name, "cycles": cycles * windows, "retired": retired * windows}))
        .collect();
    let total: u64 = rows.iter().filter_map(|row| row["cycles"].as_u64()).sum();
    let retired = "1000 1009 interrupt entry (hardware)\n1009 1020 <kernel::Scheduler as Give>::give\n1020 1026 handler\n";
    json!({
        "experiment": "interrupt", "target": target, "release": "1", "parameters": {"source": "external"},
        "label": "source=external", "start": "the line rises", "end": "the handler's first instruction",
        "clock": {"domain": "cycles", "hertz": 84_000_000, "resolution": 1}, "repetitions": 1,
        "series": [
            series("entry", "measured", capture, "D0", 4), series("mark to mark", "control", capture, "D7", 4),
            series("entry by pin", "pin", capture, "D0", 0), series("mark to mark by pin", "pin-control", capture, "D7", 0),
        ],
        "slope": null, "figures": [],
        "evidence": [{"name": "interrupts taken", "value": windows, "low": windows, "high": windows, "holds": true}],
        "cycles": {"windows": windows, "total": total, "rows": rows},
        "log": [], "attachments": {"pins.vcd": dump(capture), "retired.txt": retired}, "limits": [], "published": [],
        "verdict": {"status": "pass", "reasons": []},
    })
}

/// A run of three kernels.
pub fn run() -> Value {
    let capture = capture(200, Tick::from_hertz(84_000_000).expect("it does not stand"));
    let entry = ("interrupt entry (hardware)", 7, 0);
    let tandem = [
        ("<tandem::sync::event::Event as chronoscope_suite::kernel::Signal>::signal", 22, 18),
        ("tandem_riscv::switch::save", 17, 16),
        entry,
        ("tandem::core::scheduler::pick", 6, 5),
        ("handler", 4, 3),
    ];
    let embassy = [
        ("embassy_executor::raw::Executor::poll", 41, 33),
        ("embassy_executor::raw::run_queue::enqueue", 19, 15),
        ("core::task::wake::Waker::wake_by_ref", 11, 8),
        entry,
        ("handler", 6, 4),
        ("embassy_time::driver", 5, 4),
        ("__pender", 3, 2),
        ("another", 2, 2),
    ];
    let bare = [("handler", 8, 7), entry];
    let context = json!({
        "date": "2026-01-31T12:00:00Z", "seconds": 1, "host": "desk", "system": "Linux", "processor": "a processor", "processors": 2,
        "program": "chronoscope", "command": ["chronoscope", "run"], "interrupted": false,
    });
    let cases = [
        case("tandem@ibex", &capture, &tandem),
        case("embassy@ibex", &capture, &embassy),
        case("bare@ibex", &capture, &bare),
    ];
    json!({"schema": 1, "context": context, "study": "", "title": "Pins and cycles", "notes": "", "cases": cases})
}
