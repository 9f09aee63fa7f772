//! What the experiments with timers share: a processor that may not halt, delays with nothing to wait
//! for, and the control.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::{
    kernel::{Kernel, Priority, Refusal, Tasks},
    mark::Marks,
    spec::{Parameter, Values},
    task::spin,
    trial::Trial,
    wire::Series,
};

/// `idle=…`.
pub(super) const IDLE: Parameter = Parameter {
    name: "idle",
    unit: "",
    default: "halt",
    values: Values::Word(&["halt", "spin"]),
    help: "spin: a task of the lowest priority keeps the processor from halting (pin the case to one processor)",
};

/// The urgency of task `number`, from 0, of `tasks`: each less urgent than the one before, as far as the numbers go, and the
/// last one at the lowest.
pub(super) fn descending(number: usize, tasks: usize) -> Priority {
    Priority::Urgent(tasks.min(8).saturating_sub(number).max(1) as u8)
}

/// The task that spins with `idle=spin`. It is of the director's kind.
pub(super) struct Spinner<K: Kernel> {
    kernel: &'static K,
    stop: AtomicBool,
    /// Given when the task has begun, and again when it ends.
    turned: &'static K::Semaphore,
}

impl<K: Kernel> Spinner<K> {
    /// Starts it, if the case asks for it, and waits until it runs. All other tasks exist by then: a process must not
    /// be forked while its parent has threads.
    pub(super) async fn start(trial: &Trial<'_, K>) -> Result<Option<&'static Self>, Refusal> {
        if trial.request.word("idle") == "halt" {
            return Ok(None);
        }
        let kernel = trial.kernel;
        let spinner: &'static Self = trial.arena.place(Self {
            kernel,
            stop: AtomicBool::new(false),
            turned: trial.semaphore(0)?,
        })?;
        K::Director::spawn(kernel, Priority::Idle, async {
            kernel.give(spinner.turned);
            while !spinner.stop.load(Relaxed) {
                spin::<K::Director>(kernel).await;
            }
            kernel.give(spinner.turned);
        })?;
        trial.wait(spinner.turned, 1).await;
        Ok(Some(spinner))
    }

    /// Stops it, and waits until it has ended.
    pub(super) async fn stop(&self) {
        self.stop.store(true, Relaxed);
        K::Director::take(self.kernel, self.turned).await;
    }
}

/// Beside the delays: some whose due time has come when the task asks. They show what the call costs when
/// there is nothing to wait for. It is no control: kernels may set the timer and take its interrupt all the same, as
/// Linux does, and that is part of what the experiments measure.
pub(super) struct DueAlready<K: Kernel> {
    starts: Marks<K>,
    ends: Marks<K>,
}

impl<K: Kernel> DueAlready<K> {
    pub(super) fn new(trial: &Trial<'_, K>) -> Result<Self, Refusal> {
        const ROUNDS: usize = 200;
        Ok(Self {
            starts: Marks::new(trial.arena, ROUNDS)?,
            ends: Marks::new(trial.arena, ROUNDS)?,
        })
    }

    pub(super) async fn run<T: Tasks<Kernel = K>>(&self, kernel: &'static K) {
        for place in 0..self.starts.len() {
            let now = kernel.now();
            self.starts.set(place, now);
            T::delay_until(kernel, now).await;
            self.ends.mark(kernel, place);
        }
    }

    /// Tells them, and the control.
    pub(super) fn report(&self, trial: &mut Trial<'_, K>) {
        trial.durations(Series::auxiliary("due already"), &self.starts, &self.ends);
        trial.mark_control(&self.starts, 1.0);
    }
}
