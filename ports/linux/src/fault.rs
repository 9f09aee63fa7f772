//! The implementation of the experiment `fault`, which the suite's module of that name specifies.

use std::{
    ptr::{self, NonNull},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use chronoscope_suite::{
    Kernel, Priority, Reason, Refusal, Tasks, Trial, mark::Marks, wire::Series,
};
use rustix::{
    fs::{MemfdFlags, ftruncate, memfd_create},
    io::Errno,
    mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munlock},
};

use crate::{
    kernel::Linux,
    semaphore::Semaphore,
    thread::{Thread, usage_of_thread},
};

/// Memory whose pages are not there yet. Never unmapped.
struct Pages {
    first: NonNull<u8>,
    size: usize,
    count: usize,
}

// SAFETY: the memory has no other owner, and its bytes are accessed by volatile writes alone.
unsafe impl Sync for Pages {}
// SAFETY: as above.
unsafe impl Send for Pages {}

impl Pages {
    /// Maps the pages of this kind.
    ///
    /// # Errors
    /// The kernel's error.
    fn map(kind: &str, count: usize) -> Result<Self, Errno> {
        let size = page_size();
        let bytes = count * size;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let file = || {
            let file = memfd_create(c"pages", MemfdFlags::CLOEXEC)?;
            ftruncate(&file, bytes as u64)?;
            Ok::<_, Errno>(file)
        };
        let new = |flags, file: Option<&_>| {
            // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
            let address = unsafe {
                match file {
                    Some(file) => mmap(ptr::null_mut(), bytes, protection, flags, file, 0),
                    None => mmap_anonymous(ptr::null_mut(), bytes, protection, flags),
                }
            }?;
            // No mapping is at address 0.
            let first = NonNull::new(address.cast()).ok_or(Errno::NOMEM)?;
            Ok::<_, Errno>(Self { first, size, count })
        };
        let pages = match kind {
            "anonymous" => new(MapFlags::PRIVATE, None)?,
            shared => {
                let file = file()?;
                new(MapFlags::SHARED, Some(&file))?.touch_all();
                let flags = if shared == "shared" { MapFlags::SHARED } else { MapFlags::PRIVATE };
                new(flags, Some(&file))?
            }
        };
        pages.leave(kind == "anonymous")?;
        if kind == "copied" {
            (0..count).for_each(|page| pages.read(page));
        }
        Ok(pages)
    }

    /// Takes the pages out of the mapping: where all memory is locked, the kernel has filled it.
    fn leave(&self, is_anonymous: bool) -> Result<(), Errno> {
        let bytes = self.size * self.count;
        let address = self.first.as_ptr().cast();
        // SAFETY: the range is a mapping of this value's, whose content nobody needs yet.
        unsafe {
            munlock(address, bytes)?;
            madvise(address, bytes, Advice::LinuxDontNeed)?;
            if is_anonymous {
                // One page a fault. A kernel without huge pages refuses the advice.
                let _ = madvise(address, bytes, Advice::LinuxNoHugepage);
            }
        }
        Ok(())
    }

    /// Writes to a page.
    #[inline(always)]
    fn touch(&self, page: usize) {
        // SAFETY: the place lies in the mapping, which permits writes.
        unsafe { self.first.as_ptr().add(page * self.size).write_volatile(1) }
    }

    fn read(&self, page: usize) {
        // SAFETY: the place lies in the mapping, which permits reads.
        let _ = unsafe { self.first.as_ptr().add(page * self.size).read_volatile() };
    }

    fn touch_all(&self) {
        (0..self.count).for_each(|page| self.touch(page));
    }
}

/// The bytes of a page.
fn page_size() -> usize {
    // SAFETY: sysconf reads a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// The marks of a touch of every page.
struct Pass {
    starts: Marks<Linux>,
    ends: Marks<Linux>,
    /// The minor faults of the thread that the kernel counted.
    faults: AtomicU64,
}

impl Pass {
    fn new(trial: &Trial<'_, Linux>, pages: usize) -> Result<Self, Refusal> {
        let marks = || Marks::new(trial.arena, pages);
        Ok(Self { starts: marks()?, ends: marks()?, faults: AtomicU64::new(0) })
    }

    fn over(&self, kernel: &Linux, pages: &Pages) {
        let before = usage_of_thread().ru_minflt;
        for page in 0..pages.count {
            self.starts.mark(kernel, page);
            pages.touch(page);
            self.ends.mark(kernel, page);
        }
        let faults = usage_of_thread().ru_minflt - before;
        self.faults.store(faults.cast_unsigned(), Relaxed);
    }
}

struct Stage {
    pages: Pages,
    first: Pass,
    again: Pass,
    done: &'static Semaphore,
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn run(trial: &mut Trial<'_, Linux>) -> Result<(), Refusal> {
    let kernel = trial.kernel;
    let count = trial.request.count("loops");
    let pages = Pages::map(trial.request.word("page"), count).map_err(|error| {
        Refusal::new(Reason::Exhausted, "not enough memory for the pages", "ask for fewer loops")
            .with_code(error.raw_os_error())
    })?;
    let (first, again) = (Pass::new(trial, count)?, Pass::new(trial, count)?);
    let stage: &'static Stage =
        trial.arena.place(Stage { pages, first, again, done: trial.semaphore(0)? })?;
    Thread::spawn(kernel, Priority::Urgent(1), async move {
        stage.first.over(kernel, &stage.pages);
        stage.again.over(kernel, &stage.pages);
        kernel.give(stage.done);
    })?;
    trial.wait(stage.done, 1).await;
    let faults = |pass: &Pass| pass.faults.load(Relaxed) as f64;
    // Pages of the marks, the stack and the program may be touched for the first time as well.
    let (all, marks) = (count as f64, 8.0 + count as f64 / 128.0);
    trial.evidence("minor faults", faults(&stage.first), all, all + marks);
    trial.evidence("minor faults of the control", faults(&stage.again), 0.0, marks);
    trial.durations(Series::measured("fault"), &stage.first.starts, &stage.first.ends);
    trial.durations(Series::control("second touch"), &stage.again.starts, &stage.again.ends);
    Ok(())
}
