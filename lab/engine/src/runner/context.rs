//! The context of a run: this machine, and this program.

use std::{
    collections::BTreeMap,
    env,
    ffi::CStr,
    fs,
    io::Read as _,
    process, thread,
    time::{SystemTime, UNIX_EPOCH},
};

use humantime::format_rfc3339_seconds;
use rustix::system::uname;

use chronoscope_base::{digest, digest::sha256};
use chronoscope_run::Context;
use chronoscope_units::{OneLine, word_without_passwords};

/// The context of a run that starts now, on this machine, by a program of this revision.
pub fn now(revision: &str) -> Context {
    let system = uname();
    let text = |part: &CStr| part.to_string_lossy().into_owned();
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let fact = |name: &str| {
        cpuinfo.lines().find_map(|line| Some(line.strip_prefix(name)?.split_once(": ")?.1))
    };
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    Context {
        date: format_rfc3339_seconds(SystemTime::now()).to_string().into(),
        seconds: 0.0,
        case_seconds: None,
        uuid: uuid().into(),
        machine: machine(),
        labels: BTreeMap::new(),
        host: text(system.nodename()).into(),
        system: [system.sysname(), system.release(), system.version()].map(text).join(" ").into(),
        processor: fact("model name").map_or_else(|| text(system.machine()), str::to_owned).into(),
        processors: thread::available_parallelism().map_or(1, usize::from),
        megahertz: fact("cpu MHz").and_then(|number| number.parse().ok()),
        load: load.split(' ').take(3).filter_map(|number| number.parse().ok()).collect(),
        build: build().into(),
        program: concat!("chronoscope ", env!("CARGO_PKG_VERSION")).into(),
        revision: revision.into(),
        command: command(),
        doctor: Vec::new(),
        interrupted: false,
        shard: None,
        imported: None,
    }
}

/// How the port to Linux beside the program was built: cargo has what it does not optimize in a folder
/// `debug`. The program itself measures nothing.
fn build() -> &'static str {
    let program = env::current_exe().unwrap_or_default();
    let is_debug = program.parent().is_some_and(|folder| folder.ends_with("debug"));
    if is_debug { "debug" } else { "release" }
}

/// A UUID that no other run has.
fn uuid() -> String {
    let mut random = [0; 32];
    // Without the device, the time and the process still tell two runs apart.
    let _ = fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut random));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let salt = format!("{random:?} {} {now}", process::id());
    digest::uuid(salt.as_bytes())
}

/// The digest of the machine id, which itself is not for others' eyes (machine-id(5)); empty if the
/// system has none.
fn machine() -> OneLine {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    match id.trim() {
        "" => OneLine::default(),
        id => sha256(format!("chronoscope {id}").as_bytes())[..16].into(),
    }
}

/// The words of this program's command line, without passwords.
pub fn command() -> Vec<OneLine> {
    let safe = |word: &str| OneLine::from(&*word_without_passwords(word));
    env::args_os().map(|word| safe(&word.to_string_lossy())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_in_utc_to_the_second() {
        let date = now("").date.to_string();
        let form: String =
            date.chars().map(|sign| if sign.is_ascii_digit() { '0' } else { sign }).collect();
        assert_eq!(form, "0000-00-00T00:00:00Z", "{date}");
        assert!(*date > *"2026", "{date}");
    }
}
