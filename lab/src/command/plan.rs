//! `chronoscope plan`: the samples and the time that a claim on the rate of misses needs.

use anyhow::{Result, bail};

use crate::{cli, cli::PrintFormat};
use chronoscope_report::{self as report, plan};
use chronoscope_statistics::samples_to_claim;
use chronoscope_store::{Store, reference::Reference};
use chronoscope_units::printable;

/// Prints the samples and the time that a claim needs; returns the exit status.
///
/// # Errors
/// The claim is no rate that a run can support, or the run cannot be read.
pub fn execute(arguments: &cli::Plan) -> Result<u8> {
    let rate = claim(&arguments.claim)?;
    if samples_to_claim(rate, plan::MOST_MISSES).is_none() {
        bail!("`--claim {}`: no run is long enough to support it", printable(&arguments.claim));
    }
    let run = match &arguments.run {
        Some(word) => {
            let reference = Reference::try_from(word.as_os_str())?;
            Some(reference.load(|| Store::open(&arguments.store.place()?))?.1)
        }
        None => None,
    };
    let plan = plan::Plan::new(rate, run.as_ref(), arguments.interval);
    let text = match arguments.print.format {
        PrintFormat::Json => serde_json::to_string_pretty(&plan)? + "\n",
        PrintFormat::Table => plan.table(),
    };
    report::emit(&text, arguments.print.output.as_deref())?;
    Ok(0)
}

/// Reads a rate: `fewer than 1 in 1e6`, `1/1000000`, `1e-6`, `0.1 %`.
///
/// # Errors
/// The text is no rate between 0 and 1.
fn claim(text: &str) -> Result<f64> {
    let words = ["fewer than", "less than", "at most", "below", "<"];
    let rest = text.trim();
    let rest = words.iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest).trim();
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let rate = match rest.split_once(" in ").or_else(|| rest.split_once('/')) {
        Some((misses, samples)) => {
            number(misses).zip(number(samples)).map(|(misses, samples)| misses / samples)
        }
        None => match rest.strip_suffix('%') {
            Some(percent) => number(percent).map(|percent| percent / 100.0),
            None => number(rest),
        },
    };
    match rate {
        Some(rate) if rate > 0.0 && rate < 1.0 => Ok(rate),
        _ => bail!(
            "`--claim {}` is no rate between 0 and 1: write it as \"fewer than 1 in 1e6\"",
            printable(text)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_rates() {
        for text in ["fewer than 1 in 1e6", "1 in 1000000", " < 1e-6", "1/1e6", "0.0001 %", "1e-6"]
        {
            assert!((claim(text).unwrap() * 1e6 - 1.0).abs() < 1e-9, "{text}");
        }
        let wrong = ["", "never", "0", "1", "2 in 1", "0 in 5", "1 in 0", "-1e-6", "1 in", "nan"];
        for text in wrong {
            let error = claim(text).unwrap_err().to_string();
            assert!(error.contains("no rate between 0 and 1"), "{error}");
        }
    }
}
