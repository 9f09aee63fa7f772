//! What the plugin interface does not tell, asked of QEMU itself: its clock, and the processor's
//! registers and memory.
//!
//! These are QEMU's own functions. Debian's QEMU exports them, because it loads its own modules
//! too; a QEMU that does not is refused when the plugin is loaded.

use std::{
    ffi::{CStr, c_int, c_uint, c_void},
    mem,
};

/// GLib's growing array of bytes, as its documentation declares it.
#[repr(C)]
struct Bytes {
    data: *const u8,
    len: c_uint,
}

type ReadRegister = unsafe extern "C" fn(*mut c_void, *mut Bytes, c_int) -> c_int;

/// QEMU's functions.
#[derive(Clone, Copy)]
pub struct Emulator {
    icount_get: unsafe extern "C" fn() -> i64,
    icount_get_raw: unsafe extern "C" fn() -> i64,
    icount_to_ns: unsafe extern "C" fn(i64) -> i64,
    use_icount: *const c_int,
    get_cpu: unsafe extern "C" fn(c_int) -> *mut c_void,
    read_register: ReadRegister,
    read_memory: unsafe extern "C" fn(*mut c_void, u64, *mut c_void, usize, bool) -> c_int,
    new_bytes: unsafe extern "C" fn() -> *mut Bytes,
    resize_bytes: unsafe extern "C" fn(*mut Bytes, c_uint) -> *mut Bytes,
}

// SAFETY: all are addresses of functions and of a variable of QEMU, the same for each thread.
unsafe impl Send for Emulator {}

/// The address of that name in QEMU or its libraries.
fn find(name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the name is a string; RTLD_DEFAULT asks for what the program itself exports.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() {
        return Err(format!(
            "this QEMU does not export {}, without which the guest's time is unknown: use \
             Debian's QEMU 7.2",
            name.to_string_lossy()
        ));
    }
    Ok(address)
}

/// The function of that name.
///
/// # Safety
/// `F` is the type of a pointer to it.
unsafe fn function<F: Copy>(name: &CStr) -> Result<F, String> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let address = find(name)?;
    // SAFETY: the address of a function is what a pointer to it holds.
    Ok(unsafe { mem::transmute_copy(&address) })
}

impl Emulator {
    /// `target`: QEMU's name of the processor's family.
    pub fn find(target: &str) -> Result<Self, String> {
        let read_register = match target {
            "arm" => c"arm_cpu_gdb_read_register",
            "riscv32" => c"riscv_cpu_gdb_read_register",
            _ => {
                return Err(format!(
                    "nothing is known of processors of QEMU's {target}: it must be arm or riscv32"
                ));
            }
        };
        // SAFETY: they have these types in QEMU 7.2 (include/sysemu/cpu-timers.h,
        // include/hw/core/cpu.h, include/exec/cpu-common.h, target/*/cpu.h) and in GLib 2.
        unsafe {
            Ok(Self {
                icount_get: function(c"icount_get")?,
                icount_get_raw: function(c"icount_get_raw")?,
                icount_to_ns: function(c"icount_to_ns")?,
                use_icount: find(c"use_icount")?.cast(),
                get_cpu: function(c"qemu_get_cpu")?,
                read_register: function(read_register)?,
                read_memory: function(c"cpu_memory_rw_debug")?,
                new_bytes: function(c"g_byte_array_new")?,
                resize_bytes: function(c"g_byte_array_set_size")?,
            })
        }
    }

    /// Whether one instruction takes one nanosecond of virtual time. To be asked when the machine
    /// runs.
    pub fn counts_instructions(&self) -> bool {
        const PRECISE: c_int = 1;
        // SAFETY: QEMU sets this variable before it starts the machine, and never again; the
        // function only shifts.
        unsafe { *self.use_icount == PRECISE && (self.icount_to_ns)(1) == 1 }
    }

    /// Virtual time in nanoseconds: what the guest's timers count. In the processor's thread QEMU
    /// can tell it only while the guest is at a device, and ends with an error otherwise; any other
    /// thread is told what it was when the processor last looked.
    pub fn time(&self) -> i64 {
        // SAFETY: takes nothing, and may be called by any thread.
        unsafe { (self.icount_get)() }
    }

    /// The part of [`Self::time`] in which no instruction was executed, since the processor slept.
    /// The same holds.
    pub fn slept(&self) -> i64 {
        // SAFETY: as above.
        self.time() - unsafe { (self.icount_get_raw)() }
    }
}

/// The one processor.
pub struct Processor {
    emulator: Emulator,
    cpu: *mut c_void,
    bytes: *mut Bytes,
}

// SAFETY: QEMU's processor and the array belong to no thread. Callbacks use them one at a time:
// each holds the plugin's lock.
unsafe impl Send for Processor {}

impl Processor {
    /// To be asked when the machine runs.
    pub fn new(emulator: Emulator) -> Option<Self> {
        // SAFETY: any number may be asked for; what does not exist is null. The array is ours.
        let (cpu, bytes) = unsafe { ((emulator.get_cpu)(0), (emulator.new_bytes)()) };
        (!cpu.is_null()).then_some(Self { emulator, cpu, bytes })
    }

    /// A register by the debugger's number. It is as the program sees it at the beginning of a
    /// block, and in an instruction that stores: there QEMU has written back what it holds in the
    /// host's registers, because the access may fault.
    pub fn register(&self, number: usize) -> u32 {
        let number = c_int::try_from(number).unwrap_or(c_int::MAX);
        // SAFETY: both pointers are QEMU's and GLib's own; the function appends the register, and
        // says how many bytes it has. The array is emptied first, so that `data` begins with it.
        unsafe {
            (self.emulator.resize_bytes)(self.bytes, 0);
            match (self.emulator.read_register)(self.cpu, self.bytes, number) {
                4 => (*self.bytes).data.cast::<u32>().read_unaligned(),
                _ => 0,
            }
        }
    }

    /// The guest's memory from `address` on, as a debugger reads it; zeros where there is none.
    pub fn words<const N: usize>(&self, address: u64) -> [u32; N] {
        let mut words = [0_u32; N];
        // SAFETY: writes as many bytes as `words` has. A word of all bits is a word.
        let failed = unsafe {
            (self.emulator.read_memory)(
                self.cpu,
                address,
                (&raw mut words).cast(),
                size_of_val(&words),
                false,
            )
        };
        if failed == 0 { words } else { [0; N] }
    }
}
