//! The experiments `operations` and `crowded` on an emulated chip: each runs a benchmark of the
//! kernel's own, and reads the samples that it prints.
//!
//! A benchmark prints two lines for each operation, one for each size in bytes, and at the end the
//! number of both:
//!
//! ```text
//! yield, 2 threads                  goal   33  median   29  least   29  most   35  n 400  met
//! samples 35 29*399
//! RAM of a thread, bytes            goal  120  median   96  met
//! 2 operations and sizes
//! ```
//!
//! A sample is in instructions; `*399` says that it came 399 times in a row. Of the first line
//! only the name is read, of a size the figure behind `median` too: the goals and verdicts are for
//! those who read it themselves, and the lab has limits. The row `control: …` is the control.

use std::{iter::Peekable, str::Lines};

use anyhow::{Context, Result, bail, ensure};
use chronoscope_suite::wire::{Clock, Domain, Record, Series};

use super::Qemu;
use crate::{Start, determinism::Manner, stream::StreamBuilder};
use chronoscope_child as child;

/// The most bytes that a benchmark may print.
const MAX_OUTPUT: usize = 1 << 20;

/// The most samples of an operation.
const MAX_SAMPLES: usize = 100_000;

/// The fewest samples of an operation.
const FEWEST: usize = 40;

/// Builds the kernel's benchmark, runs it, and passes its samples to `sink`.
///
/// # Errors
/// The benchmark cannot be built or started, ends with an error, or prints what it should not.
pub fn run(
    qemu: &Qemu<'_>,
    start: &Start<'_>,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let Qemu { chip, image, agreements, .. } = qemu;
    let kernel = image.kernel();
    let mut stream = StreamBuilder::begin(kernel, start.request)?;
    let variant = match start.request.experiment() {
        "operations" if start.request.has("slices", "yes") => "operations-slices",
        experiment => experiment,
    };
    let Some(benchmark) = image.benchmark(variant) else {
        return sink(&stream.refuse("this kernel has no benchmark of its own for this chip")?);
    };
    let file = benchmark.file()?;
    let mut output = Vec::new();
    let once = |manner: Manner, sink: &mut dyn FnMut(&[u8]) -> Result<()>| {
        let mut command = super::chip::command(chip);
        manner.add_to(&mut command);
        command
            .args(["-chardev", "stdio,id=host"])
            .args(["-semihosting-config", "enable=on,target=native,chardev=host", "-kernel"])
            .arg(&file);
        child::run(&mut command, chip.program(), start.limit, start.stop, sink)
    };
    let what = format!("{kernel}@{} {}", chip.name, start.request);
    agreements
        .run(&file, &what, once, &mut |bytes| {
            output.extend_from_slice(bytes);
            ensure!(
                output.len() <= MAX_OUTPUT,
                "the benchmark prints more than {MAX_OUTPUT} bytes"
            );
            Ok(())
        })
        .with_context(|| last_line(&output))?;
    let output = String::from_utf8(output).context("the benchmark prints no text")?;
    let Printed { operations, sizes, announced } = Printed::parse(&output)?;
    stream.send(&Record::Clock(Clock {
        domain: Domain::Instructions,
        hertz: chip.hertz(),
        resolution: 1,
    }))?;
    for Operation { name, samples } in &operations {
        let is_control = name.starts_with("control: ");
        let series = if is_control { Series::control(name) } else { Series::measured(name) };
        stream.values(series, samples)?;
    }
    for (name, bytes) in &sizes {
        stream.send(&Record::Figure { name, unit: "bytes", value: *bytes as f64 })?;
    }
    let fewest = operations.iter().map(|one| one.samples.len()).min().unwrap_or(0);
    let rows = operations.len() + sizes.len();
    for (name, value, low, high) in [
        ("operations and sizes", rows, announced as f64, announced as f64),
        ("samples of the operation with the fewest", fewest, FEWEST as f64, f64::INFINITY),
    ] {
        stream.evidence(name, value as f64, low, high)?;
    }
    sink(&stream.end()?)
}

/// The last line of an output, which tells why it ended.
fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    match text.lines().rfind(|line| !line.trim().is_empty()) {
        Some(line) => format!("the benchmark's last line is `{line}`"),
        None => "the benchmark has printed nothing".to_owned(),
    }
}

/// The output of a benchmark.
#[derive(Debug, PartialEq)]
struct Printed<'a> {
    operations: Vec<Operation<'a>>,
    /// Names and bytes.
    sizes: Vec<(&'a str, u64)>,
    /// The number of both by the last line.
    announced: usize,
}

