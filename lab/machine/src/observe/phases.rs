//! The phases of a timer of the image's chip: the wait from its interrupt's request to a place, with the
//! timer at many phases against all else.
//!
//! After each update the timer stands still for a step, so that one start of the image has a request at
//! each of these phases. From the longest waits on, further starts have all requests come earlier by up to
//! a period, and halve the time up to which the wait still grows. The last start has all phases and the
//! longest wait, and gives the figures.

use anyhow::{Context as _, Result, bail, ensure};

use super::{EVENTS, NOWHERE, Observed, events::Request};
use crate::Start;
use chronoscope_child::Folder;
use chronoscope_units::{printable, words};

/// The phases that are tried unless the user says how many.
const PHASES: u32 = 200;

/// The most phases: as many are tried of all restarts.
const MOST_PHASES: u32 = 2000;

/// The longest waits whose neighbourhood is searched.
const SEARCHES: usize = 3;

/// The timer whose phases are tried.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Phases {
    pub timer: String,
    pub count: u32,
}

impl Phases {
    /// Reads `TIM2` or `TIM2:1000`; `registers` are the options with the chip's timers.
    ///
    /// # Errors
    /// The chip has no such timer, or the number is none.
    pub fn parse(text: &str, registers: &[String]) -> Result<Self> {
        let shown = printable(text);
        let (name, count) = match text.split_once(':') {
            None => (text, PHASES),
            Some((name, count)) => {
                let count = count.parse().ok().filter(|count| (2..=MOST_PHASES).contains(count));
                let count = count.with_context(|| {
                    format!("`--phase {shown}`: give 2 to {MOST_PHASES} phases, as TIM2:1000")
                })?;
                (name, count)
            }
        };
        let timers = || {
            let options = registers.iter().filter_map(|option| option.strip_prefix("timer="));
            options.filter_map(|option| option.split(':').next())
        };
        let Some(timer) = timers().find(|timer| timer.eq_ignore_ascii_case(name)) else {
            if timers().next().is_none() {
                bail!("`--phase {shown}`: name a chip whose timers are known, as --chip stm32f405");
            }
            let near = words::nearest_three(&name.to_uppercase(), timers());
            bail!("`--phase {shown}`: the chip has no such timer: did you mean {near}?");
        };
        Ok(Self { timer: timer.to_owned(), count })
    }

    /// The parameter's value.
    pub fn name(&self) -> String {
        format!("{}:{}", self.timer, self.count)
    }
}

/// The schedule of the timer's requests, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Schedule {
    step: u64,
    /// How much later the second request and all after it come.
    first: u64,
}

impl Schedule {
    /// The plugin's options. The observation ends with the request of that number, or after `limit`
    /// instructions.
    fn options(self, timer: &str, last: u64, limit: u64) -> String {
        format!(",{},requests={last},limit={limit}", self.option(timer))
    }

    /// The option of the timer.
    fn option(self, timer: &str) -> String {
        format!("phase={timer}:{}:{}", self.step, self.first)
    }
}

/// The last start, and what was tried.
pub(super) struct Longest {
    /// The plugin's options as an observer, and the timer's option among them.
    pub options: String,
    pub phase: String,
    /// A sentence for the reader.
    pub note: String,
}

