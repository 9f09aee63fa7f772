//! RTIC: async software tasks that yield to each other.

use chronoscope_smallest as _;
use cortex_m_rt as _;

/// The chip, as RTIC expects its crate to look.
pub mod device {
    use cortex_m::interrupt::InterruptNumber;

    pub use self::Interrupt as interrupt;

    pub const NVIC_PRIO_BITS: u8 = 4;

    #[derive(Clone, Copy)]
    #[expect(clippy::upper_case_acronyms, reason = "RTIC names a handler as its interrupt")]
    pub enum Interrupt {
        LINE,
    }

    // SAFETY: it is the first of the vector table's.
    unsafe impl InterruptNumber for Interrupt {
        fn number(self) -> u16 {
            0
        }
    }
}

/// RTIC's tasks are items of the program, so there is a program for each number of tasks. Each
/// shows its name.
macro_rules! program {
    ($($task:ident)*) => {
        #[rtic::app(device = crate::image::device, peripherals = false, dispatchers = [LINE])]
        #[allow(unsafe_op_in_unsafe_fn, reason = "what RTIC adds is written so")]
        mod app {
            use core::{future::poll_fn, task::Poll};

            use chronoscope_smallest::show;

            #[shared]
            struct Shared {}

            #[local]
            struct Local {}

            #[init]
            fn init(_: init::Context) -> (Shared, Local) {
                $(let _ = $task::spawn();)*
                (Shared {}, Local {})
            }

            /// Yields once, as RTIC's users write it: RTIC has no such function.
            fn yield_now() -> impl Future<Output = ()> {
                let mut yielded = false;
                poll_fn(move |context| {
                    if yielded {
                        return Poll::Ready(());
                    }
                    yielded = true;
                    context.waker().wake_by_ref();
                    Poll::Pending
                })
            }

            $(
                #[task(priority = 1)]
                async fn $task(_: $task::Context) {
                    loop {
                        show(stringify!($task).as_bytes()[0]);
                        yield_now().await;
                    }
                }
            )*
        }
    };
}
