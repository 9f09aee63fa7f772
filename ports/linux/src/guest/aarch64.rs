//! QEMU's `virt`: semihosting calls of the emulator, and devices in memory for which Debian's
//! kernels load no driver.

use std::{
    arch::asm,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    ptr::{self, NonNull},
};

use rustix::{
    fd::AsFd,
    mm::{MapFlags, ProtFlags, mmap, munmap},
};

/// The address of `fw_cfg`, which QEMU's `virt` never moves, and its registers.
const FW_CFG: u64 = 0x0902_0000;
const DATA: usize = 0;
const SELECTOR: usize = 8;

const PCI_DEVICES: &str = "/sys/bus/pci/devices";
/// Vendor and device of QEMU's `pvpanic-pci`: the machine stops at a write, and the lab resumes it.
const PVPANIC: (&str, &str) = ("0x1b36", "0x0011");
const PANICKED: u8 = 1;

/// Operations of Arm's semihosting, and the reasons of its exit.
const SYS_OPEN: usize = 0x01;
const SYS_WRITE: usize = 0x05;
const SYS_EXIT: usize = 0x18;
const APPLICATION_EXIT: usize = 0x2_0026;

/// The file name of semihosting's console, and the mode `w`.
const CONSOLE: &str = ":tt\0";
const WRITE: usize = 4;

/// The size of a page, in bytes; Debian's kernels have no other.
const PAGE: usize = 4096;

/// The mapped devices, unmapped on drop.
pub struct Board {
    fw_cfg: Registers,
}

impl Board {
    /// # Errors
    /// The kernel's error: the caller is not root, or the kernel is locked down.
    pub fn take() -> io::Result<Self> {
        let memory = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_SYNC)
            .open("/dev/mem")?;
        Ok(Self { fw_cfg: Registers::map(&memory, FW_CFG)? })
    }

    /// Stops the machine at this instruction, until the lab resumes it. Does nothing on a machine
    /// without the device.
    pub fn pause(&self) {
        if let Ok(device) = pvpanic() {
            device.write_byte(0, PANICKED);
        }
    }

    /// Writes all bytes by one call of the emulator, which takes none of the guest's time.
    ///
    /// # Errors
    /// The emulator does not take them.
    pub fn stream(&self, bytes: &[u8]) -> io::Result<()> {
        let file = call(SYS_OPEN, &[CONSOLE.as_ptr() as usize, WRITE, CONSOLE.len() - 1]);
        let left = call(SYS_WRITE, &[file, bytes.as_ptr() as usize, bytes.len()]);
        if left == 0 { Ok(()) } else { Err(io::Error::other("QEMU has not taken the stream")) }
    }

    /// Selects a file of `fw_cfg`, to be read from its first byte.
    pub fn select(&self, file: u16) {
        self.fw_cfg.write_word(SELECTOR, file.to_be());
    }

    /// Reads the next bytes of the selected file.
    pub fn read(&self, bytes: &mut [u8]) {
        bytes.fill_with(|| self.fw_cfg.read_byte(DATA));
    }

    /// Ends the machine, and QEMU with success.
    pub fn power_off(&self) {
        exit(0);
    }
}

/// Ends the machine, and QEMU with a failure status.
pub fn fail() {
    exit(1);
}

fn exit(status: usize) {
    call(SYS_EXIT, &[APPLICATION_EXIT, status]);
}

/// Calls the emulator: an operation of Arm's semihosting with its block of parameters.
fn call(operation: usize, parameters: &[usize]) -> usize {
    let result;
    // SAFETY: the emulator reads `parameters` and the memory that they name, which callers keep
    // valid for the call; it writes none. Without semihosting the processor faults.
    unsafe {
        asm!(
            "hlt #0xf000",
            inout("x0") operation => result, in("x1") parameters.as_ptr(),
            options(nostack, preserves_flags),
        );
    }
    result
}

/// The register of QEMU's `pvpanic-pci`.
fn pvpanic() -> io::Result<Registers> {
    let named = |path: &PathBuf| {
        let is = |file: &str, word: &str| {
            fs::read_to_string(path.join(file)).is_ok_and(|text| text.trim_end() == word)
        };
        is("vendor", PVPANIC.0) && is("device", PVPANIC.1)
    };
    let mut paths = fs::read_dir(PCI_DEVICES)?.filter_map(|entry| Some(entry.ok()?.path()));
    let path = paths.find(named).ok_or(io::ErrorKind::NotFound)?;
    fs::write(path.join("enable"), "1")?;
    let memory = OpenOptions::new().read(true).write(true).open(path.join("resource0"))?;
    Registers::map(&memory, 0)
}

/// A page of a device's registers.
struct Registers(NonNull<u8>);

impl Registers {
    /// Maps the page of `memory` at `offset`, a multiple of the page's size.
    fn map(memory: &File, offset: u64) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses a free address, and the pages are a device's: no reference
        // points to them.
        let page = unsafe {
            mmap(ptr::null_mut(), PAGE, access, MapFlags::SHARED, memory.as_fd(), offset)
        };
        NonNull::new(page?.cast()).map(Self).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    fn read_byte(&self, at: usize) -> u8 {
        // SAFETY: callers name registers, which are inside the page.
        unsafe { self.0.add(at).read_volatile() }
    }

    fn write_byte(&self, at: usize, value: u8) {
        // SAFETY: as above.
        unsafe { self.0.add(at).write_volatile(value) };
    }

    fn write_word(&self, at: usize, value: u16) {
        // SAFETY: as above; registers of two bytes are at even addresses.
        unsafe { self.0.add(at).cast::<u16>().write_volatile(value) };
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        // SAFETY: `map` has mapped this page, and nothing else holds its address. Unmapping whole
        // pages cannot fail.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), PAGE) };
    }
}
