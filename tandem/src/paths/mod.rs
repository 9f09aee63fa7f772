//! The frequent paths, and the choice between their versions in assembly and in Rust. A build has
//! the versions in assembly with `cfg(direct)`, which `build.rs` sets.
//!
//! # Soundness
//! Each routine in assembly changes the kernel's record exactly as the Rust functions do whose name
//! it has, with interrupts masked throughout. The offsets come from `offset_of!`, so a field that
//! moves is followed; fields used in pairs are neighbours, as `Header`, `Waiter` and `Kernel` note.

/// Defines functions that call the version in assembly until a time slice has been set, and from then
/// on the version in Rust, which begins and ends the slices. Both versions change the kernel's record
/// in the same way.
#[cfg(all(target_arch = "arm", direct, feature = "time-slice"))]
macro_rules! either {
    ($($name:ident($($argument:ident: $type:ty),*) = $rust:path;)*) => {
        $(
            /// # Safety
            /// As for the function of this name in assembly.
            #[inline(always)]
            pub(crate) unsafe fn $name($($argument: $type),*) {
                // SAFETY: both have this function's contract.
                unsafe {
                    if crate::slice::is_set() {
                        $rust($($argument),*)
                    } else {
                        super::cortex_m::$name($($argument),*)
                    }
                }
            }
        )*
    };
}

pub(crate) mod locks;
pub(crate) mod tasks;
pub(crate) mod waits;
