//! The commands of the program, a module each, and modules that several commands share. [`execute`]
//! selects the command; the modules know nothing of how the command line is parsed.

mod baseline;
mod beside;
mod bisect;
mod cache;
mod capture;
mod cases;
mod compare;
mod cyclictest;
mod demo;
mod doctor;
mod earlier;
mod explain;
mod grown;
mod history;
mod in_turn;
mod keep;
mod latency;
mod list;
mod manual;
mod merge;
mod observe;
mod on;
mod oslat;
mod place;
mod places;
mod plan;
mod published;
mod recover;
mod report;
mod run;
mod schedule;
mod schema;
mod session;
mod show;
mod single;
mod team;
mod timerlat;
mod tool;
mod trace;
mod transfer;
mod until_sure;
mod watch;
mod why;
mod worst;

use anyhow::Result;

use self::latency::Transport;
use crate::{cli::Cli, cli::Command};
use chronoscope_child::supervisor;

/// Executes the command of the command line and returns the program's exit status.
///
/// # Errors
/// The command failed; the message is one line that says what to do.
pub fn execute(cli: Cli) -> Result<u8> {
    match cli.command {
        Command::Baseline(baseline) => baseline::execute(&baseline),
        Command::Cache(cache) => cache::execute(&cache),
        Command::Capture(capture) => capture::execute(&capture),
        Command::Run(run) => run::execute(&run),
        Command::Show(run) => show::execute(run),
        Command::Worst(run) => worst::execute(run),
        Command::Why(why) => why::execute(&why),
        Command::Bisect(bisect) => bisect::execute(&bisect),
        Command::Schedule(schedule) => schedule::execute(&schedule),
        Command::Report(report) => report::execute(&report),
        Command::Trace(trace) => trace::execute(&trace),
        Command::Compare(compare) => compare::execute(&compare),
        Command::Explain(explain) => explain::execute(&explain),
        Command::Schema => schema::execute(),
        Command::Manual => manual::page(),
        Command::Completions { shell } => manual::completions(shell),
        Command::History(history) => history::execute(&history),
        Command::Plan(plan) => plan::execute(&plan),
        Command::Place(_) => place::release(),
        Command::Recover(recover) => recover::execute(&recover),
        Command::Export(export) => transfer::export(&export),
        Command::Import(import) => transfer::import(&import),
        Command::List(list) => list::execute(&list),
        Command::Observe(observe) => observe::execute(&observe),
        Command::Watch(watch) => watch::execute(&watch),
        Command::Cyclictest(cyclictest) => cyclictest::execute(&cyclictest),
        Command::Oslat(oslat) => oslat::execute(&oslat),
        Command::Timerlat(timerlat) => timerlat::execute(&timerlat),
        Command::Merge(merge) => merge::execute(&merge),
        Command::BinderLatency(latency) => latency::execute(Transport::Binder, &latency),
        Command::HwbinderLatency(latency) => latency::execute(Transport::Hwbinder, &latency),
        Command::Supervise => {
            supervisor::serve();
            Ok(0)
        }
        Command::Doctor(doctor) => doctor::execute(&doctor),
    }
}
