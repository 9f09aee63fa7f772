//! Fields of a processor's state that the debugger does not show.
//!
//! QEMU describes its state for saved machines, with the name, the place and the size of each field.
//! The description of a RISC-V is exported, as `vmstate_riscv_cpu`.

use std::{
    ffi::{CStr, c_char},
    ptr,
};

use crate::emulator::{Processor, find};

/// Most fields of a description: a limit for one of an unknown form.
const MOST: usize = 200;

/// The beginning of QEMU's `VMStateDescription`.
#[repr(C)]
struct Description {
    name: *const c_char,
    _versions_and_callbacks: [u64; 8],
    fields: *const Row,
}

/// QEMU's `VMStateField`; the last one has no name.
#[repr(C)]
struct Row {
    name: *const c_char,
    _hint: *const c_char,
    offset: usize,
    size: usize,
    _of_arrays_and_versions: [u64; 9],
}

/// A number in the state of a RISC-V.
#[derive(Clone, Copy)]
pub struct Field {
    offset: usize,
    is_wide: bool,
}

impl Field {
    /// Finds the field of this name, of 4 or 8 bytes.
    pub fn find(name: &CStr) -> Result<Self, String> {
        let description = find(c"vmstate_riscv_cpu")?.cast::<Description>();
        // SAFETY: the types are as of QEMU 7.2 (include/migration/vmstate.h). The names are strings,
        // and the row after the last one has none, at which the search ends.
        let found = unsafe {
            if CStr::from_ptr((*description).name) != c"cpu" {
                None
            } else {
                (0..MOST)
                    .map(|index| &*(*description).fields.add(index))
                    .take_while(|row| !row.name.is_null())
                    .find(|row| CStr::from_ptr(row.name) == name)
            }
        };
        match found {
            Some(&Row { offset, size: size @ (4 | 8), .. }) => {
                Ok(Self { offset, is_wide: size == 8 })
            }
            _ => Err(format!(
                "this QEMU does not describe {} of a RISC-V: use Debian's QEMU 7.2",
                name.to_string_lossy()
            )),
        }
    }

    /// Returns the value, current at the beginning of an instruction with `-singlestep`.
    pub fn value(self, processor: &Processor) -> u64 {
        // SAFETY: QEMU's processor has such a field there, by its own description. The processor's
        // thread, which alone changes the field, runs this.
        unsafe {
            let place = processor.object().add(self.offset);
            match self.is_wide {
                true => ptr::read_volatile(place.cast::<u64>()),
                false => ptr::read_volatile(place.cast::<u32>()).into(),
            }
        }
    }

    /// Returns the field's highest bit.
    pub fn highest(self) -> u64 {
        if self.is_wide { 1 << 63 } else { 1 << 31 }
    }
}