#[derive(Debug, PartialEq)]
struct Operation<'a> {
    name: &'a str,
    samples: Vec<u64>,
}

impl<'a> Printed<'a> {
    /// # Errors
    /// Names the line that no benchmark prints, or the part that is missing.
    fn parse(output: &'a str) -> Result<Self> {
        let (mut operations, mut sizes) = (Vec::new(), Vec::new());
        let mut lines = output.lines().peekable();
        while let Some(line) = lines.next() {
            let of_line = || format!("the benchmark's line `{line}`");
            if let Some(number) = line.strip_suffix(" operations and sizes") {
                let announced = number.parse().with_context(of_line)?;
                return Ok(Self { operations, sizes, announced });
            }
            let (name, rest) = line.split_once(" goal ").with_context(of_line)?;
            let name = name.trim_end();
            match samples(&mut lines) {
                Some(samples) => {
                    operations.push(Operation { name, samples: samples.with_context(of_line)? });
                }
                None => {
                    let name = name.strip_suffix(", bytes").unwrap_or(name);
                    sizes.push((name, median(rest).with_context(of_line)?));
                }
            }
        }
        bail!("the benchmark ended without the number of its operations")
    }
}

/// The samples of the next line, if it has any.
fn samples(lines: &mut Peekable<Lines<'_>>) -> Option<Result<Vec<u64>>> {
    let mut words = lines.next_if(|line| line.starts_with("samples "))?.split(' ').skip(1);
    Some(words.try_fold(Vec::new(), |mut samples, word| {
        let (value, times) = word.split_once('*').unwrap_or((word, "1"));
        let value: u64 = value.parse().with_context(|| format!("no sample: `{word}`"))?;
        let times: usize = times.parse().with_context(|| format!("no sample: `{word}`"))?;
        let room = MAX_SAMPLES - samples.len();
        ensure!((1..=room).contains(&times), "no sample, or too many: `{word}`");
        samples.extend(std::iter::repeat_n(value, times));
        Ok(samples)
    }))
}

/// The figure behind the word `median`.
fn median(rest: &str) -> Option<u64> {
    rest.split_once("median")?.1.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "control: two marks  goal    -  median    2  least 2  most 2  n 3  no goal
samples 2*3
yield, 2 threads    goal   33  median   29  least   29  most   35  n 3  met; ChibiOS 42
samples 35 29*2
RAM of a thread, bytes goal  120  median   96  met
3 operations and sizes
";

    #[test]
    fn operations_and_sizes_are_read() {
        let printed = Printed::parse(OUTPUT).unwrap();
        assert_eq!(printed.sizes, [("RAM of a thread", 96)]);
        assert_eq!(printed.announced, 3);
        let names: Vec<_> =
            printed.operations.iter().map(|one| (one.name, &*one.samples)).collect();
        assert_eq!(
            names,
            [("control: two marks", &[2, 2, 2][..]), ("yield, 2 threads", &[35, 29, 29])]
        );
    }

    #[test]
    fn what_is_no_benchmark_is_an_error_that_names_the_line() {
        let more = format!("samples 1*{}", MAX_SAMPLES + 1);
        for (from, to, line) in [
            ("samples 35 29*2", "samples 35 29*0", "yield"),
            ("samples 35 29*2", "samples 35  29", "yield"),
            ("samples 35 29*2", "samples -1", "yield"),
            ("samples 35 29*2", "samples 35 29*99999999999999999999", "yield"),
            ("samples 35 29*2", &more, "yield"),
            ("goal  120  median   96", "goal 120 median", "RAM"),
            ("RAM of a thread, bytes goal", "panicked", "panicked"),
            ("3 operations", "three operations", "three"),
        ] {
            let text = OUTPUT.replace(from, to);
            let error = format!("{:#}", Printed::parse(&text).unwrap_err());
            assert!(error.contains(line) && !error.contains('\n'), "{error}");
        }
        let cut = OUTPUT.strip_suffix("3 operations and sizes\n").unwrap();
        assert!(Printed::parse(cut).unwrap_err().to_string().contains("without the number"));
    }

    #[test]
    fn the_last_line_tells_why_a_benchmark_failed() {
        assert!(last_line(b"a\nassertion failed\n\n").contains("`assertion failed`"));
        assert!(last_line(b"").contains("nothing"));
    }
}
