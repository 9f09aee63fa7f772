//! The work of the load's processes that needs no partner: each function does one part, and counts its
//! units.

use std::{
    fs::File,
    hint::black_box,
    io::{Seek, Write},
    path::Path,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};

use rustix::{
    fs::{CWD, Mode, OFlags, fdatasync, openat},
    io::Errno,
};

use super::{count, fork_unseen, wait_unseen};

const MEGABYTE: usize = 1 << 20;

/// The bytes of the load `cache`: as large as a processor's own caches, so that its lines leave them.
const CACHE_BYTES: usize = 4 * MEGABYTE;

/// The bytes of each of the two buffers of the load `memory`: larger than the last cache.
const MEMORY_BYTES: usize = 32 * MEGABYTE;

/// The bytes that the load `disk` writes before it begins its file anew.
const FILE_BYTES: u64 = 64 << 20;

/// The sleep of the load `timers`.
const SLEEP: Duration = Duration::from_micros(50);

/// Additions and multiplications of floating-point and whole numbers, in registers.
pub(super) fn arithmetic(done: &AtomicU64) -> std::io::Result<()> {
    let (mut whole, mut real) = (black_box(1_u64), black_box(1.0_f64));
    for _ in 0..100_000 {
        whole = whole.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        real = real.mul_add(1.000_000_1, 1e-9);
    }
    black_box((whole, real));
    count(done);
    Ok(())
}

/// Returns a function that writes to every line of a buffer, in an order that no prefetcher follows.
pub(super) fn cache() -> impl FnMut(&'static AtomicU64) -> std::io::Result<()> {
    const LINE: usize = 64;
    let lines = CACHE_BYTES / LINE;
    // Made by the first turn: the case's own process, which may lock its memory, has none.
    let mut buffer = Vec::new();
    move |done| {
        buffer.resize(CACHE_BYTES, 0_u8);
        // An odd step visits each of the lines, whose number is a power of two, once.
        for number in 0..lines {
            let line = number.wrapping_mul(40_503) % lines;
            buffer[line * LINE] = black_box(buffer[line * LINE].wrapping_add(1));
        }
        done.fetch_add((CACHE_BYTES / MEGABYTE) as u64, Relaxed);
        Ok(())
    }
}

/// Returns a function that copies a buffer to another.
pub(super) fn memory() -> impl FnMut(&'static AtomicU64) -> std::io::Result<()> {
    // Made by the first turn: the case's own process, which may lock its memory, has none.
    let (mut from, mut to) = (Vec::new(), Vec::new());
    move |done| {
        from.resize(MEMORY_BYTES, 1_u8);
        to.resize(MEMORY_BYTES, 2_u8);
        for (from, to) in from.chunks(MEGABYTE).zip(to.chunks_mut(MEGABYTE)) {
            to.copy_from_slice(black_box(from));
            black_box(to);
            count(done);
        }
        Ok(())
    }
}

/// Returns a function that writes to a file without a name, and waits until the disk has it.
///
/// # Errors
/// No folder for temporary files takes such a file.
pub(super) fn disk() -> std::io::Result<impl FnMut(&'static AtomicU64) -> std::io::Result<()>> {
    let mut file = unnamed_file()?;
    let block = vec![0x5a_u8; MEGABYTE];
    Ok(move |done: &'static AtomicU64| {
        if file.stream_position()? >= FILE_BYTES {
            file.rewind()?;
        }
        file.write_all(&block)?;
        fdatasync(&file)?;
        count(done);
        Ok(())
    })
}

/// Opens a file that is gone with its process. The first folder is on a disk more often.
fn unnamed_file() -> std::io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let open = |folder: &Path| openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR);
    let folders = [Path::new("/var/tmp").to_owned(), std::env::temp_dir(), "/".into()];
    let mut last = Errno::NOENT;
    for folder in folders {
        match open(&folder) {
            Ok(file) => return Ok(file.into()),
            Err(error) => last = error,
        }
    }
    Err(last.into())
}

/// Sleeps until a timer expires, as long after the last one as the kernel takes.
pub(super) fn timer(done: &AtomicU64) -> std::io::Result<()> {
    thread::sleep(SLEEP);
    count(done);
    Ok(())
}

/// Makes a process, which ends at once, and waits for it.
pub(super) fn fork(done: &AtomicU64) -> std::io::Result<()> {
    match fork_unseen()? {
        // SAFETY: does not return.
        0 => unsafe { libc::_exit(0) },
        child => wait_unseen(child),
    }
    count(done);
    Ok(())
}
