//! A process's connection to the driver: the device, the memory that messages arrive in, and the
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

/// Returns of one exchange: a call or a reply takes 68 bytes, and there are few others beside it.
const RETURNS: usize = 256;

pub struct Device {
    file: OwnedFd,
    room: Room,
    pub commands: Commands,
}

impl Device {
    /// # Errors
    /// When there is no such device, or it is no binder of this protocol.
    pub fn open(path: &str) -> Result<Self, Errno> {
        let file = open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let mut version = 0;
        control(&file, protocol::VERSION, &mut version)?;
        if version != PROTOCOL {
            return Err(Errno::PROTO);
        }
        let room = Room::new(&file)?;
        // The driver asks for no more threads: a service here is one.
        control(&file, protocol::SET_MAX_THREADS, &mut 0_u32)?;
        Ok(Self { file, room, commands: Commands::default() })
    }

    /// Becomes the one whom everybody on this device can call.
    ///
    /// # Errors
    /// [`Errno::BUSY`] when somebody is already.
    pub fn become_manager(&self) -> Result<(), Errno> {
        control(&self.file, protocol::SET_CONTEXT_MANAGER, &mut 0_i32)
    }

    /// Gives the driver all commands, and waits for returns. `go_on`: asked when a signal
    /// interrupts.
    ///
    /// # Errors
    /// [`CallFailure::TimedOut`] when it does not go on.
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
        // What an interrupted exchange has written it does not write again.
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

    /// The calling thread will not call again: the driver forgets it.
    pub fn end_thread(&self) {
        // It cannot fail in a way that matters: the thread ends anyway.
        let _ = control(&self.file, protocol::THREAD_EXIT, &mut 0_i32);
    }

    /// Gives the driver all commands, and waits for nothing.
    ///
    /// # Errors
    /// As of the system call.
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

    /// Calls, and waits for the answer, which lies in the room until it is freed.
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

    /// What everybody does about returns that are not about their own calls.
    ///
    /// # Errors
    /// What the driver has to complain of.
    pub fn attend(&mut self, event: Return) -> Result<(), CallFailure> {
        match event {
            Return::Count(count) => self.commands.counted(count),
            Return::Dead(cookie) => self.commands.dead_binder_done(cookie),
            Return::Error(code) => return Err(CallFailure::Failed(-code)),
            _ => {}
        }
        Ok(())
    }

    /// Bytes that the driver has put into this process; `None` when they are not.
    #[inline]
    pub fn bytes(&self, address: u64, length: u64) -> Option<&[u8]> {
        self.room.bytes(address, length)
    }

    /// The bytes of a message.
    #[inline]
    pub fn message(&self, received: &Received) -> Option<&[u8]> {
        self.bytes(received.buffer, received.length)
    }

    /// Tells the manager of a node of this process.
    ///
    /// # Errors
    /// [`CallFailure`]
    pub fn publish(&mut self, service: usize) -> Result<(), CallFailure> {
        let node = 1 + service as u64;
        let object = FlatObject { kind: object::BINDER, flags: object::FLAGS, node, cookie: node };
        let message = Introduction { service: service as u64, object }.bytes();
        let message = Message { bytes: &message, offsets: &[Introduction::OBJECT], beside: 0 };
        let reply = self.call(MANAGER, super::manager::PUBLISH, message, || true)?;
        self.commands.free(&reply);
        self.flush()
    }
}

/// A service's number, and its node or handle: what the manager is told, and tells.
pub struct Introduction {
    pub service: u64,
    pub object: FlatObject,
}

impl Introduction {
    /// Where the object stands.
    pub const OBJECT: u64 = 8;

    pub fn bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.service.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.object.bytes());
        bytes
    }

    /// The handle in a message of this form.
    pub fn handle(bytes: &[u8]) -> Option<Handle> {
        let kind = protocol::long(bytes, 8)? as u32;
        let handle = protocol::long(bytes, 16)? as u32;
        (kind == object::HANDLE).then_some(Handle(handle))
    }
}

fn control<T>(file: &OwnedFd, request: u32, argument: &mut T) -> Result<(), Errno> {
    let argument: *mut c_void = ptr::from_mut(argument).cast();
    // SAFETY: the argument is of the type that the request takes, and what it points to is alive.
    match unsafe { libc::ioctl(file.as_raw_fd(), request.into(), argument) } {
        -1 => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
        _ => Ok(()),
    }
}
