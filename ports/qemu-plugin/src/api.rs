//! QEMU's plugin interface, version 1: as much of it as is used here, in safe words.

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    marker::PhantomData,
    ptr,
    sync::atomic::AtomicU64,
};

/// The version of the interface that QEMU looks for before it calls anything. QEMU up to 8.2
/// accepts version 1.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static qemu_plugin_version: c_int = 1;

/// The name that QEMU gives to the loaded plugin.
pub type Id = u64;
/// What a memory access was, packed by QEMU.
pub type Access = u32;

pub type OnBlock = extern "C" fn(Id, *mut RawBlock);
pub type OnExecution = extern "C" fn(c_uint, *mut c_void);
pub type OnAccess = extern "C" fn(c_uint, Access, u64, *mut c_void);
pub type OnExit = extern "C" fn(Id, *mut c_void);

/// A block of code while QEMU translates it. Only QEMU knows what is inside.
#[repr(C)]
pub struct RawBlock([u8; 0]);
#[repr(C)]
struct RawInstruction([u8; 0]);

/// What QEMU tells of itself when it loads the plugin.
#[repr(C)]
pub struct Info {
    target_name: *const c_char,
    _oldest_version: c_int,
    _newest_version: c_int,
    system_emulation: bool,
    processors: c_int,
    _most_processors: c_int,
}

/// No callback here asks QEMU to save registers for it: version 1 takes the flag, and acts upon
/// none of its values.
const NO_REGISTERS: c_int = 0;
const ADD: c_int = 0;
const WRITES: c_int = 2;

unsafe extern "C" {
    fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, callback: OnBlock);
    fn qemu_plugin_register_atexit_cb(id: Id, callback: OnExit, data: *mut c_void);
    fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut RawBlock,
        callback: OnExecution,
        flags: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_register_vcpu_insn_exec_inline(
        instruction: *mut RawInstruction,
        operation: c_int,
        counter: *mut c_void,
        operand: u64,
    );
    fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut RawInstruction,
        callback: OnAccess,
        flags: c_int,
        accesses: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_tb_n_insns(block: *const RawBlock) -> usize;
    fn qemu_plugin_tb_vaddr(block: *const RawBlock) -> u64;
    fn qemu_plugin_tb_get_insn(block: *const RawBlock, index: usize) -> *mut RawInstruction;
    fn qemu_plugin_insn_data(instruction: *const RawInstruction) -> *const c_void;
    fn qemu_plugin_insn_size(instruction: *const RawInstruction) -> usize;
    fn qemu_plugin_get_hwaddr(access: Access, address: u64) -> *mut c_void;
    fn qemu_plugin_hwaddr_is_io(place: *const c_void) -> bool;
}

impl Info {
    /// QEMU's name of the processor's family: `arm`, `riscv32`.
    pub fn target(&self) -> &str {
        // SAFETY: QEMU gives the name as a string that lives as long as QEMU does.
        unsafe { CStr::from_ptr(self.target_name) }.to_str().unwrap_or_default()
    }

    pub fn has_one_processor(&self) -> bool {
        self.system_emulation && self.processors == 1
    }
}

/// Has QEMU call these: for each block that it translates, and when it exits.
pub fn register(id: Id, on_block: OnBlock, on_exit: OnExit) {
    // SAFETY: `id` is the one QEMU gave to this plugin, and functions of a loaded plugin stay where
    // they are.
    unsafe {
        qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
        qemu_plugin_register_atexit_cb(id, on_exit, ptr::null_mut());
    }
}

/// A block of code that QEMU is about to translate.
#[derive(Clone, Copy)]
pub struct Block<'call>(*mut RawBlock, PhantomData<&'call RawBlock>);

impl<'call> Block<'call> {
    /// # Safety
    /// `raw` is what QEMU gave to the callback that runs, and `'call` does not outlive that.
    pub unsafe fn new(raw: *mut RawBlock) -> Self {
        Self(raw, PhantomData)
    }

    pub fn address(self) -> u64 {
        // SAFETY: this block is in translation, as the type says.
        unsafe { qemu_plugin_tb_vaddr(self.0) }
    }

    pub fn len(self) -> usize {
        // SAFETY: as above.
        unsafe { qemu_plugin_tb_n_insns(self.0) }
    }

    pub fn instructions(self) -> impl Iterator<Item = Instruction<'call>> {
        // SAFETY: as above, and the index is below the block's length.
        (0..self.len()).map(move |index| {
            Instruction(unsafe { qemu_plugin_tb_get_insn(self.0, index) }, PhantomData)
        })
    }

    /// Has `callback` called with `data` each time the block begins to execute.
    pub fn on_execution(self, callback: OnExecution, data: usize) {
        // SAFETY: this block is in translation; `data` is a number, which nobody follows.
        unsafe {
            qemu_plugin_register_vcpu_tb_exec_cb(
                self.0,
                callback,
                NO_REGISTERS,
                ptr::without_provenance_mut(data),
            );
        }
    }
}

/// One instruction of a block in translation.
#[derive(Clone, Copy)]
pub struct Instruction<'call>(*mut RawInstruction, PhantomData<&'call RawInstruction>);

impl Instruction<'_> {
    /// Its first four bytes as a little-endian number; the upper half of a short one is 0.
    pub fn word(self) -> u32 {
        // SAFETY: QEMU holds `size` bytes there while it translates the block that this instruction
        // is of.
        let bytes = unsafe {
            std::slice::from_raw_parts(
                qemu_plugin_insn_data(self.0).cast::<u8>(),
                qemu_plugin_insn_size(self.0),
            )
        };
        bytes.iter().take(4).rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
    }

    /// Adds one to `counter` each time the instruction executes, without a call. The processor's
    /// own thread must be the only one to look at it meanwhile.
    pub fn count(self, counter: &'static AtomicU64) {
        // SAFETY: the instruction is in translation, and the counter lives as long as the code that
        // adds to it.
        unsafe {
            qemu_plugin_register_vcpu_insn_exec_inline(self.0, ADD, counter.as_ptr().cast(), 1)
        }
    }

    /// Has `callback` called with `data` after each store that the instruction makes.
    pub fn on_store(self, callback: OnAccess, data: usize) {
        let data = ptr::without_provenance_mut(data);
        // SAFETY: the instruction is in translation; `data` is a number, which nobody follows.
        unsafe { qemu_plugin_register_vcpu_mem_cb(self.0, callback, NO_REGISTERS, WRITES, data) }
    }
}

/// Whether this access, of which the running callback tells, went to a device and not to memory.
pub fn is_device(access: Access, address: u64) -> bool {
    // SAFETY: both numbers are those that QEMU gave to the callback. It gives nothing back for what
    // is neither.
    unsafe {
        let place = qemu_plugin_get_hwaddr(access, address);
        !place.is_null() && qemu_plugin_hwaddr_is_io(place)
    }
}
