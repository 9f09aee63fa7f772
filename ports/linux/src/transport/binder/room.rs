//! The memory of a process for incoming messages: mapped from the device, and written by the driver
//! only.

use std::{ffi::c_void, ptr, slice};

use rustix::{
    fd::AsFd,
    io::Errno,
    mm::{MapFlags, ProtFlags, mmap, munmap},
};

/// The size that Android's libraries map: 1 MiB less two guard pages.
pub const BYTES: usize = (1 << 20) - 2 * 4096;

pub struct Room(*const u8);

// SAFETY: the mapping belongs to this value only, and is read through `bytes` only.
unsafe impl Send for Room {}

impl Room {
    /// # Errors
    /// The system's error if there is no memory left, or if the device cannot be mapped.
    pub fn new(device: impl AsFd) -> Result<Self, Errno> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { mmap(ptr::null_mut(), BYTES, ProtFlags::READ, flags, device, 0) }?;
        Ok(Self(start.cast()))
    }

    /// Returns bytes of the room; `None` if they are not wholly in it.
    #[inline]
    pub fn bytes(&self, address: u64, length: u64) -> Option<&[u8]> {
        let start = usize::try_from(address).ok()?.checked_sub(self.0.addr())?;
        let length = usize::try_from(length).ok()?;
        let end = start.checked_add(length)?;
        // SAFETY: the bytes are in the room, which stays mapped; the driver changes freed messages
        // only, and a freed message is not read any more.
        (end <= BYTES).then(|| unsafe { slice::from_raw_parts(self.0.add(start), length) })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: the bytes borrow the room, so there are no references left.
        let _ = unsafe { munmap(self.0.cast_mut().cast::<c_void>(), BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::fd::OwnedFd};

    use rustix::{
        fs::{MemfdFlags, ftruncate, memfd_create},
        process::{Resource, Rlimit, getrlimit, setrlimit},
    };

    use super::*;

    fn file() -> OwnedFd {
        let file = memfd_create("chronoscope-room", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, BYTES as u64).unwrap();
        file
    }

    fn mappings() -> usize {
        fs::read_to_string("/proc/self/maps").unwrap().matches("chronoscope-room").count()
    }

    #[test]
    fn only_what_lies_in_it_is_read_and_it_leaves_nothing() {
        let room = Room::new(file()).unwrap();
        assert_eq!(mappings(), 1);
        let start = room.0.addr() as u64;
        assert_eq!(room.bytes(start, BYTES as u64).map(<[u8]>::len), Some(BYTES));
        assert_eq!(room.bytes(start + BYTES as u64, 0), Some(&[][..]));
        for (address, length) in [
            (start, BYTES as u64 + 1),
            (start - 1, 1),
            (start + 1, BYTES as u64),
            (0, 1),
            (start + 8, u64::MAX),
        ] {
            assert_eq!(room.bytes(address, length), None, "{address:#x} {length:#x}");
        }
        drop(room);
        assert_eq!(mappings(), 0);
    }

    #[test]
    fn without_memory_there_is_an_error_and_no_room() {
        let file = file();
        // SAFETY: the child neither locks nor allocates, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let none = Rlimit { current: Some(0), ..getrlimit(Resource::As) };
            let refused = setrlimit(Resource::As, none).is_ok()
                && Room::new(&file).err() == Some(Errno::NOMEM);
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!refused)) };
        }
        let mut status = -1;
        // SAFETY: the child is this process's, and the pointer is valid.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
    }
}
