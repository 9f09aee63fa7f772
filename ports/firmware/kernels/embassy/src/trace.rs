//! The hooks of embassy-executor's feature `trace`: one counts each poll of a task.
//!
//! The other hooks are empty, and the optimised image contains nothing of them.
//! docs/machines/qemu.md gives the cost of counting.

use core::{
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use crate::{
    levels::{LEVELS, active},
    pool::Header,
};

/// The task that each level polls, or has polled last.
static CURRENT: [AtomicPtr<Header>; LEVELS] = [const { AtomicPtr::new(ptr::null_mut()) }; LEVELS];

/// The calling task; `None` outside of tasks.
pub fn current() -> Option<&'static Header> {
    let current = CURRENT.get(active())?.load(Relaxed);
    // SAFETY: it is null, or a block's header, which is never freed.
    unsafe { current.as_ref() }
}

#[cfg(feature = "counted")]
mod hooks {
    use core::arch::asm;

    use super::{CURRENT, Header, Relaxed, active, ptr};

    #[unsafe(no_mangle)]
    fn _embassy_trace_task_exec_begin(_executor: u32, task: u32) {
        let header = ptr::with_exposed_provenance_mut::<Header>(task as usize).wrapping_sub(1);
        // SAFETY: all tasks are in blocks, whose header is immediately before the task.
        let polls = unsafe { &(*header).polls };
        polls.store(polls.load(Relaxed).wrapping_add(1), Relaxed);
        // SAFETY: tasks are polled by the levels' executors only, so there is such a level.
        unsafe { CURRENT.get_unchecked(active()) }.store(header, Relaxed);
    }

    /// An empty hook. Its comment makes it differ from the others: the compiler merges equal
    /// functions, and then calls the merged one instead of removing the call.
    macro_rules! empty {
        ($($name:ident($($argument:ident),*))*) => {$(
            #[unsafe(no_mangle)]
            fn $name($($argument: u32),*) {
                // SAFETY: it is a comment.
                unsafe { asm!(concat!("/* ", stringify!($name), " */"), options(nomem, nostack, preserves_flags)) };
            }
        )*};
    }

    empty! {
        _embassy_trace_task_exec_end(_executor, _task)
        _embassy_trace_task_new(_executor, _task)
        _embassy_trace_task_end(_executor, _task)
        _embassy_trace_task_ready_begin(_executor, _task)
        _embassy_trace_poll_start(_executor)
        _embassy_trace_executor_idle(_executor)
    }
}
