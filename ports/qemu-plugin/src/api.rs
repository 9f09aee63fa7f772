//! A safe wrapper of the used part of QEMU's plugin interface, version 1.

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    marker::PhantomData,
    ptr,
    sync::atomic::AtomicU64,
};

/// The version of the interface, which QEMU checks before it calls the plugin. QEMU up to 8.2
/// accepts version 1.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static qemu_plugin_version: c_int = 1;

/// QEMU's identifier of the loaded plugin.
pub type Id = u64;
/// QEMU's packed description of a memory access.
pub type Access = u32;

pub type OnBlock = extern "C" fn(Id, *mut RawBlock);
pub type OnExecution = extern "C" fn(c_uint, *mut c_void);
pub type OnAccess = extern "C" fn(c_uint, Access, u64, *mut c_void);
pub type OnExit = extern "C" fn(Id, *mut c_void);
pub type OnProcessor = extern "C" fn(Id, c_uint);

/// A block of code while QEMU translates it, an opaque type.
#[repr(C)]
pub struct RawBlock([u8; 0]);
#[repr(C)]
struct RawInstruction([u8; 0]);

/// QEMU's description of itself, passed when it loads the plugin.
#[repr(C)]
pub struct Info {
    target_name: *const c_char,
    _oldest_version: c_int,
    _newest_version: c_int,
    system_emulation: bool,
    processors: c_int,
    _most_processors: c_int,
}

/// The flag of callbacks that need no saved registers. Version 1 accepts the flag and ignores it.
const NO_REGISTERS: c_int = 0;
const ADD: c_int = 0;
const WRITES: c_int = 2;
const READS_AND_WRITES: c_int = 3;

unsafe extern "C" {
    fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, callback: OnBlock);
    fn qemu_plugin_register_vcpu_init_cb(id: Id, callback: OnProcessor);
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
    fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut RawInstruction,
        callback: OnExecution,
        flags: c_int,
        data: *mut c_void,
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
    fn qemu_plugin_insn_vaddr(instruction: *const RawInstruction) -> u64;
    fn qemu_plugin_insn_size(instruction: *const RawInstruction) -> usize;
    fn qemu_plugin_get_hwaddr(access: Access, address: u64) -> *mut c_void;
    fn qemu_plugin_hwaddr_is_io(place: *const c_void) -> bool;
}

impl Info {
    /// Returns QEMU's name of the processor's family: `arm`, `riscv32`.
    pub fn target(&self) -> &str {
        // SAFETY: QEMU passes a string that lives as long as QEMU.
        unsafe { CStr::from_ptr(self.target_name) }.to_str().unwrap_or_default()
    }

    pub fn has_one_processor(&self) -> bool {
        self.system_emulation && self.processors == 1
    }
}

/// Registers the callbacks for each translated block, and for QEMU's exit.
pub fn register(id: Id, on_block: OnBlock, on_exit: OnExit) {
    // SAFETY: `id` is QEMU's identifier of this plugin, and functions of a loaded plugin do not
    // move.
    unsafe {
        qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
        qemu_plugin_register_atexit_cb(id, on_exit, ptr::null_mut());
    }
}

/// Registers the callback for each processor that comes into being.
pub fn on_processor(id: Id, callback: OnProcessor) {
    // SAFETY: as above.
    unsafe { qemu_plugin_register_vcpu_init_cb(id, callback) }
}

/// A block of code in translation, valid for the running callback.
#[derive(Clone, Copy)]
pub struct Block<'call>(*mut RawBlock, PhantomData<&'call RawBlock>);

impl<'call> Block<'call> {
    /// # Safety
    /// `raw` was passed by QEMU to the running callback, and `'call` does not outlive the callback.
    pub unsafe fn new(raw: *mut RawBlock) -> Self {
        Self(raw, PhantomData)
    }

    pub fn address(self) -> u64 {
        // SAFETY: the block is in translation, by the type's invariant.
        unsafe { qemu_plugin_tb_vaddr(self.0) }
    }

    pub fn len(self) -> usize {
        // SAFETY: as above.
        unsafe { qemu_plugin_tb_n_insns(self.0) }
    }

    pub fn instructions(self) -> impl Iterator<Item = Instruction<'call>> {
        (0..self.len()).map(move |index| {
            // SAFETY: as above, and the index is below the block's length.
            let instruction = unsafe { qemu_plugin_tb_get_insn(self.0, index) };
            Instruction(instruction, PhantomData)
        })
    }

    /// Registers `callback(data)` for each start of the block's execution.
    pub fn on_execution(self, callback: OnExecution, data: usize) {
        // SAFETY: the block is in translation; `data` is a number, not a pointer that is followed.
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

/// An instruction of a block in translation.
#[derive(Clone, Copy)]
pub struct Instruction<'call>(*mut RawInstruction, PhantomData<&'call RawInstruction>);

impl Instruction<'_> {
    /// Returns the first four bytes as a little-endian number. The upper half of a 2-byte
    /// instruction is 0.
    pub fn word(self) -> u32 {
        // SAFETY: QEMU keeps `size` bytes there while it translates the instruction's block.
        let bytes = unsafe {
            std::slice::from_raw_parts(
                qemu_plugin_insn_data(self.0).cast::<u8>(),
                qemu_plugin_insn_size(self.0),
            )
        };
        bytes.iter().take(4).rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
    }

    pub fn address(self) -> u64 {
        // SAFETY: the instruction is in translation, by the type's invariant.
        unsafe { qemu_plugin_insn_vaddr(self.0) }
    }

    /// Registers `callback(data)` for each execution of the instruction; it runs before it.
    pub fn on_execution(self, callback: OnExecution, data: usize) {
        let data = ptr::without_provenance_mut(data);
        // SAFETY: the instruction is in translation; `data` is a number, not a pointer that is
        // followed.
        unsafe { qemu_plugin_register_vcpu_insn_exec_cb(self.0, callback, NO_REGISTERS, data) }
    }

    /// Makes each execution of the instruction add a number to `counter`, without a call. Only the
    /// processor's thread may access the counter while it runs.
    pub fn add(self, counter: &'static AtomicU64, number: u64) {
        // SAFETY: the instruction is in translation, and the counter outlives the code that adds to
        // it.
        unsafe {
            qemu_plugin_register_vcpu_insn_exec_inline(self.0, ADD, counter.as_ptr().cast(), number)
        }
    }

    /// Registers `callback(data)` for each store by the instruction; it runs after the store.
    pub fn on_store(self, callback: OnAccess, data: usize) {
        let data = ptr::without_provenance_mut(data);
        // SAFETY: the instruction is in translation; `data` is a number, not a pointer that is
        // followed.
        unsafe { qemu_plugin_register_vcpu_mem_cb(self.0, callback, NO_REGISTERS, WRITES, data) }
    }

    /// Registers `callback(data)` for each load and store of memory by the instruction; it runs after
    /// the access. QEMU does not call it for loads of devices.
    pub fn on_access(self, callback: OnAccess, data: usize) {
        let data = ptr::without_provenance_mut(data);
        // SAFETY: as above.
        unsafe {
            qemu_plugin_register_vcpu_mem_cb(self.0, callback, NO_REGISTERS, READS_AND_WRITES, data)
        }
    }
}

/// Returns `true` if the running callback's access went to a device, not to memory.
pub fn is_device(access: Access, address: u64) -> bool {
    // SAFETY: both numbers were passed by QEMU to the callback. QEMU returns null for other
    // accesses.
    unsafe {
        let place = qemu_plugin_get_hwaddr(access, address);
        !place.is_null() && qemu_plugin_hwaddr_is_io(place)
    }
}
