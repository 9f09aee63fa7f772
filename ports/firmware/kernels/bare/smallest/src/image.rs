// No kernel: stacks that hand the processor to each other.

use core::{arch::asm, cell::UnsafeCell, ptr};

use chronoscope_smallest::{STACK, show, tasks};

const TASKS: usize = tasks!();
const WORDS: usize = STACK / size_of::<usize>();

/// A thread's stack, and where it ends.
#[repr(C, align(8))]
struct Thread {
    stack: UnsafeCell<[usize; WORDS]>,
    pointer: UnsafeCell<usize>,
}

// SAFETY: there is one processor, and threads give way in one place only.
unsafe impl Sync for Thread {}

static THREADS: [Thread; TASKS] =
    [const { Thread { stack: UnsafeCell::new([0; WORDS]), pointer: UnsafeCell::new(0) } }; TASKS];

/// Hands the processor from one thread to another.
#[inline(always)]
fn switch(from: *mut usize, to: *mut usize) {
    // SAFETY: `to` points at the end of a stack that this code or main() has prepared: the resume
    // address is on top. All registers are clobbered, except r6 and r7, which the compiler
    // reserves.
    unsafe {
        asm!(
            "push {{r6, r7}}",
            "adr r2, 2f",
            "adds r2, #1", // Thumb code
            "push {{r2}}",
            "str sp, [r0]",
            "ldr sp, [r1]",
            "pop {{pc}}",
            ".p2align 2",
            "2:",
            "pop {{r6, r7}}",
            inout("r0") from => _, inout("r1") to => _, out("r2") _, out("r3") _, out("r4") _, out("r5") _,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _, out("r12") _, out("lr") _,
            out("d0") _, out("d1") _, out("d2") _, out("d3") _, out("d4") _, out("d5") _, out("d6") _, out("d7") _,
            out("d8") _, out("d9") _, out("d10") _, out("d11") _, out("d12") _, out("d13") _, out("d14") _,
            out("d15") _,
        );
    }
}

extern "C" fn member<const PLACE: usize>() -> ! {
    loop {
        show(b'a' + PLACE as u8);
        switch(THREADS[PLACE].pointer.get(), THREADS[(PLACE + 1) % TASKS].pointer.get());
    }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    let entries: [extern "C" fn() -> !; 3] = [member::<0>, member::<1>, member::<{ 2 % TASKS }>];
    for (thread, entry) in THREADS.iter().zip(entries) {
        let stack = thread.stack.get();
        // SAFETY: no thread runs yet. On top of each stack comes the address to start at.
        unsafe {
            (*stack)[WORDS - 1] = entry as *const () as usize;
            *thread.pointer.get() = (&raw mut (*stack)[WORDS - 1]).expose_provenance();
        }
    }
    let mut nowhere = 0;
    switch(ptr::from_mut(&mut nowhere), THREADS[0].pointer.get());
    unreachable!()
}
