//! The macro by which a port offers experiments, from its kinds of task and their capabilities.

/// Defines `run`, which runs the experiment that a trial's request names.
///
/// A port names its capabilities once; the rows of the suite's table of experiments decide which
/// `run` functions are called, and with which types.
///
/// ```text
/// chronoscope_suite::offers! {
///     kernel Mine: interrupts masking log;
///     kind "thread" Thread: delays reaping messages mutexes;
///     kind "coroutine" Coroutine: delays reaping messages;
///     pair "thread-thread" Thread, Thread;
///     pair "coroutine-coroutine" Coroutine, Coroutine;
///     native Thread, Coroutine;
///     own "transaction" transact;
///     refuse "interference" "this kernel keeps no account of processor time";
///     otherwise "this kernel has threads and coroutines";
/// }
/// ```
///
/// - `kernel` and `kind` list capabilities. An experiment is offered for a kind of task if the
///   kernel and the kind together have all capabilities in the experiment's row.
/// - `pair` lists the pairs of kinds for the experiments that have `pair=`.
/// - `native` lists the kinds of task that have the kernel's own primitive,
///   [`Native`](crate::kernel::Native), for `primitive=native`. Without this line such cases are not
///   offered.
/// - `sets` names the kind of task that can have coroutines of its own,
///   [`Sets`](crate::kernel::Sets), for `ticks` with `queue=kernel`.
/// - `own` names a function of the port's, `async fn(&mut Trial<'_, Mine>) -> Result<(), Refusal>`,
///   that runs an experiment in place of the suite's.
/// - `refuse` gives the reason why one experiment is not offered, and `otherwise` the reason for
///   all others.
///
/// | capability | promises |
/// |---|---|
/// | `delays` | [`delay_until`](crate::Tasks::delay_until) lets other tasks run meanwhile |
/// | `reaping` | [`reap`](crate::Tasks::reap) waits for a task that has ended |
/// | `messages` | [`Messages`](crate::kernel::Messages) |
/// | `mutexes` | [`Mutexes`](crate::kernel::Mutexes) |
/// | `processor_time` | [`ProcessorTime`](crate::kernel::ProcessorTime) |
/// | `interrupts` | [`Interrupts`](crate::kernel::Interrupts) |
/// | `masking` | an interrupt's handler starts late by as long as the kernel masks interrupts |
/// | `log` | [`Log`](crate::kernel::Log) |
///
/// A capability that is named without its trait is an error of the compiler's; so is an unknown
/// capability.
#[macro_export]
macro_rules! offers {
    // One experiment, by its row's choice. Falls through where the port does not offer it.
    (@one kind $module:ident $needs:tt $at:tt $of_kernel:tt
        [$([$kind:literal $task:ty: $of_kind:tt])*] $pairs:tt) => {
        $($crate::offers! { @given $needs $of_kernel $of_kind {
            $crate::offers! { @run $at $kind $module [$task] }
        } })*
    };
    (@one pair $module:ident $needs:tt $at:tt $of_kernel:tt $kinds:tt
        [$([$pair:literal $first:ty, $second:ty])*]) => {
        $($crate::offers! { @given $needs $of_kernel [] {
            $crate::offers! { @run $at $pair $module [$first, $second] }
        } })*
    };
    (@one kernel $module:ident $needs:tt [$trial:ident $tasks:ident]
        $of_kernel:tt $kinds:tt $pairs:tt) => {
        $crate::offers! { @given $needs $of_kernel [] {
            return $crate::experiments::$module::run($trial).await;
        } }
    };
    (@one port $($_:tt)*) => {};
    (@one lab $($_:tt)*) => {};
    (@run [$trial:ident $tasks:ident] $text:literal $module:ident [$($task:ty),*]) => {
        if $tasks == $text {
            return $crate::experiments::$module::run::<$($task),*>($trial).await;
        }
    };

    // The code, if all needs are among the capabilities of the kernel and of the kind.
    (@given [] $of_kernel:tt $of_kind:tt { $($code:tt)* }) => { $($code)* };
    (@given [$need:ident $($more:ident)*] [$($of_kernel:ident)*] [$($of_kind:ident)*] $code:tt) => {
        $crate::offers! { @find $need [$($of_kernel)* $($of_kind)*]
            { [$($more)*] [$($of_kernel)*] [$($of_kind)*] $code } }
    };
    (@find $need:ident [] $rest:tt) => {};
    (@find delays [delays $($_:ident)*] { $($rest:tt)* }) => {
        $crate::offers! { @given $($rest)* }
    };
    (@find reaping [reaping $($_:ident)*] { $($rest:tt)* }) => {
        $crate::offers! { @given $($rest)* }
    };
    (@find messages [messages $($_:ident)*] { $($rest:tt)* }) => {
        $crate::offers! { @given $($rest)* }
    };
    (@find mutexes [mutexes $($_:ident)*] { $($rest:tt)* }) => {
        $crate::offers! { @given $($rest)* }
    };
    (@find processor_time [processor_time $($_:ident)*] { $($rest:tt)* }) => {
        $crate::offers! { @given $($rest)* }
    };
    (@find interrupts [interrupts $($_:ident)*] { $($rest:tt)* }) => {
        $crate::offers! { @given $($rest)* }
    };
    (@find masking [masking $($_:ident)*] { $($rest:tt)* }) => {
        $crate::offers! { @given $($rest)* }
    };
    (@find log [log $($_:ident)*] { $($rest:tt)* }) => {
        $crate::offers! { @given $($rest)* }
    };
    (@find $need:ident [$_:ident $($more:ident)*] $rest:tt) => {
        $crate::offers! { @find $need [$($more)*] $rest }
    };

    (@known delays) => {};
    (@known reaping) => {};
    (@known messages) => {};
    (@known mutexes) => {};
    (@known processor_time) => {};
    (@known interrupts) => {};
    (@known masking) => {};
    (@known log) => {};
    (@known $unknown:ident) => {
        compile_error!(concat!("no such capability: `", stringify!($unknown), "`"));
    };

    (@all [$trial:ident $name:ident $tasks:ident] $of_kernel:tt $kinds:tt $pairs:tt
        $($module:ident: $choice:ident [$($need:ident)*];)*) => {
        $($($crate::offers! { @known $need })*)*
        match $name {
            $(stringify!($module) => {
                $crate::offers! { @one $choice $module [$($need)*] [$trial $tasks]
                    $of_kernel $kinds $pairs }
            })*
            _ => {}
        }
    };

    (
        kernel $kernel:ty: $($of_kernel:ident)*;
        $(kind $kind:literal $task:ty: $($of_kind:ident)*;)+
        $(pair $pair:literal $first:ty, $second:ty;)*
        $(native $($native:ty),+;)?
        $(sets $sets:ty;)?
        $(own $own:literal $body:path;)*
        $(refuse $refused:literal $reason:literal;)*
        otherwise $otherwise:literal;
    ) => {
        /// Runs the experiment that the trial's request names.
        ///
        /// # Errors
        /// [`Refusal`](chronoscope_suite::Refusal) from the experiment, or because this port does
        /// not offer it.
        pub async fn run(
            trial: &mut $crate::Trial<'_, $kernel>,
        ) -> Result<(), $crate::Refusal> {
            $($crate::offers! { @known $of_kernel })*
            $($($crate::offers! { @known $of_kind })*)+
            $crate::vary::prepare(trial).await?;
            let (name, tasks) = (trial.request.spec().name, trial.request.tasks());
            if trial.request.given("primitive") == Some("native") {
                $($({
                    let kind = <$native as $crate::Tasks>::KIND;
                    if tasks.split('-').all(|word| word == kind) {
                        return $crate::experiments::native::<$native>(trial).await;
                    }
                })+)?
                return Err($crate::Refusal::not_offered(
                    "this port has no primitive of its kernel's own for these tasks",
                ));
            }
            $(if $crate::experiments::ticks::asks_for_sets::<$sets>(&trial.request) {
                return $crate::experiments::ticks::sets::run::<$sets>(trial).await;
            })?
            $(if name == $own {
                return $body(trial).await;
            })*
            $crate::experiments! { offers! { @all [trial name tasks] [$($of_kernel)*]
                [$([$kind $task: [$($of_kind)*]])+] [$([$pair $first, $second])*] } }
            Err($crate::Refusal::not_offered(match name {
                $($refused => $reason,)*
                _ => $otherwise,
            }))
        }
    };
}
