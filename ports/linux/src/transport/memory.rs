//! `futex`, `eventfd`, `process_vm`: transports through memory, with semaphores as bells.
//!
//! Each client has a line to each service: room for a message each way, and a bell. A service has
//! one bell for all its clients, and checks which of them has called. With `process_vm`, lines hold
//! lengths and addresses only: each side reads the message from the other's memory. A client
//! notices its server's death by the timeout only.

use std::{
    cell::UnsafeCell,
    ffi::c_void,
    marker::PhantomData,
    ptr, slice,
    sync::atomic::{
        AtomicBool, AtomicI32, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use chronoscope_suite::{
    Refusal,
    arena::Arena,
    kernel::{CallFailure, Transport},
};

use super::{Patience, last_error};
use crate::{
    kernel::Linux,
    semaphore::{Primitive, Semaphore},
};

/// The primitive of the bells, and the way of a message to the other side.
pub trait Means: Send + 'static {
    const BELL: Primitive;
    /// `true` if messages are copied into shared memory; `false` if they are read from the other
    /// process's memory.
    const SHARED: bool;
}

pub enum Futex {}
pub enum Eventfd {}
pub enum ProcessVm {}

impl Means for Futex {
    const BELL: Primitive = Primitive::Futex;
    const SHARED: bool = true;
}

impl Means for Eventfd {
    const BELL: Primitive = Primitive::Eventfd;
    const SHARED: bool = true;
}

impl Means for ProcessVm {
    const BELL: Primitive = Primitive::Futex;
    const SHARED: bool = false;
}

/// A message for the other side.
struct Letter {
    length: AtomicUsize,
    /// The address of the message in the writer's memory, unless the letter has room for it.
    address: AtomicUsize,
    room: &'static [UnsafeCell<u8>],
}

// SAFETY: the room is written by one side before it rings, and read by the other afterwards.
unsafe impl Sync for Letter {}

impl Letter {
    fn new(arena: &Arena, room: usize) -> Result<Self, Refusal> {
        let room = arena.fill(room, |_| Ok(UnsafeCell::new(0)))?;
        Ok(Self { length: AtomicUsize::new(0), address: AtomicUsize::new(0), room })
    }

    /// Writes a message. Without room in the letter, the message must not change until it has been
    /// answered.
    #[inline]
    fn write(&self, message: &[u8]) {
        self.length.store(message.len(), Relaxed);
        if self.room.is_empty() {
            self.address.store(message.as_ptr().expose_provenance(), Relaxed);
        } else {
            assert!(message.len() <= self.room.len(), "no message is longer than was asked for");
            // SAFETY: the message fits the room; the other side does not read it before the bell.
            unsafe { ptr::copy_nonoverlapping(message.as_ptr(), self.start(), message.len()) };
        }
    }

    /// Copies the message of another letter into this one's room, or into `buffer`, in which the
    /// caller may still change it.
    #[inline]
    fn copy<'a>(
        &'a self,
        other: &Self,
        writer: libc::pid_t,
        buffer: &'a mut [u8],
    ) -> Result<&'a mut [u8], CallFailure> {
        if self.room.is_empty() {
            let length = other.read(writer, buffer)?.len();
            self.write(&buffer[..length]);
            return Ok(&mut buffer[..length]);
        }
        let message = other.read(writer, &mut [])?;
        self.write(message);
        // SAFETY: the message is in the room, which only this side accesses before it rings.
        Ok(unsafe { slice::from_raw_parts_mut(self.start(), message.len()) })
    }

    fn start(&self) -> *mut u8 {
        self.room.as_ptr().cast::<u8>().cast_mut()
    }

    /// Returns the message of the process `writer`: in place, or in `buffer`, into which it was
    /// read.
    #[inline]
    fn read<'a>(
        &'a self,
        writer: libc::pid_t,
        buffer: &'a mut [u8],
    ) -> Result<&'a [u8], CallFailure> {
        let length = self.length.load(Relaxed);
        if !self.room.is_empty() {
            // SAFETY: the message is in the room, and the writer does not change it until it has
            // been answered.
            return Ok(unsafe { slice::from_raw_parts(self.start(), length) });
        }
        let buffer = buffer.get_mut(..length).ok_or(CallFailure::Refused)?;
        let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast::<c_void>(), iov_len: length };
        let address = ptr::with_exposed_provenance_mut(self.address.load(Relaxed));
        let remote = libc::iovec { iov_base: address, iov_len: length };
        // SAFETY: the kernel checks the other's memory, and writes no more than `length` bytes to
        // the buffer.
        let read =
            unsafe { libc::process_vm_readv(writer, &raw const local, 1, &raw const remote, 1, 0) };
        match usize::try_from(read) {
            Ok(read) if read == length => Ok(buffer),
            Ok(_) => Err(CallFailure::Refused),
            Err(_) if last_error() == libc::ESRCH => Err(CallFailure::Dead),
            Err(_) => Err(CallFailure::Failed(last_error())),
        }
    }
}

