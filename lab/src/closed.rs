//! Tells the console if standard output was closed when the program was started, as by `>&-`.
//!
//! The standard library opens `/dev/null` in the place of a closed stream before it calls `main`, and
//! an answer written there would be lost with status 0. The look is therefore taken earlier, by a
//! function that the loader calls.
//!
//! Soundness: the loader calls each function of `.init_array` once, before `main` and on its thread.
//! [`look`] makes one system call and stores one flag of the console's: it uses nothing that the standard
//! library sets up, and cannot unwind.

use chronoscope_base::console;

// SAFETY: the loader expects addresses of functions with C's calling convention in this section; the
// arguments that it passes are ignored.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    if rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err() {
        console::refuse_output();
    }
}
