//! What the experiments with interrupts share: firing one, and counting the handler's entries.

use core::sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed};

use crate::{
    kernel::{Handler, Interrupts, Kernel, Reason, Refusal, Source, Tasks},
    mark::{Marks, Slot},
    spec::{Parameter, Values},
    task::spin,
    trial::Trial,
};

pub(super) const SOURCE: Parameter = Parameter {
    name: "source",
    unit: "",
    default: "software",
    values: Values::Word(&["software", "timer"]),
    help: "software: the task raises the interrupt itself; timer: a timer interrupts it while it spins",
};

pub(super) const INTERVAL: Parameter = Parameter {
    name: "interval_us",
    unit: "us",
    default: "500",
    values: Values::Number(10, 1_000_000),
    help: "the task sleeps as long before each round",
};

/// How long before it is due the timer is set. The task spins no longer than that in a round, so that it leaves
/// the processor to others for most of the time, as real-time tasks must.
pub(super) const LEAD_US: u64 = 50;

/// A timer that has not fired so long after it was set never will.
const LOST_US: u64 = 100_000;

const REASONS: [Reason; 5] =
    [Reason::NotOffered, Reason::NotPermitted, Reason::Invalid, Reason::Exhausted, Reason::Failed];

/// The interrupt of the case. The task that is interrupted is of the director's kind.
pub(super) struct Firing<K: Interrupts> {
    kernel: &'static K,
    source: Source,
    interval: u64,
    lead: u64,
    lost: u64,
    entries: AtomicU32,
    /// Rounds whose handler had run when `raise` returned, or in time.
    fired: AtomicU32,
    /// Why the kernel refused the handler: one more than the number of the reason, or 0.
    refused: AtomicU32,
    /// With what error number.
    code: AtomicI32,
}

type Director<K> = <K as Kernel>::Director;

impl<K: Interrupts> Firing<K> {
    /// # Errors
    /// [`Refusal`] for an interval that the clock cannot tell.
    pub(super) fn new(trial: &Trial<'_, K>) -> Result<Self, Refusal> {
        Ok(Self {
            kernel: trial.kernel,
            source: if trial.request.word("source") == "timer" { Source::Timer } else { Source::Software },
            interval: trial.stretch(trial.request.number("interval_us"))?,
            lead: trial.ticks(LEAD_US),
            lost: trial.ticks(LOST_US),
            entries: AtomicU32::new(0),
            fired: AtomicU32::new(0),
            refused: AtomicU32::new(0),
            code: AtomicI32::new(0),
        })
    }

    /// Called by the task that is to be interrupted. `false`: the kernel refused.
    pub(super) fn attach(&self, handler: Handler) -> bool {
        let outcome = self.kernel.attach(self.source, handler);
        if let Err(Refusal { reason, code, .. }) = outcome {
            self.code.store(code, Relaxed);
            self.refused.store(1 + reason as u32, Relaxed);
        }
        outcome.is_ok()
    }

    /// How often the handler has been entered.
    #[inline(always)]
    pub(super) fn entries(&self) -> usize {
        self.entries.load(Relaxed) as usize
    }

    /// Called by the handler: counts its entry.
    #[inline(always)]
    pub(super) fn count(&self, before: usize) {
        self.entries.store(before as u32 + 1, Relaxed);
    }

    /// Sleeps, then fires the interrupt for this round. With `starts`, marks there the moment just before it is
    /// raised, or the time it is due. Returns whether the handler has run.
    pub(super) async fn fire(&self, round: usize, starts: Option<&Marks<K>>) -> bool {
        let kernel = self.kernel;
        Director::<K>::delay_until(kernel, kernel.now() + self.interval).await;
        match self.source {
            Source::Software => {
                if let Some(starts) = starts {
                    starts.mark(kernel, round);
                }
                kernel.raise();
            }
            Source::Timer | Source::External => {
                let due = kernel.now() + self.lead;
                if let Some(starts) = starts {
                    starts.set(round, due);
                }
                let armed = kernel.read();
                kernel.arm(due);
                while self.entries() <= round && K::Slot::between(armed, kernel.read()) < self.lost.cast_signed() {
                    spin::<Director<K>>(kernel).await;
                }
            }
        }
        let fired = self.entries() > round;
        self.fired.store(self.fired.load(Relaxed) + u32::from(fired), Relaxed);
        fired
    }

    /// Tells the evidence. Returns in how many rounds the handler has run.
    ///
    /// # Errors
    /// [`Refusal`] when the handler could not be attached.
    pub(super) fn report(&self, trial: &mut Trial<'_, K>) -> Result<usize, Refusal> {
        let refused = self.refused.load(Relaxed);
        if let Some(reason) = REASONS.into_iter().find(|reason| 1 + *reason as u32 == refused) {
            let what = "the kernel refused to attach a handler to the interrupt";
            return Err(Refusal::new(reason, what, "").with_code(self.code.load(Relaxed)));
        }
        let loops = trial.request.number("loops") as f64;
        let fired = self.fired.load(Relaxed);
        trial.evidence("handler entries", self.entries() as f64, loops, loops);
        if self.source == Source::Software {
            trial.evidence("raises that returned after their handler", fired.into(), loops, loops);
        }
        Ok(fired as usize)
    }
}