/// The line between a client and a service.
struct Line {
    request: Letter,
    answer: Letter,
    called: AtomicBool,
    answered: Semaphore,
    /// An error number in place of an answer, or 0.
    failed: AtomicI32,
}

struct Service {
    called: Semaphore,
    process: AtomicI32,
    /// The service's lines, indexed by client.
    lines: &'static [Line],
}

pub struct Services {
    services: &'static [Service],
    /// The process numbers of the clients.
    clients: &'static [AtomicI32],
    largest: usize,
}

/// The transport over these means.
pub struct Memory<M>(PhantomData<M>);

pub struct Client<M: Means> {
    services: &'static Services,
    place: usize,
    answer: Vec<u8>,
    patience: Patience,
    means: PhantomData<M>,
}

impl<M: Means> Transport for Memory<M> {
    type Kernel = Linux;
    type Services = Services;
    type Client = Client<M>;

    fn services(
        _: &'static Linux,
        arena: &Arena,
        services: usize,
        clients: usize,
        largest: usize,
    ) -> Result<&'static Services, Refusal> {
        let room = if M::SHARED { largest } else { 0 };
        let line = |_| {
            Ok(Line {
                request: Letter::new(arena, room)?,
                answer: Letter::new(arena, room)?,
                called: AtomicBool::new(false),
                answered: Semaphore::new(M::BELL, true, 0)?,
                failed: AtomicI32::new(0),
            })
        };
        let service = |_| {
            Ok(Service {
                called: Semaphore::new(M::BELL, true, 0)?,
                process: AtomicI32::new(0),
                lines: arena.fill(clients, line)?,
            })
        };
        arena.place(Services {
            services: arena.fill(services, service)?,
            clients: arena.fill(clients, |_| Ok(AtomicI32::new(0)))?,
            largest,
        })
    }

    fn serve(
        services: &'static Services,
        service: usize,
        mut answer: impl FnMut(&mut [u8]) -> bool,
    ) -> Result<(), CallFailure> {
        let Service { called, process, lines } = &services.services[service];
        process.store(admit_readers::<M>(), Release);
        // An answer stays valid until its client calls again.
        let room = if M::SHARED { 0 } else { services.largest };
        let mut buffers = vec![vec![0; room]; lines.len()];
        let (mut clients, mut next) = (lines.len(), 0);
        while clients > 0 {
            called.take();
            // Clients are served in turn, so that one that calls again at once does not starve the
            // others.
            let caller = (next..next + lines.len()).map(|place| place % lines.len());
            let Some(caller) =
                caller.into_iter().find(|&place| lines[place].called.swap(false, Acquire))
            else {
                continue;
            };
            next = caller + 1;
            let (line, buffer) = (&lines[caller], &mut buffers[caller]);
            if line.request.length.load(Relaxed) == 0 {
                clients -= 1;
                continue;
            }
            let caller = services.clients[caller].load(Relaxed);
            match line.answer.copy(&line.request, caller, buffer) {
                Ok(message) => {
                    if !answer(message) {
                        break;
                    }
                }
                Err(CallFailure::Failed(code)) => line.failed.store(code, Relaxed),
                Err(_) => line.failed.store(libc::EMSGSIZE, Relaxed),
            }
            line.answered.give();
        }
        Ok(())
    }

    fn connect(services: &'static Services, place: usize) -> Result<Client<M>, CallFailure> {
        services.clients[place].store(admit_readers::<M>(), Relaxed);
        let answer = if M::SHARED { Vec::new() } else { vec![0; services.largest] };
        Ok(Client { services, place, answer, patience: Patience::new(), means: PhantomData })
    }

    #[inline]
    fn call<'a>(
        client: &'a mut Client<M>,
        service: usize,
        bytes: &[u8],
    ) -> Result<&'a [u8], CallFailure> {
        let Service { called, process, lines } = &client.services.services[service];
        let line = &lines[client.place];
        line.request.write(bytes);
        line.called.store(true, Release);
        called.give();
        if !line.answered.take_while(|| client.patience.go_on()) {
            return Err(CallFailure::TimedOut);
        }
        client.patience.answered();
        match line.failed.load(Relaxed) {
            0 => line.answer.read(process.load(Relaxed), &mut client.answer),
            code => Err(CallFailure::Failed(code)),
        }
    }
}

impl<M: Means> Drop for Client<M> {
    fn drop(&mut self) {
        for service in self.services.services {
            let line = &service.lines[self.place];
            line.request.length.store(0, Relaxed);
            line.called.store(true, Release);
            service.called.give();
        }
    }
}

/// Returns the number of this process, and permits siblings to read its memory, which Yama
/// restricts to parents.
fn admit_readers<M: Means>() -> libc::pid_t {
    if !M::SHARED {
        // SAFETY: takes numbers; without Yama it fails, and no permission is needed.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    }
    // SAFETY: always succeeds.
    unsafe { libc::getpid() }
}
