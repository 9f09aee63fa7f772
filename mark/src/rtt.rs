//! Up-channel 0 of RTT: the marks of a board go to a ring in memory, which the debugger reads while the
//! program runs. The control block is the only one of the program, so no other crate may have one.
//!
//! ```ignore
//! board.drain(&mut rtt::put);
//! ```
//!
//! # Soundness
//! [`put`] alone writes the ring and its count, and a lock keeps a second caller out. The debugger writes
//! `read`, which is read as volatile. All fields are plain words in memory.

#[cfg(is_board)]
use core::{
    cell::UnsafeCell,
    sync::atomic::{AtomicBool, Ordering},
};

/// The bytes of the ring.
#[cfg(is_board)]
const BYTES: usize = 1024;

/// The control block: a debugger finds it by its first 16 bytes, or by its name.
#[cfg(is_board)]
#[repr(C)]
struct Block {
    id: [u8; 16],
    ups: i32,
    downs: i32,
    name: *const u8,
    buffer: *mut u8,
    size: u32,
    /// The place of the next byte, which the program writes.
    written: u32,
    /// The place of the next byte, which the debugger reads.
    read: u32,
    /// 0: what finds no room is left out.
    flags: u32,
}

/// Memory that the debugger shares.
#[cfg(is_board)]
struct Shared<T>(UnsafeCell<T>);

// SAFETY: see the module's head.
#[cfg(is_board)]
unsafe impl<T> Sync for Shared<T> {}

#[cfg(is_board)]
static RING: Shared<[u8; BYTES]> = Shared(UnsafeCell::new([0; BYTES]));

/// All zero at the start, so that no copy of it is in flash.
#[cfg(is_board)]
#[unsafe(export_name = "_SEGGER_RTT")]
static BLOCK: Shared<Block> = Shared(UnsafeCell::new(Block {
    id: [0; 16],
    ups: 0,
    downs: 0,
    name: core::ptr::null(),
    buffer: core::ptr::null_mut(),
    size: 0,
    written: 0,
    read: 0,
    flags: 0,
}));

/// Fills in the control block. The name comes last: a debugger that finds it finds all of the block.
#[cfg(is_board)]
fn start() {
    let block = BLOCK.0.get();
    // SAFETY: fields of the block, which nothing reads without its name.
    unsafe {
        (&raw mut (*block).ups).write_volatile(1);
        (&raw mut (*block).name).write_volatile(c"chronoscope".as_ptr().cast());
        (&raw mut (*block).buffer).write_volatile(RING.0.get().cast());
        (&raw mut (*block).size).write_volatile(BYTES as u32);
        for (place, letter) in b"SEGGER RTT".iter().enumerate().rev() {
            (&raw mut (*block).id[place]).write_volatile(*letter);
        }
    }
}

/// The bytes that find room.
pub fn room() -> usize {
    #[cfg(is_board)]
    {
        let block = BLOCK.0.get();
        // SAFETY: words of the block.
        let [written, read] = unsafe {
            [
                (&raw const (*block).written).read_volatile(),
                (&raw const (*block).read).read_volatile(),
            ]
        };
        // Both are within the ring, unless a debugger has written nonsense.
        (read as usize).wrapping_sub(written as usize).wrapping_sub(1) % BYTES
    }
    #[cfg(not(is_board))]
    usize::MAX
}

/// Sends a byte. Never waits: a byte that finds the ring full, or that comes from within another call,
/// is left out, and its mark counts as lost.
pub fn put(byte: u8) {
    #[cfg(is_board)]
    {
        static BUSY: AtomicBool = AtomicBool::new(false);
        if BUSY.load(Ordering::Relaxed) {
            return;
        }
        BUSY.store(true, Ordering::Relaxed);
        let block = BLOCK.0.get();
        // SAFETY: this call alone writes here, and `place` is within the ring.
        unsafe {
            if (&raw const (*block).size).read_volatile() == 0 {
                start();
            }
            let place = (&raw const (*block).written).read_volatile();
            if room() > 0 {
                RING.0.get().cast::<u8>().add(place as usize).write_volatile(byte);
                let next = if place as usize + 1 < BYTES { place + 1 } else { 0 };
                (&raw mut (*block).written).write_volatile(next);
            }
        }
        BUSY.store(false, Ordering::Relaxed);
    }
    #[cfg(not(is_board))]
    let _ = byte;
}
