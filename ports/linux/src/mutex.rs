//! POSIX mutexes, for threads and for processes, with each of POSIX's protocols against priority
//! inversion.

use std::{cell::UnsafeCell, mem::MaybeUninit};

use chronoscope_suite::{
    Reason, Refusal,
    arena::Arena,
    kernel::{Mutexes, Protocol},
    task::Block,
};

use crate::{kernel::Linux, process::Process, thread::Thread};

/// A POSIX mutex, initialised in place in the arena and never moved.
pub struct Mutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: after `make` the mutex is accessed by pthread_mutex_lock and pthread_mutex_unlock only,
// which any thread may call.
unsafe impl Sync for Mutex {}

// The libc crate lacks these for Linux. musl has no ceilings.
#[cfg(target_env = "gnu")]
unsafe extern "C" {
    fn pthread_mutexattr_setprotocol(
        attributes: *mut libc::pthread_mutexattr_t,
        protocol: libc::c_int,
    ) -> libc::c_int;
    fn pthread_mutexattr_setprioceiling(
        attributes: *mut libc::pthread_mutexattr_t,
        ceiling: libc::c_int,
    ) -> libc::c_int;
}

/// The attributes for the creation of a mutex.
struct Attributes(MaybeUninit<libc::pthread_mutexattr_t>);

impl Attributes {
    fn new() -> Result<Self, Refusal> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the memory is valid for writing.
        done(unsafe { libc::pthread_mutexattr_init(attributes.as_mut_ptr()) })?;
        Ok(Self(attributes))
    }

    fn shared(&mut self) -> Result<(), Refusal> {
        // SAFETY: `new` has initialised the attributes.
        done(unsafe {
            libc::pthread_mutexattr_setpshared(self.0.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED)
        })
    }

    #[cfg(target_env = "gnu")]
    fn protocol(&mut self, kernel: &Linux, protocol: Protocol) -> Result<(), Refusal> {
        let word = match protocol {
            Protocol::None => libc::PTHREAD_PRIO_NONE,
            Protocol::Inheritance => libc::PTHREAD_PRIO_INHERIT,
            Protocol::Ceiling(_) => libc::PTHREAD_PRIO_PROTECT,
        };
        // SAFETY: `new` has initialised the attributes.
        done(unsafe { pthread_mutexattr_setprotocol(self.0.as_mut_ptr(), word) })?;
        let Protocol::Ceiling(priority) = protocol else { return Ok(()) };
        let (libc::SCHED_FIFO | libc::SCHED_RR, level) = kernel.settings.class(priority) else {
            return Err(Refusal::new(
                Reason::Invalid,
                "a priority ceiling is for real-time tasks only",
                "leave out policy=other",
            ));
        };
        // SAFETY: as above.
        done(unsafe { pthread_mutexattr_setprioceiling(self.0.as_mut_ptr(), level) })
    }

    #[cfg(not(target_env = "gnu"))]
    fn protocol(&mut self, _: &Linux, protocol: Protocol) -> Result<(), Refusal> {
        match protocol {
            Protocol::None => Ok(()),
            _ => Err(Refusal::not_offered(
                "this C library is not known to have mutexes with protocols",
            )),
        }
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: `new` has initialised the attributes, and this is their last use.
        unsafe { libc::pthread_mutexattr_destroy(self.0.as_mut_ptr()) };
    }
}

fn make(kernel: &Linux, arena: &Arena, protocol: Protocol) -> Result<&'static Mutex, Refusal> {
    let mut attributes = Attributes::new()?;
    attributes.protocol(kernel, protocol)?;
    if kernel.settings.processes {
        attributes.shared()?;
    }
    let mutex = arena.place(Mutex(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)))?;
    // SAFETY: there is no other reference to the mutex yet, and it never moves again; the
    // attributes are initialised.
    done(unsafe { libc::pthread_mutex_init(mutex.0.get(), attributes.0.as_ptr()) })?;
    Ok(mutex)
}

/// Converts the return value of a pthread function.
fn done(status: libc::c_int) -> Result<(), Refusal> {
    match status {
        0 => Ok(()),
        _ => Err(Refusal::new(Reason::NotOffered, "the system refuses such a mutex", "")
            .with_code(status)),
    }
}

impl Mutexes for Thread {
    type Mutex = Mutex;

    fn mutex(
        kernel: &'static Linux,
        arena: &Arena,
        protocol: Protocol,
    ) -> Result<&'static Mutex, Refusal> {
        make(kernel, arena, protocol)
    }

    #[inline(always)]
    fn lock(kernel: &'static Linux, mutex: &'static Mutex) -> impl Future<Output = ()> + Send {
        Block(|| {
            // SAFETY: `make` has initialised it.
            if unsafe { libc::pthread_mutex_lock(mutex.0.get()) } != 0 {
                kernel.mutex_failed();
            }
        })
    }

    #[inline(always)]
    fn unlock(kernel: &'static Linux, mutex: &'static Mutex) {
        // SAFETY: `make` has initialised it, and the caller holds it.
        if unsafe { libc::pthread_mutex_unlock(mutex.0.get()) } != 0 {
            kernel.mutex_failed();
        }
    }
}

impl Mutexes for Process {
    type Mutex = Mutex;

    fn mutex(
        kernel: &'static Linux,
        arena: &Arena,
        protocol: Protocol,
    ) -> Result<&'static Mutex, Refusal> {
        make(kernel, arena, protocol)
    }

    #[inline(always)]
    fn lock(kernel: &'static Linux, mutex: &'static Mutex) -> impl Future<Output = ()> + Send {
        Thread::lock(kernel, mutex)
    }

    #[inline(always)]
    fn unlock(kernel: &'static Linux, mutex: &'static Mutex) {
        Thread::unlock(kernel, mutex);
    }
}
