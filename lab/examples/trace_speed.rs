//! Measures how fast a timeline is written, and the memory needed: `cargo run --release --example
//! trace_speed [EVENTS]`.
//!
//! Prints the seconds of each source and format, and the process's peak memory. Goal: 2 s for a
//! million events.

use std::{
    fmt::Write as _,
    io::{self, Write},
    time::Instant,
};

use chronoscope_report::{perfetto, timeline::Timeline, vcd};
use chronoscope_run::CaseResult;
use serde_json::json;

fn main() -> anyhow::Result<()> {
    let events = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse::<usize>())?;
    let samples: Vec<(f64, f64)> =
        (0..events / 2).map(|place| (place as f64 * 1000.0, 700.0)).collect();
    let repetition =
        json!([{"count": samples.len(), "min": 0, "p50": 0, "p99": null, "max": 0, "mean": 0}]);
    let series = json!({
        "name": "switch", "role": "measured", "unit": "ns", "nominal": 0, "per": 1, "x": null, "count": samples.len(),
        "min": null, "p50": null, "p90": null, "p99": null, "p999": null, "p9999": null, "max": null, "mean": null,
        "sigma": null, "worst": [], "cold": [], "cold_count": 0, "p50_interval": null, "deadline": null, "misses": null,
        "by_repetition": repetition, "histogram": [],
    });
    let mut case: CaseResult = serde_json::from_value(json!({
        "experiment": "switch", "target": "linux@host", "release": "", "parameters": {}, "label": "", "start": "", "end": "",
        "clock": null, "repetitions": 1, "series": [series], "slope": null, "figures": [], "evidence": [], "log": [],
        "limits": [], "published": [], "verdict": {"status": "pass", "reasons": []},
    }))?;
    case.series[0].samples = samples;
    measure("samples", &case)?;
    case.series.clear();
    case.attachments.insert("trace".into(), ftrace(events));
    measure("ftrace", &case)?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    println!(
        "{}",
        status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown")
    );
    Ok(())
}

fn measure(name: &str, case: &CaseResult) -> io::Result<()> {
    type Format = fn(&mut Timeline<'_>, &mut dyn Write) -> io::Result<()>;
    let events = Timeline::new(&[case]).events().count();
    for (format, write) in [("perfetto", perfetto::write as Format), ("vcd", vcd::write as Format)]
    {
        let start = Instant::now();
        write(&mut Timeline::new(&[case]), &mut io::BufWriter::new(io::sink()))?;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{name}, {format}: {events} events in {seconds:.2} s, {:.2} s per million",
            seconds / events as f64 * 1e6
        );
    }
    Ok(())
}

/// Two tasks that wake each other: six events for each pair of lines.
fn ftrace(events: usize) -> String {
    let mut text = "# tracer: nop\n".to_owned();
    for place in 0..events / 6 {
        let (one, other) = (11 + place % 2, 12 - place % 2);
        let (seconds, us) = (place / 100_000, place % 100_000 * 10);
        let _ = writeln!(
            text,
            " task-{one} [000] d..2. {seconds}.{us:06}: sched_waking: comm=task pid={other} prio=19 target_cpu=000\n task-{one} [000] \
             d..2. {seconds}.{us:06}: sched_switch: prev_comm=task prev_pid={one} prev_prio=19 prev_state=S ==> next_comm=task \
             next_pid={other} next_prio=19"
        );
    }
    text
}
