//! Parts shared by the experiments with timers, a port's own included: the spinning task, the
//! delays that are already due, and the control.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::{
    kernel::{Kernel, Priority, Refusal, Tasks},
    mark::Marks,
    spec::{Parameter, Values},
    task::spin,
    trial::Trial,
    wire::Series,
};

/// The parameter `idle`.
pub const IDLE: Parameter = Parameter {
    name: "idle",
    unit: "",
    default: "halt",
    values: Values::Word(&["halt", "spin"]),
    help: "spin: a task of the lowest priority keeps the processor from halting (pin the case to \
           one processor)",
};

/// Returns the priority of task `number`, from 0, of `tasks`: each less urgent than the one before,
/// from 8 at most down to 1, which all further tasks share.
pub fn descending(number: usize, tasks: usize) -> Priority {
    Priority::Urgent(tasks.min(8).saturating_sub(number).max(1) as u8)
}

/// The spinning task of `idle=spin`, of the director's kind.
pub struct Spinner<K: Kernel> {
    kernel: &'static K,
    stop: AtomicBool,
    /// Given at the task's start, and again at its end.
    turned: &'static K::Semaphore,
}

impl<K: Kernel> Spinner<K> {
    /// Starts the task, if the case asks for it, and waits until it runs. The caller has created
    /// all other tasks: a process must not be forked while its parent has threads.
    pub async fn start(trial: &Trial<'_, K>) -> Result<Option<&'static Self>, Refusal> {
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

    /// Stops the task, and waits until it has ended.
    pub async fn stop(&self) {
        self.stop.store(true, Relaxed);
        K::Director::take(self.kernel, self.turned).await;
    }
}

/// An auxiliary series of delays that are already due when the task asks for them: the cost of the
/// call without waiting. It is no control: kernels may set the timer and take its interrupt even
/// so, like Linux, and this is part of the measured path.
pub struct DueAlready<K: Kernel> {
    starts: Marks<K>,
    ends: Marks<K>,
}

impl<K: Kernel> DueAlready<K> {
    /// Allocates the marks of 200 delays.
    ///
    /// # Errors
    /// [`Refusal`] when the arena is full.
    pub fn new(trial: &Trial<'_, K>) -> Result<Self, Refusal> {
        const ROUNDS: usize = 200;
        Ok(Self {
            starts: Marks::new(trial.arena, ROUNDS)?,
            ends: Marks::new(trial.arena, ROUNDS)?,
        })
    }

    /// Runs all delays in a task of the kind `T`, the calling one.
    pub async fn run<T: Tasks<Kernel = K>>(&self, kernel: &'static K) {
        for place in 0..self.starts.len() {
            let now = kernel.now();
            self.starts.set(place, now);
            T::delay_until(kernel, now).await;
            self.ends.mark(kernel, place);
        }
    }

    /// Sends the series and the control.
    pub fn report(&self, trial: &mut Trial<'_, K>) {
        trial.durations(Series::auxiliary("due already"), &self.starts, &self.ends);
        trial.mark_control(&self.starts, 1.0);
    }
}
