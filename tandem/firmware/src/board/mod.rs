//! The board: one module for each chip, with the same interface.

#[cfg_attr(target_arch = "arm", path = "cortex_m.rs")]
#[cfg_attr(chip = "virt", path = "virt.rs")]
mod chip;

pub use chip::*;
use core::{cell::Cell, fmt};
use critical_section::Mutex;
use tandem::time::Driver;

/// Converts nanoseconds to ticks of the kernel's clock.
pub const fn nanoseconds(n: u64) -> u64 {
    n * Clock::HERTZ / 1_000_000_000
}

/// The default handler of an interrupt. Panics, since none is expected.
pub extern "C" fn stray() {
    panic!("an interrupt has no handler: it interrupted task {}", tandem::current().name())
}

/// The text that the next panic is to have in its report, and whether it has come.
static EXPECTED: Mutex<Cell<(Option<&str>, bool)>> = Mutex::new(Cell::new((None, false)));

/// Has the next panic of a thread, if its report contains `text`, end that thread instead of the
/// program: it spins at its priority from then on.
pub fn expect_panic(text: &'static str) {
    critical_section::with(|token| EXPECTED.borrow(token).set((Some(text), false)));
}

/// Returns whether the expected panic has come. No other is expected from here on.
pub fn has_panicked() -> bool {
    critical_section::with(|token| EXPECTED.borrow(token).replace((None, false)).1)
}

type Check = fn();

/// Called before a panic is reported.
static AT_PANIC: Mutex<Cell<Option<Check>>> = Mutex::new(Cell::new(None));

/// Has `check` called before the panic that ends the program is reported.
pub fn at_panic(check: Check) {
    critical_section::with(|token| AT_PANIC.borrow(token).set(Some(check)));
}

/// The beginning of a report, as text.
struct Report {
    text: [u8; 256],
    len: usize,
}

impl fmt::Write for Report {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes().take(self.text.len() - self.len) {
            self.text[self.len] = byte;
            self.len += 1;
        }
        Ok(())
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    let expected = critical_section::with(|token| EXPECTED.borrow(token).get());
    if let (Some(text), false) = expected {
        let mut report = Report { text: [0; 256], len: 0 };
        // Writing to memory cannot fail.
        let _ = fmt::write(&mut report, format_args!("{info}"));
        let bytes = &report.text[..report.len];
        if bytes.windows(text.len()).any(|part| part == text.as_bytes()) {
            critical_section::with(|token| EXPECTED.borrow(token).set((None, true)));
            unmask();
            loop {
                core::hint::spin_loop();
            }
        }
    }
    if let Some(check) = critical_section::with(|token| AT_PANIC.borrow(token).get()) {
        check();
    }
    crate::println!("task {}: {}", tandem::current().name(), info);
    exit(false)
}

/// Spins for as many instructions as `count` says, and a constant.
#[inline(never)]
pub fn spin(count: u32) {
    let odd = count % 2 == 1;
    // SAFETY: changes one register, which is declared. The loop has two instructions.
    unsafe {
        #[cfg(target_arch = "arm")]
        core::arch::asm!(
            "3: subs {n}, #1", "bne 3b", n = inout(reg) count / 2 + 1 => _,
            options(nomem, nostack)
        );
        #[cfg(not(target_arch = "arm"))]
        core::arch::asm!(
            "3: addi {n}, {n}, -1", "bnez {n}, 3b", n = inout(reg) count / 2 + 1 => _,
            options(nomem, nostack)
        );
        if odd {
            core::arch::asm!("nop", options(nomem, nostack));
        }
    }
}
