//! `chronoscope doctor`: is this machine fit to measure on?

use anyhow::{Result, bail};

use crate::cli;
use chronoscope_base::console;
use chronoscope_engine::{doctor, doctor::Finding, doctor::Level, doctor::Report};
use chronoscope_machine::host;
use chronoscope_report::{Screen, text_table::fold};
use chronoscope_run::Status;
use chronoscope_units::printable;

/// Examines this machine and prints the findings; returns 4 if one is bad.
///
/// # Errors
/// The list of processors has another form, or names one that the kernel does not permit; or the findings
/// cannot be printed.
pub fn execute(arguments: &cli::Doctor) -> Result<u8> {
    let cpus = arguments.affinity.as_deref().map_or(Ok(Vec::new()), processors)?;
    let report = doctor::examine(&cpus);
    console::print(&match arguments.format {
        cli::DoctorFormat::Table => fold(&table(&report), Screen::for_output(None, None).columns),
        cli::DoctorFormat::Json => serde_json::to_string_pretty(&report)? + "\n",
    })?;
    let status = if report.worst == Level::Bad { Status::Inconclusive } else { Status::Pass };
    Ok(status.exit_code())
}

/// The processors of a list.
fn processors(list: &str) -> Result<Vec<usize>> {
    let shown = printable(list);
    let Some(cpus) = host::processors(&list.replace(',', "+")) else {
        bail!("-a {shown}: name processors as 2, 1-3, 0,2 or all");
    };
    let permitted = host::processors("all").unwrap_or_default();
    if let Some(other) = cpus.iter().find(|cpu| !permitted.contains(cpu)) {
        if doctor::is_in_a_partition(*other) {
            bail!(
                "-a {shown}: processor {other} is in an isolated partition, which only the tasks of its control group may \
                 use: start the lab in that group"
            );
        }
        let last = permitted.last().copied().unwrap_or_default();
        bail!("-a {shown}: the kernel permits no processor {other} here; the last one is {last}");
    }
    Ok(cpus)
}

/// The findings as text, with a line that counts them.
fn table(report: &Report) -> String {
    let cpus = match report.cpus.as_slice() {
        [] => format!("processor {}", report.cpu),
        all => {
            let all: Vec<String> = all.iter().map(ToString::to_string).collect();
            format!("processors {}", all.join(", "))
        }
    };
    let mut text = format!("This machine as a place to measure, {cpus}\n\n");
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
    // Some findings name the processor themselves.
    let unnamed = finding.cpu.filter(|_| !finding.seen.starts_with("processor"));
    let on = unnamed.map_or_else(String::new, |cpu| format!("processor {cpu}: "));
    let mut text = format!("{level:<5}{:<22}{on}{}\n", finding.check, finding.seen);
    for line in [finding.why, finding.mend].iter().filter(|line| !line.is_empty()) {
        let arrow = if *line == finding.mend { "→ " } else { "" };
        text.push_str(&format!("{:27}{arrow}{line}\n", ""));
    }
    text
}
