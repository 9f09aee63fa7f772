//! Tasks as a C program makes them, for `spawn` with `way=plain`: `pthread_create` and `pthread_join`, or
//! `fork` and `wait`, and nothing else. They have the class and the processor of their creator. A fork costs
//! by what the creator maps, which the case reports, and by the places of the text that the child runs: each
//! page fault there maps sixteen pages. A small C program has less of both, and its forks take an eighth less.

use std::{
    cell::RefCell, collections::VecDeque, ffi::c_void, fs, io, marker::PhantomData,
    mem::MaybeUninit, ptr,
};

use chronoscope_suite::{
    Priority, Reason, Refusal, Tasks, Trial,
    experiments::spawn,
    task::{Block, block_on},
};

use crate::{
    coroutine::Coroutine,
    kernel::Linux,
    process::{Process, reap_child},
    semaphore::Semaphore,
    thread::{STACK, Thread},
};

/// Runs `spawn`, whose tasks are made in the way that the request names.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena, or for coroutines, which have one way.
pub async fn spawn(trial: &mut Trial<'_, Linux>) -> Result<(), Refusal> {
    let is_plain = trial.request.given("way") == Some("plain");
    match (trial.request.tasks(), is_plain) {
        ("thread", true) => spawn::run_by::<Thread, Plain<Pthread>>(trial).await,
        ("process", true) => {
            report_memory(trial);
            spawn::run_by::<Process, Plain<Fork>>(trial).await
        }
        ("thread", false) => spawn::run::<Thread>(trial).await,
        ("process", false) => spawn::run::<Process>(trial).await,
        (_, false) => spawn::run::<Coroutine>(trial).await,
        _ => Err(Refusal::not_offered("a C program makes threads and processes")),
    }
}

/// Reports what a fork copies: the areas of the address space, and the pages that are the program's own and
/// no file's.
fn report_memory(trial: &mut Trial<'_, Linux>) {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let kilobytes = |line: &str| -> Option<f64> {
        line.strip_prefix("Anonymous:")?.trim().strip_suffix(" kB")?.parse().ok()
    };
    let own: Vec<f64> = maps.lines().filter_map(kilobytes).collect();
    trial.figure("areas mapped", "", own.len() as f64);
    trial.figure("own pages", "", own.iter().sum::<f64>() / 4.0);
}

/// A way to make a task, and to see it end.
trait Way: 'static {
    const KIND: &'static str;

    /// Makes a task.
    ///
    /// # Errors
    /// The error's number.
    fn make<F>(body: F) -> Result<(), i32>
    where
        F: Future<Output = ()> + Send + 'static;

    /// Waits for the end of a task that the caller has made; `false` if there is none.
    fn reap() -> bool;
}

/// A POSIX thread.
enum Pthread {}

thread_local! {
    /// The threads that this thread has made and not joined.
    static CHILDREN: RefCell<VecDeque<libc::pthread_t>> = const { RefCell::new(VecDeque::new()) };
}

impl Way for Pthread {
    const KIND: &'static str = "thread";

    fn make<F>(body: F) -> Result<(), i32>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        extern "C" fn run<F: Future<Output = ()>>(body: *mut c_void) -> *mut c_void {
            // SAFETY: `make` has leaked this box for this thread alone.
            let body = unsafe { Box::from_raw(body.cast::<F>()) };
            block_on(*body);
            ptr::null_mut()
        }
        let body = Box::into_raw(Box::new(body)).cast();
        let mut attributes = MaybeUninit::uninit();
        let mut thread = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before they are used, and destroyed after. The thread
        // gets the only pointer to its body, which may be sent to it and lives as long as it needs. The
        // number of the thread is written where 0 is returned.
        unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
            let error =
                libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run::<F>, body);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            if error != 0 {
                drop(Box::from_raw(body.cast::<F>()));
                return Err(error);
            }
            CHILDREN.with_borrow_mut(|children| children.push_back(thread.assume_init()));
        }
        Ok(())
    }

    fn reap() -> bool {
        let child = CHILDREN.with_borrow_mut(VecDeque::pop_front);
        // SAFETY: the thread was made by the caller, and is joined once.
        child.map(|child| unsafe { libc::pthread_join(child, ptr::null_mut()) }) == Some(0)
    }
}

/// A forked process.
enum Fork {}

impl Way for Fork {
    const KIND: &'static str = "process";

    fn make<F>(body: F) -> Result<(), i32>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        // SAFETY: cases with processes have no other thread, so the child may use all memory of the
        // parent. It ends with `_exit` and never returns into the parent's code.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
            0 => {
                block_on(body);
                // SAFETY: as above.
                unsafe { libc::_exit(0) }
            }
            _ => Ok(()),
        }
    }

    fn reap() -> bool {
        reap_child()
    }
}

/// Tasks of a way.
struct Plain<W>(PhantomData<W>);

impl<W: Way> Tasks for Plain<W> {
    type Kernel = Linux;
    const KIND: &'static str = W::KIND;

    /// The class is the creator's, who has read it back.
    fn spawn<F>(_: &'static Linux, _: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        W::make(body).map_err(|code| {
            Refusal::new(
                Reason::Exhausted,
                "no more tasks",
                "raise `ulimit -u` or ask for fewer tasks",
            )
            .with_code(code)
        })
    }

    fn reap(_: &'static Linux) -> impl Future<Output = bool> + Send {
        Block(W::reap)
    }

    #[inline(always)]
    fn yield_now(kernel: &'static Linux) -> impl Future<Output = ()> + Send {
        Thread::yield_now(kernel)
    }

    #[inline(always)]
    fn delay_until(kernel: &'static Linux, due: u64) -> impl Future<Output = ()> + Send {
        Thread::delay_until(kernel, due)
    }

    #[inline(always)]
    fn take(
        kernel: &'static Linux,
        semaphore: &'static Semaphore,
    ) -> impl Future<Output = ()> + Send {
        Thread::take(kernel, semaphore)
    }

    fn switches(kernel: &'static Linux) -> Option<u32> {
        Thread::switches(kernel)
    }
}
