//! The RTIC program: all its tasks are declared here.

use crate::slot::{LEVELS, Slot};

/// Starts the declared task that it belongs to. RTIC refuses, and gives the argument back, while
/// the task runs.
pub type Spawn = fn(&'static Slot) -> Result<(), &'static Slot>;

/// Declares the tasks of each priority, and tables of them.
macro_rules! declare {
    ($($priority:literal: $($task:ident)*;)*) => {
        #[rtic::app(
            device = crate::device,
            peripherals = false,
            dispatchers = [LINE_0, LINE_1, LINE_2, LINE_3, LINE_4, LINE_5, LINE_6, LINE_7, LINE_8]
        )]
        #[allow(unsafe_op_in_unsafe_fn, reason = "what RTIC adds is written so")]
        mod program {
            use cortex_m::asm;

            use crate::slot::{Body, Slot};

            #[shared]
            struct Shared {}

            #[local]
            struct Local {}

            #[init]
            fn init(_: init::Context) -> (Shared, Local) {
                crate::start();
                (Shared {}, Local {})
            }

            #[idle]
            fn idle(_: idle::Context) -> ! {
                loop {
                    asm::wfi();
                }
            }

            $($(
                #[task(priority = $priority)]
                async fn $task(_: $task::Context, slot: &'static Slot) {
                    Body::<$priority> { slot, wake: || $task::waker().wake() }.await;
                }
            )*)*
        }

        /// The declared tasks, from the least urgent priority up.
        pub static TASKS: [&[Spawn]; LEVELS] = [$(&[$(program::$task::spawn),*]),*];

        /// The number of tasks at each priority.
        pub const SIZES: [usize; LEVELS] = [$([$(stringify!($task)),*].len()),*];
    };
}

// The numbers that the experiments need. The lowest priority has thirty tasks, their parent, and
// the director. Then come rings of 32, 10 and 2 tasks, and 16 for thirty tasks of two priorities.
// The others have one task each. levels.rs chooses the priorities of a case. RTIC polls the tasks
// of a priority in the order of their names.
declare! {
    1: o00 o01 o02 o03 o04 o05 o06 o07 o08 o09 o10 o11 o12 o13 o14 o15
       o16 o17 o18 o19 o20 o21 o22 o23 o24 o25 o26 o27 o28 o29 o30 o31;
    2: a00 a01 a02 a03 a04 a05 a06 a07 a08 a09 a10 a11 a12 a13 a14 a15
       a16 a17 a18 a19 a20 a21 a22 a23 a24 a25 a26 a27 a28 a29 a30 a31;
    3: b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 ba bb bc bd be bf;
    4: c0 c1 c2 c3 c4 c5 c6 c7 c8 c9;
    5: d0 d1;
    6: e0;
    7: f0;
    8: g0;
    9: h0;
}
