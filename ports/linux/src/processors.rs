//! The processors of a case: `cpu=3`, `cpu=0+2`, `cpu=0-3`, `cpu=all`, `cpu=isolated`, `cpu=free`.

use std::{fs, sync::OnceLock};

use chronoscope_suite::{Reason, Refusal};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors that this process was on before the case moved it.
static BEFORE: OnceLock<CpuSet> = OnceLock::new();

/// The processors that the tasks of a case run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processors {
    /// The scheduler chooses.
    Free,
    One(usize),
    /// Several: the tasks take turns, each on one of them.
    Several(CpuSet),
}

impl Processors {
    /// Reads the value of `cpu`.
    ///
    /// # Errors
    /// [`Reason::Invalid`] for a value of another form.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        const INVALID: Refusal = Refusal::new(
            Reason::Invalid,
            "cpu is a processor, a list as 0+2, a range as 0-3, all, isolated, or free",
            "see `chronoscope list`",
        );
        let number = |text: &str| {
            let number = text.parse().ok().filter(|&cpu: &usize| cpu < CpuSet::MAX_CPU);
            number.ok_or(INVALID)
        };
        match text {
            "free" => return Ok(Self::Free),
            "all" => return Ok(Self::Several(permitted())),
            "isolated" => return Self::isolated(),
            _ => {}
        }
        if !text.contains(['+', '-']) {
            return number(text).map(Self::One);
        }
        let mut set = CpuSet::new();
        for part in text.split('+') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last || (first..=last).any(|cpu| set.is_set(cpu)) {
                return Err(INVALID);
            }
            (first..=last).for_each(|cpu| set.set(cpu));
        }
        Ok(Self::Several(set))
    }

    /// The processors that were isolated at boot.
    ///
    /// # Errors
    /// There is none.
    fn isolated() -> Result<Self, Refusal> {
        const NONE: Refusal = Refusal::new(
            Reason::NotOffered,
            "no processor is isolated",
            "choose some with -a, or boot with isolcpus",
        );
        let isolated = isolated();
        match isolated.as_slice() {
            [] => Err(NONE),
            [one] => Ok(Self::One(*one)),
            several => {
                let mut set = CpuSet::new();
                several.iter().for_each(|&cpu| set.set(cpu));
                Ok(Self::Several(set))
            }
        }
    }

    /// Returns the only processor of the case; `None` if it has several, or any.
    pub fn one(&self) -> Option<usize> {
        if let Self::One(cpu) = self { Some(*cpu) } else { None }
    }

    /// Returns the several processors of the case in ascending order; `None` if it has one, or any.
    pub fn several(&self) -> Option<impl Iterator<Item = usize> + use<>> {
        let Self::Several(set) = *self else { return None };
        Some((0..CpuSet::MAX_CPU).filter(move |&cpu| set.is_set(cpu)))
    }

    /// Moves this process to the processors.
    ///
    /// # Errors
    /// [`Reason::Invalid`] when it may not use one of them.
    pub fn enter(&self) -> Result<(), Refusal> {
        const REFUSAL: Refusal = Refusal::new(
            Reason::Invalid,
            "the case may not run on that processor",
            "choose another with -a",
        );
        let set = match *self {
            Self::Free => return Ok(()),
            Self::One(cpu) => only(cpu),
            Self::Several(set) => {
                let permitted = permitted();
                if (0..CpuSet::MAX_CPU).any(|cpu| set.is_set(cpu) && !permitted.is_set(cpu)) {
                    return Err(REFUSAL);
                }
                set
            }
        };
        sched_setaffinity(None, &set).map_err(|_| REFUSAL)
    }

    /// Returns the processors that this process was on at the first call, which must come before
    /// [`enter`](Self::enter).
    pub fn before() -> &'static CpuSet {
        BEFORE.get_or_init(|| sched_getaffinity(None).unwrap_or_default())
    }

    /// Lets the calling thread run where the process was at its start. Where it fails, the thread stays
    /// where it is.
    pub fn leave() {
        let _ = sched_setaffinity(None, Self::before());
    }

    /// Moves the calling thread to one processor. Returns whether it runs there.
    pub fn pin(cpu: usize) -> bool {
        // SAFETY: sched_getcpu takes no arguments.
        let here = || usize::try_from(unsafe { libc::sched_getcpu() }).ok();
        sched_setaffinity(None, &only(cpu)).is_ok() && here() == Some(cpu)
    }
}

/// Returns the processors that the scheduler leaves alone, by the kernel's list: `2-3,6`.
pub fn isolated() -> Vec<usize> {
    list(&fs::read_to_string("/sys/devices/system/cpu/isolated").unwrap_or_default())
}

fn list(text: &str) -> Vec<usize> {
    let ranges = text.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}

/// Returns the processors that the kernel permits to the calling thread, which stays where it is: those
/// outside of its affinity too, as isolated ones are.
fn permitted() -> CpuSet {
    let Ok(before) = sched_getaffinity(None) else { return CpuSet::new() };
    let mut all = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
    let permitted = sched_setaffinity(None, &all).and_then(|()| sched_getaffinity(None));
    let _ = sched_setaffinity(None, &before);
    permitted.unwrap_or(before)
}

/// Returns the set of one processor, below [`CpuSet::MAX_CPU`].
fn only(cpu: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(cpu);
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_sets() {
        let several = |text| {
            let several = Processors::parse(text).ok().and_then(|cpus| cpus.several());
            several.map(Iterator::collect::<Vec<_>>)
        };
        assert_eq!(several("0+2"), Some(vec![0, 2]));
        assert_eq!(several("4+1-3"), Some(vec![1, 2, 3, 4]));
        assert_eq!(several("2-2"), Some(vec![2]));
        assert_eq!(several("7"), None);
        assert_eq!(Processors::parse("7").ok().and_then(|cpus| cpus.one()), Some(7));
        assert_eq!(Processors::parse("free").ok(), Some(Processors::Free));
        let all = several("all").unwrap();
        assert_eq!(all.len(), sched_getaffinity(None).unwrap().count() as usize);
    }

    #[test]
    fn the_kernel_s_lists_are_read() {
        assert_eq!(list("2-3,6\n"), [2, 3, 6]);
        assert!(list("\n").is_empty());
    }

    #[test]
    fn other_words_are_refused() {
        for text in ["", "a", "-1", "1-", "+", "3-1", "0+0", "0-2+1", "99999", "0-99999", "any"] {
            assert!(Processors::parse(text).is_err(), "{text}");
        }
    }
}
