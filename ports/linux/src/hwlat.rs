//! The kernel's tracer hwlat: a thread of the kernel's that reads the clock with interrupts off, so
//! that the gaps it sees come from hardware, firmware and hypervisor. The doctor runs it once.

use std::{fs, io, path::Path, process, thread, time::Duration};

use crate::trace::root;

/// The tracer watches for half of a second, by its own default, and rests for the other half. The
/// processor takes no interrupts meanwhile.
const WATCH: Duration = Duration::from_millis(600);

/// Watches one processor for half a second. Returns the largest gap in µs; 0 without one of more
/// than the tracer's threshold, 10 µs unless somebody has set another.
///
/// # Errors
/// As [`largest_gaps`].
pub fn watch(cpu: usize) -> io::Result<u64> {
    Ok(largest_gaps(&[cpu], WATCH)?[0])
}

/// Watches processors for this time, each for a second in turns. Returns the largest gap of each in µs; 0
/// without one of more than the tracer's threshold, 10 µs unless somebody has set another.
///
/// # Errors
/// The kernel has no such tracer (`ENOENT`), another uses it (`EBUSY`), or the user may not trace.
pub fn largest_gaps(cpus: &[usize], time: Duration) -> io::Result<Vec<u64>> {
    let instances = root().ok_or(io::ErrorKind::NotFound)?.join("instances");
    let instance = instances.join(format!("chronoscope-hwlat-{}", process::id()));
    fs::create_dir(&instance)?;
    let watched = in_instance(&instance, cpus, time);
    // The tracer ends with its instance.
    fs::remove_dir(&instance).and(watched)
}

fn in_instance(instance: &Path, cpus: &[usize], time: Duration) -> io::Result<Vec<u64>> {
    let known = fs::read_to_string(instance.join("available_tracers"))?;
    if !known.split_ascii_whitespace().any(|tracer| tracer == "hwlat") {
        return Err(io::Error::from_raw_os_error(libc::ENOENT));
    }
    fs::write(instance.join("tracing_cpumask"), mask(cpus))?;
    fs::write(instance.join("current_tracer"), "hwlat")?;
    thread::sleep(time);
    let trace = fs::read_to_string(instance.join("trace"))?;
    Ok(cpus.iter().map(|cpu| largest(&trace, *cpu)).collect())
}

/// A set of processors as the kernel reads it: hexadecimal words of 32 bits, the highest first.
fn mask(cpus: &[usize]) -> String {
    let words = cpus.iter().map(|cpu| cpu / 32).max().unwrap_or(0);
    let word = |place: usize| {
        let own = cpus.iter().filter(|cpu| *cpu / 32 == place);
        format!("{:x}", own.fold(0_u32, |word, cpu| word | 1 << (cpu % 32)))
    };
    (0..=words).rev().map(word).collect::<Vec<_>>().join(",")
}

/// The largest gap of a processor in lines such as `<...>-7 [001] d... 678.4: #1 inner/outer(us): 12/11
/// ts:…`, in µs.
fn largest(trace: &str, cpu: usize) -> u64 {
    let gaps = trace.lines().filter_map(|line| {
        let (head, rest) = line.split_once("inner/outer(us):")?;
        let (_, own) = head.split_once('[')?;
        let is_of_cpu = own.split_once(']')?.0.parse() == Ok(cpu);
        let (inner, rest) = rest.split_once('/').filter(|_| is_of_cpu)?;
        let outer = rest.split_ascii_whitespace().next()?;
        Some(inner.trim().parse::<u64>().ok()?.max(outer.parse().ok()?))
    });
    gaps.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_gap_of_a_processor_is_found() {
        let trace = "# tracer: hwlat
           <...>-1729    [001] d...   678.473449: #1     inner/outer(us):   11/12    ts:1581527483.343962693 count:6
           <...>-1729    [001] d...   689.556542: #2     inner/outer(us):   16/9     ts:1581527494.889008092 count:1
           <...>-1729    [000] d...   690.556542: #3     inner/outer(us):   26/9     ts:1581527495.889008092 count:1
";
        assert_eq!([0, 1, 2].map(|cpu| largest(trace, cpu)), [26, 16, 0]);
        assert_eq!(largest("# tracer: hwlat\n", 0), 0);
    }

    #[test]
    fn a_processor_has_its_bit() {
        assert_eq!([0, 5, 33].map(|cpu| mask(&[cpu])), ["1", "20", "2,0"]);
        assert_eq!(mask(&[0, 3, 64]), "1,0,9");
    }
}
