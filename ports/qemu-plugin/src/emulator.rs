//! Access to QEMU's clock and to the processor's registers and memory, which the plugin interface
//! does not offer.
//!
//! The functions are QEMU's own. Debian's QEMU exports them for its modules; the plugin refuses a
//! QEMU that does not.

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    mem, ptr,
    sync::atomic::AtomicPtr,
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

// SAFETY: all fields are addresses of functions and of a variable of QEMU, valid in each thread.
unsafe impl Send for Emulator {}

/// Returns the address of a symbol in QEMU or its libraries; an error message if there is none.
pub fn find(name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the name is a string; RTLD_DEFAULT searches the exports of the program.
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

/// Returns the function of this name.
///
/// # Safety
/// `F` is the type of a pointer to the function.
pub unsafe fn function<F: Copy>(name: &CStr) -> Result<F, String> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let address = find(name)?;
    // SAFETY: a function pointer holds the address of the function.
    Ok(unsafe { mem::transmute_copy(&address) })
}

impl Emulator {
    /// Looks up all functions. `target` is QEMU's name of the processor's family.
    pub fn find(target: &str) -> Result<Self, String> {
        let read_register = match target {
            "arm" => c"arm_cpu_gdb_read_register",
            "riscv32" | "riscv64" => c"riscv_cpu_gdb_read_register",
            _ => {
                return Err(format!(
                    "nothing is known of processors of QEMU's {target}: it must be arm, riscv32 or riscv64"
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

    /// Returns the virtual time that each instruction takes, in nanoseconds; `None` if QEMU does not
    /// count instructions. Valid once the machine runs.
    pub fn tick(&self) -> Option<i64> {
        const PRECISE: c_int = 1;
        // SAFETY: QEMU sets this variable before it starts the machine, and never again; the
        // function only shifts.
        unsafe { (*self.use_icount == PRECISE).then(|| (self.icount_to_ns)(1)) }
    }

    /// Returns `true` if an instruction takes one nanosecond of virtual time. Valid once the
    /// machine runs.
    pub fn counts_instructions(&self) -> bool {
        self.tick() == Some(1)
    }

    /// Returns the virtual time in nanoseconds, which the guest's timers count. The processor's
    /// thread may call it during an access to a device only; otherwise QEMU ends with an error. Any
    /// other thread gets the time of the processor's last update.
    pub fn time(&self) -> i64 {
        // SAFETY: takes no arguments, and may be called by any thread.
        unsafe { (self.icount_get)() }
    }

    /// Returns the part of [`Self::time`] for which the processor slept. The same restrictions
    /// apply.
    pub fn slept(&self) -> i64 {
        // SAFETY: as above.
        self.time() - unsafe { (self.icount_to_ns)((self.icount_get_raw)()) }
    }
}

/// QEMU's functions that do a piece of work between two blocks of code.
pub struct Worker {
    get_cpu: unsafe extern "C" fn(c_int) -> *mut c_void,
    run_on_cpu: unsafe extern "C" fn(*mut c_void, Work, usize),
}

/// QEMU's `run_on_cpu_func`: the first argument is the processor, the second a union of the size of a
/// pointer.
type Work = extern "C" fn(*mut c_void, usize);

impl Worker {
    /// Looks up all functions.
    pub fn find() -> Result<Self, String> {
        // SAFETY: they have these types in QEMU 7.2 (include/hw/core/cpu.h).
        unsafe {
            Ok(Self {
                get_cpu: function(c"qemu_get_cpu")?,
                run_on_cpu: function(c"async_run_on_cpu")?,
            })
        }
    }

    /// Has the work done after the instruction that executes. The machine must run.
    pub fn run(&self, work: Work, number: usize) {
        // SAFETY: the processor exists, since its code executes. QEMU calls the function on the
        // processor's thread, between two blocks, with its lock of devices held.
        unsafe { (self.run_on_cpu)((self.get_cpu)(0), work, number) }
    }
}

/// A device of the machine, which lives as long as QEMU.
pub type Device = AtomicPtr<c_void>;

type Resolve = unsafe extern "C" fn(*const c_char, *const c_char, *mut bool) -> *mut c_void;

/// Returns the machine's only device of this type. The machine must exist.
pub fn device(kind: &CStr) -> Result<Device, String> {
    // SAFETY: the function has this type in QEMU 7.2 (include/qom/object.h); both strings end with 0.
    let object = unsafe {
        let resolve: Resolve = function(c"object_resolve_path_type")?;
        resolve(c"".as_ptr(), kind.as_ptr(), ptr::null_mut())
    };
    match object.is_null() {
        true => Err(format!("the machine has no {}", kind.to_string_lossy())),
        false => Ok(AtomicPtr::new(object)),
    }
}

/// The guest's only processor.
pub struct Processor {
    emulator: Emulator,
    cpu: *mut c_void,
    bytes: *mut Bytes,
}

// SAFETY: QEMU's processor and the array belong to no thread. Callbacks access them one at a time,
// under the plugin's lock.
unsafe impl Send for Processor {}

impl Processor {
    /// Takes the first processor; `None` if there is none yet. Valid once the machine runs.
    pub fn new(emulator: Emulator) -> Option<Self> {
        // SAFETY: any index may be passed; QEMU returns null for one that does not exist. The array
        // belongs to the plugin.
        let (cpu, bytes) = unsafe { ((emulator.get_cpu)(0), (emulator.new_bytes)()) };
        (!cpu.is_null()).then_some(Self { emulator, cpu, bytes })
    }

    /// QEMU's object.
    pub fn object(&self) -> *const u8 {
        self.cpu.cast()
    }

    /// Returns a register by the debugger's number. The value is current at the beginning of a
    /// block, and during a store: there QEMU has written back the values held in the host's
    /// registers, because the access may fault.
    pub fn register(&self, number: usize) -> u32 {
        let number = c_int::try_from(number).unwrap_or(c_int::MAX);
        // SAFETY: the pointers are valid, from QEMU and GLib; the function appends the register,
        // and returns its size in bytes. The array is emptied first, so `data` begins with the
        // register.
        unsafe {
            (self.emulator.resize_bytes)(self.bytes, 0);
            match (self.emulator.read_register)(self.cpu, self.bytes, number) {
                4 => (*self.bytes).data.cast::<u32>().read_unaligned(),
                _ => 0,
            }
        }
    }

    /// Returns a register of 4 or 8 bytes, as [`Self::register`] does.
    pub fn wide(&self, number: usize) -> u64 {
        let number = c_int::try_from(number).unwrap_or(c_int::MAX);
        // SAFETY: as above.
        unsafe {
            (self.emulator.resize_bytes)(self.bytes, 0);
            match (self.emulator.read_register)(self.cpu, self.bytes, number) {
                4 => (*self.bytes).data.cast::<u32>().read_unaligned().into(),
                8 => (*self.bytes).data.cast::<u64>().read_unaligned(),
                _ => 0,
            }
        }
    }

    /// Reads the guest's memory from `address` on, like a debugger. Words without memory are 0.
    pub fn words<const N: usize>(&self, address: u64) -> [u32; N] {
        let mut words = [0_u32; N];
        // SAFETY: the call writes the size of `words`, and any bit pattern is a valid word.
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
