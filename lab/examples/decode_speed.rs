//! Measures how fast a stream is decoded and summarised, and the memory needed: `cargo run
//! --release --example decode_speed [SAMPLES]`.
//!
//! Prints the seconds per 10 million samples and the process's peak memory. Goals: 1 s, and 64 MiB
//! for 100 million samples.

use std::{collections::BTreeMap, time::Instant};

use chronoscope_engine::{
    case::Plan, case::expand, case::experiment, observation::Observation, stream::Decoder,
};
use chronoscope_machine::Machines;
use chronoscope_run::Target;
use chronoscope_statistics::SplitMix64;
use chronoscope_suite::wire::{
    self, BLOCK, Clock, Domain, MAX_FRAME, Record, Sample, Samples, Series,
};

/// The samples of a repetition, as in a long run.
const REPETITION: u64 = 1_000_000;

fn main() -> anyhow::Result<()> {
    let total = std::env::args().nth(1).map_or(Ok(10_000_000), |text| text.parse::<u64>())?;
    let target: Target = "linux@host".parse()?;
    let case = expand(
        &Machines::default(),
        experiment("switch")?,
        &target,
        &BTreeMap::new(),
        &Plan::default(),
    )?
    .remove(0);
    let stream = repetition();
    let mut observation = Observation::new(&case, false);
    let start = Instant::now();
    for _ in 0..total.div_ceil(REPETITION) {
        let mut decoder = Decoder::default();
        // A piece is as large as a pipe's buffer.
        for piece in stream.chunks(1 << 16) {
            decoder.feed(piece, &mut |record| observation.take(record))?;
        }
        decoder.finish()?;
    }
    let result = observation.finish(&case).judged();
    let seconds = start.elapsed().as_secs_f64();
    let samples = result.series[0].summary.count;
    println!(
        "{samples} samples: {seconds:.2} s, {:.2} s per 10 million",
        seconds / samples as f64 * 1e7
    );
    let status = std::fs::read_to_string("/proc/self/status")?;
    println!(
        "{}",
        status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown")
    );
    Ok(())
}

/// The stream of a repetition: latencies of 2 to 4 µs with a long tail.
fn repetition() -> Vec<u8> {
    let mut stream = Vec::new();
    let mut records = 0;
    let mut send = |record: &Record<'_>| {
        let mut frame = [0; MAX_FRAME + 1];
        let length = wire::encode(record, &mut frame).expect("the record fits a frame");
        stream.extend_from_slice(&frame[..length]);
        records += 1;
        records - 1
    };
    send(&Record::Hello {
        version: wire::VERSION,
        kernel: "linux",
        release: "0",
        request: "switch",
    });
    send(&Record::Clock(Clock { domain: Domain::Wall, hertz: 1_000_000_000, resolution: 1 }));
    send(&Record::Series(Series::measured("switch")));
    let mut random = SplitMix64::new(1);
    let mut left = REPETITION;
    while left > 0 {
        let length = left.min(BLOCK as u64);
        let block = (0..length).map(|_| {
            let bits = random.next_u64();
            let value =
                2_000 + (bits & 0x7ff) + if bits >> 54 == 0 { bits >> 32 & 0xf_ffff } else { 0 };
            Sample { gap: value.cast_signed() + 100, value }
        });
        send(&Record::Samples(Samples { series: 0, block: block.collect() }));
        left -= length;
    }
    let before = send(&Record::Log("")) + 1;
    send(&Record::End { records: before });
    stream
}
