//! A process's connection to the driver: the device, the memory for incoming messages, and the
//! exchange of commands and returns.

use std::{ffi::c_void, io, ptr};

use chronoscope_suite::kernel::CallFailure;
use rustix::{
    fd::{AsRawFd, OwnedFd},
    fs::{Mode, OFlags, open},
    io::Errno,
};

use super::{
    protocol::{
        self, Commands, FlatObject, Handle, MANAGER, Message, PROTOCOL, Received, Return, Returns,
        WriteRead, object,
    },
    room::Room,
};

/// The size of the buffer for the returns of an exchange: a call or a reply takes 68 bytes, and few
/// others come with it.
const RETURNS: usize = 256;

pub struct Device {
    file: OwnedFd,
    room: Room,
    pub commands: Commands,
}

impl Device {
    /// # Errors
    /// The system's error if there is no such device, or if it has another version of the protocol.
    pub fn open(path: &str) -> Result<Self, Errno> {
        let file = open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let mut version = 0;
        control(&file, protocol::VERSION, &mut version)?;
        if version != PROTOCOL {
            return Err(Errno::PROTO);
        }
        let room = Room::new(&file)?;
        // The driver must not ask for more threads: a service has one.
        control(&file, protocol::SET_MAX_THREADS, &mut 0_u32)?;
        Ok(Self { file, room, commands: Commands::default() })
    }

    /// Becomes the context manager, which every process on this device can call.
    ///
    /// # Errors
    /// [`Errno::BUSY`] if there is a context manager already.
    pub fn become_manager(&self) -> Result<(), Errno> {
        control(&self.file, protocol::SET_CONTEXT_MANAGER, &mut 0_i32)
    }

    /// Gives the driver all commands, and waits for returns. Calls `go_on` when a signal
    /// interrupts.
    ///
    /// # Errors
    /// [`CallFailure::TimedOut`] if `go_on` returns `false`; [`CallFailure::Failed`] for the
    /// system's errors.
    pub fn exchange<'a>(
        &mut self,
        returns: &'a mut [u8; RETURNS],
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Returns<'a>, CallFailure> {
        let mut exchange = WriteRead {
            write_size: self.commands.bytes().len() as u64,
            write_buffer: self.commands.bytes().as_ptr().expose_provenance() as u64,
            read_size: RETURNS as u64,
            read_buffer: returns.as_mut_ptr().expose_provenance() as u64,
            ..WriteRead::default()
        };
        // A repeated exchange must not write the consumed commands again.
        loop {
            match control(&self.file, protocol::WRITE_READ, &mut exchange) {
                Ok(()) => break,
                Err(Errno::INTR) if go_on() => {}
                Err(Errno::INTR) => return Err(CallFailure::TimedOut),
                Err(error) => return Err(CallFailure::Failed(error.raw_os_error())),
            }
        }
        self.commands.clear();
        let length = usize::try_from(exchange.read_consumed).unwrap_or(0).min(RETURNS);
        Ok(Returns::new(&returns[..length]))
    }

    /// Makes the driver release the calling thread's state. The thread must not call again.
    pub fn end_thread(&self) {
        // A failure does not matter, because the thread ends anyway.
        let _ = control(&self.file, protocol::THREAD_EXIT, &mut 0_i32);
    }

    /// Gives the driver all commands, and waits for no returns.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn flush(&mut self) -> Result<(), CallFailure> {
        let mut exchange = WriteRead {
            write_size: self.commands.bytes().len() as u64,
            write_buffer: self.commands.bytes().as_ptr().expose_provenance() as u64,
            ..WriteRead::default()
        };
        let outcome = control(&self.file, protocol::WRITE_READ, &mut exchange);
        self.commands.clear();
        outcome.map_err(|error| CallFailure::Failed(error.raw_os_error()))
    }

    /// Calls, and waits for the answer, which stays in the room until it is freed.
    ///
    /// # Errors
    /// [`CallFailure`]
    #[inline]
    pub fn call(
        &mut self,
        handle: Handle,
        code: u32,
        message: Message<'_>,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Received, CallFailure> {
        self.commands.call(handle, code, message);
        let mut buffer = [0; RETURNS];
        loop {
            let mut reply = None;
            for event in self.exchange(&mut buffer, &mut go_on)? {
                match event.map_err(|_| CallFailure::Failed(libc::EPROTO))? {
                    Return::Reply(received) => reply = Some(received),
                    Return::DeadReply => return Err(CallFailure::Dead),
                    Return::FailedReply => return Err(CallFailure::Refused),
                    event => self.attend(event)?,
                }
            }
            if let Some(reply) = reply {
                return Ok(reply);
            }
        }
    }

    /// Handles a return that does not belong to a call of this process.
    ///
    /// # Errors
    /// [`CallFailure`] for an error reported by the driver.
    pub fn attend(&mut self, event: Return) -> Result<(), CallFailure> {
        match event {
            Return::Count(count) => self.commands.counted(count),
            Return::Dead(cookie) => self.commands.dead_binder_done(cookie),
            Return::Error(code) => return Err(CallFailure::Failed(-code)),
            _ => {}
        }
        Ok(())
    }

    /// Returns bytes that the driver has put into this process's room; `None` if they are not in
    /// it.
    #[inline]
    pub fn bytes(&self, address: u64, length: u64) -> Option<&[u8]> {
        self.room.bytes(address, length)
    }

    /// Returns the bytes of a message; `None` if they are not in the room.
    #[inline]
    pub fn message(&self, received: &Received) -> Option<&[u8]> {
        self.bytes(received.buffer, received.length)
    }

    /// Publishes a node of this process at the context manager.
    ///
    /// # Errors
    /// [`CallFailure`]
    pub fn publish(&mut self, service: usize) -> Result<(), CallFailure> {
        let node = 1 + service as u64;
        let object = FlatObject { kind: object::BINDER, flags: object::FLAGS, node, cookie: node };
        let message = Introduction { service: service as u64, object }.bytes();
        let message = Message { bytes: &message, offsets: &[Introduction::OBJECT], beside: 0 };
        let reply = self.call(MANAGER, PUBLISH, message, || true)?;
        self.commands.free(&reply);
        self.flush()
    }
}

/// The codes of calls to the context manager.
pub const PUBLISH: u32 = 1;
pub const FIND: u32 = 2;

/// A service's number, and its node or handle: the content of calls to the context manager and of
/// its answers.
pub struct Introduction {
    pub service: u64,
    pub object: FlatObject,
}

impl Introduction {
    /// The offset of the object in the message.
    pub const OBJECT: u64 = 8;

    pub fn bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.service.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.object.bytes());
        bytes
    }

    /// Returns the handle in such a message.
    pub fn handle(bytes: &[u8]) -> Option<Handle> {
        let kind = protocol::long(bytes, 8)? as u32;
        let handle = protocol::long(bytes, 16)? as u32;
        (kind == object::HANDLE).then_some(Handle(handle))
    }
}

fn control<T>(file: &OwnedFd, request: u32, argument: &mut T) -> Result<(), Errno> {
    let argument: *mut c_void = ptr::from_mut(argument).cast();
    // SAFETY: the argument has the type that the request takes, and the memory that it points to is
    // valid.
    match unsafe { libc::ioctl(file.as_raw_fd(), request.into(), argument) } {
        -1 => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
        _ => Ok(()),
    }
}