impl Observed<'_> {
    /// Finds the phase with the longest wait.
    ///
    /// # Errors
    /// The timer raises no interrupt twice, the place is not reached, or a start fails.
    pub(super) fn longest(&self, phases: &Phases, start: &Start<'_>) -> Result<Longest> {
        let Phases { timer, count } = phases;
        let last = u64::from(*count) + 1;
        let look = self.requests(&Schedule::default().options(timer, 3, self.limit), start)?;
        let [first, second, ..] = look.as_slice() else {
            bail!(
                "{timer} has not raised its interrupt by two updates within {} instructions: --limit raises \
                 their number",
                self.limit
            );
        };
        let (period, count) = (second.due - first.due, u64::from(*count));
        // A little more than a part of the period: what divides the period has other phases in each turn.
        let step = (period / count + period / count / count).max(1);
        ensure!(
            u32::try_from(period).is_ok(),
            "{timer} raises its interrupt every {period} ns, which is too rare: 4 s at most"
        );
        let grid = Schedule { step, first: period };
        let mut waits = self.requests(&grid.options(timer, last, u64::MAX), start)?;
        // The first request is before the phases.
        waits.retain(|request| request.answered.is_some() && request.number > 1);
        ensure!(!waits.is_empty(), "the image does not come to {} after {timer}", self.end());
        waits.sort_by_key(|request| (std::cmp::Reverse(request.answered), request.number));
        let (mut longest, mut starts) = (Edge::default(), 0);
        for request in waits.iter().take(SEARCHES) {
            let wait = request.answered.unwrap_or_default();
            let found = edge(step, period, wait, |by| {
                starts += 1;
                let earlier = Schedule { first: period - by, ..grid };
                // The wait may be longer than the period.
                let enough = request.number + 3 + wait / period;
                let options = earlier.options(timer, enough, u64::MAX);
                let all = self.requests(&options, start)?;
                let same = all.iter().find(|other| other.number == request.number);
                Ok(same.and_then(|same| same.answered).unwrap_or_default())
            })?;
            if found.wait > longest.wait {
                longest = found;
            }
        }
        let note = format!(
            "{timer} was tried at {count} phases, {step} ns apart, against all else, and near the longest \
             wait in {starts} more starts; waits in other states of the image may be longer"
        );
        let schedule = Schedule { first: period - longest.by, ..grid };
        let options = schedule.options(timer, last, u64::MAX);
        Ok(Longest { options, phase: schedule.option(timer), note })
    }

    /// The name of the place at which intervals end.
    fn end(&self) -> &str {
        self.to.as_ref().map_or("", |place| &place.name)
    }

    /// The requests of a start of the image.
    fn requests(&self, schedule: &str, start: &Start<'_>) -> Result<Vec<Request>> {
        let folder = Folder::new()?;
        let options = format!("{}{schedule}", self.observer(&folder));
        let mut qemu = self.command(&options, NOWHERE)?;
        let events = self.written(&mut qemu, &folder.path(EVENTS), start)?;
        let (figures, _) = self.figures(&events)?;
        Ok(figures.requests)
    }
}

/// The time by which requests come earlier, and the wait of one of them.
#[derive(Debug, Default, PartialEq)]
struct Edge {
    by: u64,
    wait: u64,
}

/// Finds the time, in ns and up to `most`, up to which a request that comes earlier waits longer: doubles it
/// from `step` on, then halves what is left. `wait` is the wait of the one that comes at its time, and
/// `try_at` finds another one's wait.
fn edge(
    step: u64,
    most: u64,
    wait: u64,
    mut try_at: impl FnMut(u64) -> Result<u64>,
) -> Result<Edge> {
    let mut best = Edge { by: 0, wait };
    let mut beyond = None;
    loop {
        let by = match beyond {
            None => (2 * best.by).max(step).min(most),
            Some(beyond) => best.by.midpoint(beyond),
        };
        if by == best.by {
            return Ok(best);
        }
        match try_at(by)? {
            wait if wait > best.wait => best = Edge { by, wait },
            _ => beyond = Some(by),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edge_is_found_to_a_nanosecond() {
        let wait = |edge| move |by: u64| Ok(if by <= edge { 1000 + by } else { 400 });
        assert_eq!(edge(2500, 9000, 1000, wait(777)).unwrap(), Edge { by: 777, wait: 1777 });
        assert_eq!(edge(2500, 9000, 1000, wait(7777)).unwrap(), Edge { by: 7777, wait: 8777 });
        assert_eq!(edge(2500, 9000, 1000, wait(9999)).unwrap(), Edge { by: 9000, wait: 10_000 });
        assert_eq!(edge(2500, 9000, 1000, |_| Ok(900)).unwrap(), Edge { by: 0, wait: 1000 });
    }

    #[test]
    fn a_timer_of_the_chip_is_named() {
        let registers = ["bank=0x40023800:0x400", "timer=TIM2:0x40000000:0x40:0:28:28:32:4:0"];
        let registers = registers.map(str::to_owned);
        let of = |text: &str| Phases::parse(text, &registers);
        assert_eq!(of("tim2").unwrap().name(), "TIM2:200");
        assert_eq!(of("TIM2:60").unwrap().name(), "TIM2:60");
        for text in ["TIM3", "TIM2:1", "TIM2:2001", "TIM2:", ":5", ""] {
            let error = of(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`--phase {text}`: ")), "{error}");
        }
        let error = Phases::parse("TIM2", &[]).unwrap_err().to_string();
        assert!(error.contains("--chip stm32f405"), "{error}");
    }
}
