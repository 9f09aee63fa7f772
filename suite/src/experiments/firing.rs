//! Parts shared by the experiments with interrupts: firing one, and counting the handler's entries.

use core::{
    hint::black_box,
    sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed},
};

use crate::{
    kernel::{Handler, Interrupts, Kernel, PHASES, Reason, Refusal, Source, Tasks},
    mark::{MEASURED, Marks, Slot},
    spec::{Parameter, Values},
    task::spin,
    trial::Trial,
};

pub(super) const SOURCE: Parameter = Parameter {
    name: "source",
    unit: "",
    default: "software",
    values: Values::Word(&["software", "timer", "external", "external-idle"]),
    help: "software: the task raises the interrupt itself; timer: a timer interrupts it while it \
           spins; external: a bench's line rises at a time that it does not know, while it works; \
           external-idle: the same while all sleep",
};

pub(super) const INTERVAL: Parameter = Parameter {
    name: "interval_us",
    unit: "us",
    default: "500",
    values: Values::Number(10, 1_000_000),
    help: "the task sleeps as long before each round",
};

/// The time from setting the timer to its due time. The task spins no longer than this in a round,
/// so that it leaves the processor idle most of the time, as a real-time task must.
pub(super) const LEAD_US: u64 = 50;

/// The time, in ticks, from asking for an external line to its earliest rise: long enough for the
/// task to fall asleep. Short, because simulated cycles are expensive.
const LEAD_TICKS: u64 = 4096;

/// The timeout of a timer interrupt after it was set.
const LOST_US: u64 = 100_000;

/// The number of interrupts after the measured ones whose handler calls the kernel.
pub(super) const PROOFS: usize = 10;

/// The longest wait for the answer to a handler's give, in intervals between two rounds. It is long
/// for machines that do other work as well.
const PATIENCE: u32 = 1000;

const REASONS: [Reason; 5] =
    [Reason::NotOffered, Reason::NotPermitted, Reason::Invalid, Reason::Exhausted, Reason::Failed];

/// The interrupt of the case. The interrupted task is of the director's kind.
pub(super) struct Firing<K: Interrupts> {
    kernel: &'static K,
    source: Source,
    /// `true` if the task sleeps when the external line rises.
    idle: bool,
    interval: u64,
    lead: u64,
    lost: u64,
    entries: AtomicU32,
    /// The number of rounds whose handler ran before `raise` returned, or in time.
    fired: AtomicU32,
    /// The number of measured rounds whose external line rose in its interval.
    risen: AtomicU32,
    /// The number of gives of the handler that the director has answered.
    answers: AtomicU32,
    /// The number of rounds after the measured ones that ended with an answer.
    answered: AtomicU32,
    /// The reason why the kernel refused the handler: the reason's number plus 1, or 0.
    refused: AtomicU32,
    /// The error number of the refusal.
    code: AtomicI32,
}

type Director<K> = <K as Kernel>::Director;

impl<K: Interrupts> Firing<K> {
    /// # Errors
    /// [`Refusal`] for an interval that the clock cannot represent.
    pub(super) fn new(trial: &Trial<'_, K>) -> Result<Self, Refusal> {
        let (source, idle) = match trial.request.word("source") {
            "timer" => (Source::Timer, false),
            "external" => (Source::External, false),
            "external-idle" => (Source::External, true),
            _ => (Source::Software, false),
        };
        Ok(Self {
            kernel: trial.kernel,
            source,
            idle,
            interval: trial.stretch(trial.request.number("interval_us"))?,
            lead: if source == Source::External { LEAD_TICKS } else { trial.ticks(LEAD_US) },
            lost: trial.ticks(LOST_US),
            entries: AtomicU32::new(0),
            fired: AtomicU32::new(0),
            risen: AtomicU32::new(0),
            answers: AtomicU32::new(0),
            answered: AtomicU32::new(0),
            refused: AtomicU32::new(0),
            code: AtomicI32::new(0),
        })
    }

    /// Returns `true` if the program raises the interrupt.
    pub(super) fn is_raised(&self) -> bool {
        self.source == Source::Software
    }

    pub(super) fn is_external(&self) -> bool {
        self.source == Source::External
    }

    /// Attaches the handler; the caller is the task to be interrupted. Returns `false` if the
    /// kernel refused, and keeps the reason for `report`.
    pub(super) fn attach(&self, handler: Handler) -> bool {
        let outcome = self.kernel.attach(self.source, handler);
        if let Err(Refusal { reason, code, .. }) = outcome {
            self.code.store(code, Relaxed);
            self.refused.store(1 + reason as u32, Relaxed);
        }
        outcome.is_ok()
    }

    /// Returns the number of handler entries.
    #[inline(always)]
    pub(super) fn entries(&self) -> usize {
        self.entries.load(Relaxed) as usize
    }

    /// Counts an entry. Called by the handler only, with the count that it has read.
    #[inline(always)]
    pub(super) fn count(&self, before: usize) {
        self.entries.store(before as u32 + 1, Relaxed);
    }

