//! The state of the machine before and after the case: time stolen by the hypervisor, thermal
//! throttling, load, and the duration of a fixed loop.

use std::{fs, hint::black_box, path::Path};

use chronoscope_suite::{Clock, Trial};

use crate::{clock::nanoseconds, kernel::Linux};

/// The readings taken before the case, to be compared with those after it.
pub struct Conditions {
    steal: Option<u64>,
    throttles: Option<u64>,
    loop_ns: u64,
}

impl Conditions {
    pub fn before(kernel: &Linux) -> Self {
        let cpu = kernel.settings.processors.one();
        Self { steal: stolen(cpu), throttles: throttles(cpu), loop_ns: reference_loop(kernel) }
    }

    pub fn report(&self, trial: &mut Trial<'_, Linux>) {
        let cpu = trial.kernel.settings.processors.one();
        if let Some((before, after)) = self.steal.zip(stolen(cpu)) {
            // /proc/stat counts in USER_HZ, which is 100 on every architecture.
            trial.figure("steal", "ms", after.saturating_sub(before) as f64 * 10.0);
        }
        if let Some((before, after)) = self.throttles.zip(throttles(cpu)) {
            trial.figure("thermal throttling", "", after.saturating_sub(before) as f64);
        }
        if let Some(load) = load() {
            trial.figure("load", "", load);
        }
        trial.figure("timer slack", "ns", timer_slack() as f64);
        trial.figure("reference loop before", "ns", self.loop_ns as f64);
        trial.figure("reference loop after", "ns", reference_loop(trial.kernel) as f64);
    }
}

/// Returns the USER_HZ ticks stolen by the hypervisor from a processor, or from all.
fn stolen(cpu: Option<usize>) -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let line = cpu.map_or("cpu ".to_owned(), |cpu| format!("cpu{cpu} "));
    stat.lines().find(|text| text.starts_with(&line))?.split_ascii_whitespace().nth(8)?.parse().ok()
}

/// Returns the number of thermal throttling events of a processor, or of all, and their packages.
/// `None` on processors other than Intel's, which do not report them.
fn throttles(cpu: Option<usize>) -> Option<u64> {
    throttles_in(Path::new("/sys/devices/system/cpu"), cpu)
}

fn throttles_in(processors: &Path, cpu: Option<usize>) -> Option<u64> {
    let count = |processor: &Path, of: &str| -> Option<u64> {
        fs::read_to_string(processor.join(format!("thermal_throttle/{of}_throttle_count")))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    let of = |processor: &Path| -> u64 {
        ["core", "package"].iter().filter_map(|part| count(processor, part)).sum()
    };
    let concerned: Vec<_> = match cpu {
        Some(cpu) => vec![processors.join(format!("cpu{cpu}"))],
        None => {
            fs::read_dir(processors).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect()
        }
    };
    let tell = concerned.iter().filter(|processor| processor.join("thermal_throttle").exists());
    tell.map(|processor| of(processor)).reduce(|one, other| one + other)
}

/// Returns the load average over one minute.
fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns the timer slack of the director in ns. Real-time tasks have none, regardless of this
/// value.
fn timer_slack() -> i32 {
    // SAFETY: PR_GET_TIMERSLACK takes no argument.
    unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) }
}

/// Returns the nanoseconds that a fixed loop takes, the best of three. It changes with the
/// processor's frequency and with its neighbours.
fn reference_loop(kernel: &Linux) -> u64 {
    let once = || {
        let start = kernel.now();
        let mut word = 1_u64;
        for _ in 0..100_000 {
            word = black_box(word).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
        black_box(word);
        nanoseconds(kernel.now() - start)
    };
    (0..3).map(|_| once()).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttling_is_counted_where_processors_tell_it() {
        let folder =
            std::env::temp_dir().join(format!("chronoscope-throttles-{}", std::process::id()));
        for (cpu, core) in [(0, "3\n"), (1, "40\n")] {
            let counts = folder.join(format!("cpu{cpu}/thermal_throttle"));
            fs::create_dir_all(&counts).unwrap();
            fs::write(counts.join("core_throttle_count"), core).unwrap();
            fs::write(counts.join("package_throttle_count"), "500\n").unwrap();
        }
        fs::create_dir_all(folder.join("cpu2")).unwrap();
        let counted = [Some(0), Some(1), Some(2), None].map(|cpu| throttles_in(&folder, cpu));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(counted, [Some(503), Some(540), None, Some(1043)]);
        assert_eq!(throttles_in(&folder, None), None);
    }
}
