//! `chronoscope doctor`: is this machine fit to measure on?

use anyhow::Result;

use crate::cli;
use chronoscope_base::console;
use chronoscope_engine::{doctor, doctor::Finding, doctor::Level, doctor::Report};
use chronoscope_report::{Screen, text_table::fold};
use chronoscope_run::Status;

/// Examines this machine and prints the findings; returns 4 if one is bad.
///
/// # Errors
/// The findings cannot be printed.
pub fn execute(arguments: &cli::Doctor) -> Result<u8> {
    let report = doctor::examine();
    console::print(&match arguments.format {
        cli::DoctorFormat::Table => fold(&table(&report), Screen::for_output(None, None).columns),
        cli::DoctorFormat::Json => serde_json::to_string_pretty(&report)? + "\n",
    })?;
    let status = if report.worst == Level::Bad { Status::Inconclusive } else { Status::Pass };
    Ok(status.exit_code())
}

/// The findings as text, with a line that counts them.
fn table(report: &Report) -> String {
    let mut text = format!("This machine as a place to measure, processor {}\n\n", report.cpu);
    report.findings.iter().for_each(|finding| text.push_str(&paragraph(finding)));
    let count = |level| report.findings.iter().filter(|finding| finding.level == level).count();
    text.push_str(&format!(
        "\n{} good · {} to note · {} bad · {} not seen: {}\n",
        count(Level::Good),
        count(Level::Note),
        count(Level::Bad),
        count(Level::Unseen),
        if report.worst == Level::Bad {
            "figures measured here are doubtful"
        } else {
            "nothing bad was found"
        },
    ));
    text
}

/// A finding as a line with the observation, then lines with its reason and remedy.
fn paragraph(finding: &Finding) -> String {
    let level = match finding.level {
        Level::Good => "good",
        Level::Unseen => "–",
        Level::Note => "note",
        Level::Bad => "BAD",
    };
    let mut text = format!("{level:<5}{:<22}{}\n", finding.check, finding.seen);
    for line in [finding.why, finding.mend].iter().filter(|line| !line.is_empty()) {
        let arrow = if *line == finding.mend { "→ " } else { "" };
        text.push_str(&format!("{:27}{arrow}{line}\n", ""));
    }
    text
}