    /// Sleeps, then fires the interrupt of this round. Stores its start in `starts`: a mark just
    /// before `raise`, the timer's due time, or the time of the line's rise. Returns `true` if the
    /// handler has run.
    pub(super) async fn fire(&self, round: usize, starts: Option<&Marks<K>>) -> bool {
        let kernel = self.kernel;
        Director::<K>::delay_until(kernel, kernel.now() + self.interval).await;
        match self.source {
            Source::Software => {
                if let Some(starts) = starts {
                    starts.start(kernel, round, MEASURED);
                }
                kernel.raise();
            }
            Source::Timer => {
                let due = kernel.now() + self.lead;
                if let Some(starts) = starts {
                    starts.set(round, due);
                }
                let armed = kernel.read();
                kernel.arm(due);
                while self.entries() <= round
                    && K::Slot::between(armed, kernel.read()) < self.lost.cast_signed()
                {
                    spin::<Director<K>>(kernel).await;
                }
            }
            Source::External => {
                let due = self.stimulate();
                if self.idle {
                    // The sleep ends well after the line's latest rise.
                    Director::<K>::delay_until(kernel, due + PHASES + self.lead).await;
                } else {
                    self.work_until_entered(round);
                }
                self.see_rise(round, due, starts);
            }
        }
        let fired = self.entries() > round;
        self.fired.store(self.fired.load(Relaxed) + u32::from(fired), Relaxed);
        fired
    }

    /// Sets the timer and sleeps again and again until its interrupt has come, while others use the
    /// kernel. The due times are spread over [`LEAD_US`], by the golden ratio. Returns `true` if the
    /// handler has run.
    #[cfg(feature = "exempt")]
    pub(super) async fn fire_amid(&self, round: usize, starts: Option<&Marks<K>>) -> bool {
        let (kernel, span) = (self.kernel, self.lead);
        let phase = round as u64 * ((span * 618 / 1000) | 1) % span;
        let due = kernel.now() + span / 2 + phase;
        if let Some(starts) = starts {
            starts.set(round, due);
        }
        kernel.arm(due);
        while self.entries() <= round && kernel.now() < due + self.lost {
            Director::<K>::delay_until(kernel, kernel.now() + span / 3).await;
        }
        let fired = self.entries() > round;
        self.fired.store(self.fired.load(Relaxed) + u32::from(fired), Relaxed);
        fired
    }

    /// Waits until the director has answered the handler's give in round `proof` after the measured
    /// ones, or gives up.
    pub(super) async fn wait_for_answer(&self, proof: usize) {
        for _ in 0..PATIENCE {
            let due = self.kernel.now() + self.interval;
            Director::<K>::delay_until(self.kernel, due).await;
            if self.answers.load(Relaxed) as usize > proof {
                self.answered.store(self.answered.load(Relaxed) + 1, Relaxed);
                break;
            }
        }
    }

    /// Counts an answer. Called by the director after it has taken a give of the handler.
    pub(super) fn answer(&self) {
        self.answers.store(self.answers.load(Relaxed) + 1, Relaxed);
    }

    /// Asks for a rise of the line, and returns its earliest time. This function and the next two
    /// are not inlined, to leave the registers to the caller's other sources.
    #[inline(never)]
    fn stimulate(&self) -> u64 {
        let due = self.kernel.now() + self.lead;
        self.kernel.stimulate(due);
        due
    }

    #[inline(never)]
    fn work_until_entered(&self, round: usize) {
        let armed = self.kernel.read();
        while self.entries() <= round
            && K::Slot::between(armed, self.kernel.read()) < self.lost.cast_signed()
        {
            work_variously();
        }
    }

    #[inline(never)]
    fn see_rise(&self, round: usize, due: u64, starts: Option<&Marks<K>>) {
        let rose = self.kernel.stimulated();
        let in_time = u32::from((due..due + PHASES).contains(&rose));
        if let Some(starts) = starts {
            self.risen.store(self.risen.load(Relaxed) + in_time, Relaxed);
            starts.set(round, rose);
        }
    }

    /// Sends the evidence that the handler may call the kernel.
    pub(super) fn report_proofs(&self, trial: &mut Trial<'_, K>) {
        let (answered, proofs) = (self.answered.load(Relaxed).into(), PROOFS as f64);
        trial.evidence("gives of the handler answered in their round", answered, proofs, proofs);
    }

    /// Sends the evidence. Returns the number of rounds whose handler has run.
    ///
    /// # Errors
    /// [`Refusal`] when the handler could not be attached.
    pub(super) fn report(&self, trial: &mut Trial<'_, K>) -> Result<usize, Refusal> {
        let refused = self.refused.load(Relaxed);
        if let Some(reason) = REASONS.into_iter().find(|reason| 1 + *reason as u32 == refused) {
            let what = if self.is_external() {
                "no line from outside interrupts this processor"
            } else {
                "the kernel refused to attach a handler to the interrupt"
            };
            return Err(Refusal::new(reason, what, "").with_code(self.code.load(Relaxed)));
        }
        let loops = trial.request.count("loops");
        // The rounds after the measured ones are counted too.
        let proofs = (self.fired.load(Relaxed) as usize).saturating_sub(loops);
        let fired = self.fired.load(Relaxed) - proofs as u32;
        let entries = (self.entries() - proofs) as f64;
        let loops = loops as f64;
        trial.evidence("handler entries", entries, loops, loops);
        if self.source == Source::Software {
            trial.evidence("raises that returned after their handler", fired.into(), loops, loops);
        }
        if self.is_external() {
            trial.evidence(
                "lines that rose when they were to",
                self.risen.load(Relaxed).into(),
                loops,
                loops,
            );
        }
        Ok(fired as usize)
    }
}

/// Executes loads, stores, jumps, multiplications and divisions of one cycle to dozens, for an
/// external interrupt to meet. It does not call the kernel, so the interrupt waits for the
/// processor only.
#[inline(never)]
fn work_variously() {
    let mut words = black_box([1_u32, 3, 5, 7]);
    for step in 0..black_box(4) {
        let word = words[step % words.len()];
        let next = &mut words[(step + 1) % 4];
        *next = match word % 3 {
            0 => next.wrapping_mul(word | 1),
            1 => *next / (word | 1),
            _ => *next ^ word,
        };
    }
    black_box(words);
}
