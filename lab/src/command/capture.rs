//! `chronoscope capture`: measures captures of pins, or writes them in another format.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

use crate::{cli, cli::Phase};
use chronoscope_base::console;
use chronoscope_capture::{
    Analyser, Resampled, Source, measure::Analysis, measure::Measure, measure::Request,
    measure::analyse, open_sampled,
};
use chronoscope_report::{self as report, capture::Format, capture::convert};
use chronoscope_statistics::SplitMix64;
use chronoscope_units::printable;

/// Measures or converts captures; returns the exit status.
///
/// # Errors
/// A capture cannot be read, or the output cannot be written.
pub fn execute(arguments: &cli::Capture) -> Result<u8> {
    if let Some((file, format)) = conversion(arguments)? {
        let [path] = arguments.files.as_slice() else {
            bail!("one capture becomes one file: name one")
        };
        let mut source = source(path, 0, arguments).with_context(|| shown(path))?;
        convert(&mut *source, &arguments.channel, arguments.sampled, format, file)
            .with_context(|| shown(path))?;
        remark_on_unseen(arguments, path, source.unseen());
        return Ok(0);
    }
    let latency = arguments.start.clone().zip(arguments.end.clone());
    let mut request = Request {
        channels: arguments.channel.clone(),
        measures: arguments.measure.clone(),
        latency,
        sampled: arguments.sampled,
    };
    if request.measures.is_empty() && (request.latency.is_none() || !request.channels.is_empty()) {
        request.measures.push(Measure::Width);
    }
    let analyse_one = |(number, path): (usize, &std::path::PathBuf)| -> Result<Analysis> {
        let mut source = source(path, number, arguments).with_context(|| shown(path))?;
        analyse(&mut *source, &request).with_context(|| shown(path))
    };
    let analyses =
        arguments.files.iter().enumerate().map(analyse_one).collect::<Result<Vec<_>>>()?;
    let text = (arguments.format.unwrap_or_default().writer.0)(&analyses)?;
    report::emit(&text, arguments.output.as_deref())?;
    for (analysis, path) in analyses.iter().zip(&arguments.files) {
        remark_on_unseen(arguments, path, analysis.unseen);
    }
    Ok(0)
}

/// The file and format of `--output`, if it is a capture.
fn conversion(arguments: &cli::Capture) -> Result<Option<(&Path, Format)>> {
    let Some(file) = arguments.output.as_deref() else { return Ok(None) };
    let Some(format) = Format::from_extension(file).filter(|_| arguments.format.is_none()) else {
        return Ok(None);
    };
    ensure!(
        arguments.start.is_none() && arguments.measure.is_empty(),
        "{} is a capture, and holds no measures: name a file otherwise, or give its --format",
        shown(file)
    );
    Ok(Some((file, format)))
}

/// Opens the file, resampled if `--rate` is given.
fn source(path: &Path, number: usize, arguments: &cli::Capture) -> Result<Box<dyn Source>> {
    let source = open_sampled(path, arguments.sampled)?;
    let Some(hertz) = arguments.rate else { return Ok(source) };
    let phase = match arguments.phase {
        Phase::At(phase) => phase,
        // Each file has its own phase: a fraction of 53 random bits.
        Phase::Random => {
            let mut random = SplitMix64::new(arguments.seed);
            let bits = (0..=number).map(|_| random.next_u64()).last().unwrap_or_default();
            (bits >> 11) as f64 / (1_u64 << 53) as f64
        }
    };
    Ok(Box::new(Resampled::new(source, Analyser::new(hertz, phase)?)?))
}

/// Remarks on pulses between two samples, which no measurement contains.
fn remark_on_unseen(arguments: &cli::Capture, path: &Path, unseen: u64) {
    if unseen > 0 && !arguments.quiet {
        let pulses =
            if unseen == 1 { "1 pulse lies".to_owned() } else { format!("{unseen} pulses lie") };
        console::remark(&format!(
            "{}: {pulses} between two samples, and cannot be seen",
            shown(path)
        ));
    }
}

/// The path as a message shows it.
fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}
