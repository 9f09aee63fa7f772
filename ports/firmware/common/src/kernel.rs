//! The parts that all ports share: the machine's clock and interrupts as a kernel's, and the check
//! of a request.

use chronoscope_suite::{Reason, Refusal, Request};

/// Accepts the requests that every port of this workspace accepts: ports have no parameters of
/// their own, and each kernel makes semaphores and queues in one way.
///
/// # Errors
/// [`Refusal`] for a key that the experiment does not know, and for primitives that only Linux has.
pub fn accept(request: &Request<'_>) -> Result<(), Refusal> {
    if request.pairs().any(|(key, _)| !request.knows(key)) {
        return Err(Refusal::new(
            Reason::Invalid,
            "this port has no parameters of its own",
            "leave them out",
        ));
    }
    match request.given("primitive") {
        None | Some("yield" | "semaphore" | "queue" | "native") => Ok(()),
        Some(_) => Err(Refusal::not_offered("that primitive is one of Linux's")),
    }
}

/// Gives a port's kernel the clock and the interrupts of its machine, which it knows as `board`. A
/// macro, because neither the traits nor the type is of this crate. More items of `Interrupts` may
/// follow the kernel's type.
#[macro_export]
macro_rules! on_this_machine {
    ($kernel:ty $(; $($more:tt)*)?) => {
        impl ::chronoscope_suite::Clock for $kernel {
            type Slot = ::core::sync::atomic::AtomicU32;
            const DOMAIN: ::chronoscope_suite::wire::Domain =
                ::chronoscope_suite::wire::Domain::Instructions;

            #[inline(always)]
            fn read(&self) -> u32 {
                ::board::clock::read()
            }

            #[inline(always)]
            fn now(&self) -> u64 {
                ::board::clock::now()
            }

            fn domain(&self) -> ::chronoscope_suite::wire::Domain {
                ::board::clock::domain()
            }

            fn hertz(&self) -> u64 {
                ::board::clock::hertz()
            }

            #[inline(always)]
            fn drive(&self, pin: u8, high: bool) {
                ::board::pins::drive(pin, high);
            }
        }

        impl ::chronoscope_suite::kernel::Interrupts for $kernel {
            fn attach(
                &'static self,
                source: ::chronoscope_suite::kernel::Source,
                handler: ::chronoscope_suite::kernel::Handler,
            ) -> Result<(), ::chronoscope_suite::Refusal> {
                ::board::interrupts::attach(source, handler)
            }

            #[inline(always)]
            fn raise(&self) {
                ::board::interrupts::raise();
            }

            fn arm(&self, due: u64) {
                ::board::alarm::EXPERIMENT.set(due);
            }

            fn stimulate(&self, due: u64) {
                ::board::interrupts::stimulate(due);
            }

            fn stimulated(&self) -> u64 {
                ::board::interrupts::stimulated()
            }

            $($($more)*)?
        }
    };
}
