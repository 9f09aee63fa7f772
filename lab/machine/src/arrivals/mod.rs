//! An interrupt at every moment of a round of another experiment: the experiment `worst`, as an emulator and
//! a simulated core try it.
//!
//! The starts of the samples are reads of clocks; the read at which most samples start is the mark, where a
//! round begins.

mod mark;
mod sweep;

use anyhow::{Result, bail, ensure};
use chronoscope_suite::experiments;

use self::mark::{inner_mark, mark};
pub(crate) use self::{
    mark::{Starts, starts},
    sweep::{HANDLER, Sweep, Waits},
};
use crate::{Request, description::word_of_kind};

/// The rounds before the first one that counts, in which caches of the kernel's own fill.
pub(crate) const SKIPPED: u32 = 20;

/// The rounds of a start that tries pairs of arrivals: enough for all pairs of one arrival.
const ROUNDS_OF_PAIRS: usize = 5000;

/// Why a processor has no pairs of arrivals.
pub(crate) const ONE_AT_A_TIME: &str =
    "pairs of arrivals are tried on a Cortex-M alone: leave out `nested`";

/// The round that is asked for.
pub(crate) struct Asked {
    /// The request that the image gets.
    pub request: Request,
    /// The number of the exception; `None` for the kernel's timer.
    pub exception: Option<String>,
    /// The number of another exception that comes, too.
    pub nested: Option<String>,
}

impl Asked {
    /// # Errors
    /// The experiment of the round does not have one of the parameters.
    pub fn new(request: &Request, kind: &str) -> Result<Self> {
        let name = request.get("of").unwrap_or("switch");
        let Some(spec) = experiments::find(name) else { bail!("unknown experiment `{name}`") };
        let mut inner = Request::new(name);
        for parameter in experiments::worst::SPEC.parameters {
            let passed = !matches!(parameter.name, "of" | "interrupt" | "nested");
            if let Some(value) = request.get(parameter.name).filter(|_| passed) {
                ensure!(
                    spec.parameters.iter().any(|known| known.name == parameter.name),
                    "`{name}` has no parameter `{}`",
                    parameter.name
                );
                inner = inner.with(parameter.name, value);
            }
        }
        for parameter in spec.parameters {
            if let Some(word) = word_of_kind(parameter, kind)
                && inner.get(parameter.name).is_none()
            {
                inner = inner.with(parameter.name, word);
            }
        }
        let exception = request.get("interrupt").map(str::to_owned);
        let nested = request.get("nested").map(str::to_owned);
        if nested.is_some() {
            inner = inner.with("loops", ROUNDS_OF_PAIRS);
        }
        let asked = Self { request: inner, exception, nested };
        // The handler of another one may call the kernel, and is a part of the round.
        ensure!(
            asked.exception.is_none() || !asked.is_set_once_a_round(),
            "`masked` has an interrupt of its own: leave out `interrupt`"
        );
        ensure!(
            asked.nested.is_none() || !asked.is_set_once_a_round(),
            "in `masked`, interrupts come one at a time: leave out `nested`"
        );
        Ok(asked)
    }

    /// Returns whether the experiment sets an interrupt once a round, whose handler calls no kernel.
    pub fn is_set_once_a_round(&self) -> bool {
        self.request.experiment() == experiments::masked::SPEC.name
    }
}

/// The arrivals that one start of the image tried, and the mark of its rounds.
pub(crate) struct Tried {
    /// The address of the instruction at which a round begins.
    pub mark: u64,
    /// The arrivals.
    pub sweep: Sweep,
}

impl Tried {
    /// Finds the round by the starts of the samples among the reads of clocks, a line each. `sweep` starts the
    /// image, and tries the arrivals from a mark on.
    ///
    /// # Errors
    /// The samples do not start at reads of the clock, or a start fails.
    pub fn new(starts: &[i64], reads: &str, sweep: impl Fn(u64) -> Result<Sweep>) -> Result<Self> {
        let mark = mark(starts, reads)?;
        let tried = Self { mark, sweep: sweep(mark)? };
        // A sample may be of many operations, one after the other: then one of them is the round.
        let inner = if tried.sweep.is_complete() { None } else { inner_mark(&tried.sweep.path) };
        match inner {
            None => Ok(tried),
            Some(mark) => Ok(Self { mark, sweep: sweep(mark)? }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::request;

    #[test]
    fn the_round_is_of_the_kernel_s_own_kind_of_task() {
        let asked = |text, kind| Asked::new(&request(text), kind).map(|asked| asked.request);
        let switch = asked("worst of=switch tasks=2 interrupt=15", "coroutine").unwrap();
        assert_eq!(switch, request("switch tasks=2 pair=coroutine-coroutine"));
        let message = asked("worst of=message kind=thread", "coroutine").unwrap();
        assert_eq!(message, request("message kind=thread"));
        let error = asked("worst of=message tasks=2", "thread").unwrap_err().to_string();
        assert!(error.contains("`message` has no parameter `tasks`"), "{error}");
        let error = asked("worst of=masked interrupt=44", "thread").unwrap_err().to_string();
        assert!(error.contains("leave out `interrupt`"), "{error}");
    }
}
