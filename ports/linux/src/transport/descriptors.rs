//! `unix`, `seqpacket`, `pipe`, `tcp`, `mq`: transports made of file descriptors.
//!
//! Each client has a channel of its own to each service. Through a stream, a message goes with its
//! length before it, in one write; packets keep their bounds. A service with several clients polls
//! their channels. Each side notices the other's end by an end of file, since every process closes
//! the ends that are not its own. A message queue has none: there, an empty message is the last.

use std::{
    ffi::CString,
    io,
    marker::PhantomData,
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd},
    process, ptr,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use chronoscope_suite::{
    Reason, Refusal,
    arena::Arena,
    kernel::{CallFailure, Transport},
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::{Errno, dup, read, write},
    net::{AddressFamily, SocketFlags, SocketType, socketpair},
    pipe::{PipeFlags, fcntl_setpipe_size, pipe_with},
};

use super::{Patience, last_error};
use crate::kernel::Linux;

/// The kind of descriptor that channels are made of.
pub trait Means: Send + 'static {
    /// `true` if a read returns one whole message.
    const PACKETS: bool;

    /// The way out where no channel can be created.
    const WAY_OUT: &str = "raise `ulimit -n`, or take fewer";

    /// Creates both ends of a channel for messages of up to `largest` bytes.
    ///
    /// # Errors
    /// The system's error if there are no descriptors left, or if a pipe may not be so large.
    fn channel(largest: usize) -> Result<[Channel; 2], Errno>;

    /// Writes a message, or the beginning of one, and returns the number of bytes.
    ///
    /// # Errors
    /// The system's error.
    #[inline(always)]
    fn write(writer: &OwnedFd, message: &[u8]) -> Result<usize, Errno> {
        write(writer, message)
    }

    /// Reads a message, or a part of one, and returns the number of bytes: 0 at the end.
    ///
    /// # Errors
    /// The system's error.
    #[inline(always)]
    fn read(reader: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
        read(reader, buffer)
    }

    /// Tells the other side that this one leaves, where closing the channel does not.
    fn leave(_: &Channel) {}
}

pub enum Unix {}
pub enum Seqpacket {}
pub enum Pipe {}
pub enum Tcp {}
pub enum Mq {}

/// An end of a channel, owned by a process.
pub struct Channel {
    reader: OwnedFd,
    /// The writing descriptor, if it is not the reader.
    writer: Option<OwnedFd>,
}

fn sockets(kind: SocketType) -> Result<[Channel; 2], Errno> {
    let (one, other) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    Ok([one, other].map(|reader| Channel { reader, writer: None }))
}

impl Means for Unix {
    const PACKETS: bool = false;

    fn channel(_: usize) -> Result<[Channel; 2], Errno> {
        sockets(SocketType::STREAM)
    }
}

impl Means for Seqpacket {
    const PACKETS: bool = true;

    fn channel(_: usize) -> Result<[Channel; 2], Errno> {
        sockets(SocketType::SEQPACKET)
    }
}

impl Means for Pipe {
    const PACKETS: bool = false;

    fn channel(largest: usize) -> Result<[Channel; 2], Errno> {
        let (requests, to_server) = pipe_with(PipeFlags::CLOEXEC)?;
        let (answers, to_client) = pipe_with(PipeFlags::CLOEXEC)?;
        // A message that does not fit the pipe would be written in pieces, with switches between
        // them.
        let room = (HEADER + largest).next_power_of_two().max(2 * 4096);
        for writer in [&to_server, &to_client] {
            fcntl_setpipe_size(writer, room)?;
        }
        let client = Channel { reader: answers, writer: Some(to_server) };
        let server = Channel { reader: requests, writer: Some(to_client) };
        Ok([client, server])
    }
}

impl Means for Tcp {
    const PACKETS: bool = false;

    /// Over the loopback device, without a wait for more to send.
    fn channel(_: usize) -> Result<[Channel; 2], Errno> {
        let connected = || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let client = TcpStream::connect(listener.local_addr()?)?;
            let (server, _) = listener.accept()?;
            for side in [&client, &server] {
                side.set_nodelay(true)?;
            }
            Ok([client, server].map(|side| Channel { reader: side.into(), writer: None }))
        };
        connected().map_err(|error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

impl Means for Mq {
    const PACKETS: bool = true;
    const WAY_OUT: &str = "raise `fs.mqueue.msgsize_max` or `queues_max`, or take fewer bytes";

    /// A queue each way, whose names are gone at once.
    fn channel(largest: usize) -> Result<[Channel; 2], Errno> {
        let (requests, answers) = (queue(largest)?, queue(largest)?);
        let ends = |reader: &OwnedFd, writer: &OwnedFd| {
            Ok(Channel { reader: dup(reader)?, writer: Some(dup(writer)?) })
        };
        Ok([ends(&answers, &requests)?, ends(&requests, &answers)?])
    }

    #[inline(always)]
    fn write(writer: &OwnedFd, message: &[u8]) -> Result<usize, Errno> {
        // SAFETY: the message is readable, and the descriptor is of a queue.
        let sent =
            unsafe { libc::mq_send(writer.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent == 0 { Ok(message.len()) } else { Err(last()) }
    }

    #[inline(always)]
    fn read(reader: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
        let (start, length) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: the buffer may be written to, and the descriptor is of a queue.
        let received =
            unsafe { libc::mq_receive(reader.as_raw_fd(), start, length, ptr::null_mut()) };
        usize::try_from(received).map_err(|_| last())
    }

    /// No message of a call is empty.
    fn leave(channel: &Channel) {
        if let Some(writer) = &channel.writer {
            let _ = Self::write(writer, &[]);
        }
    }
}

fn last() -> Errno {
    Errno::from_raw_os_error(last_error())
}

/// A queue for messages of up to `largest` bytes.
fn queue(largest: usize) -> Result<OwnedFd, Errno> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("/chronoscope-{}-{}", process::id(), NEXT.fetch_add(1, Relaxed));
    let name = CString::new(name).map_err(|_| Errno::INVAL)?;
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: the name ends with a zero; the attributes are plain numbers, for which zero is valid. The
    // descriptor that is returned has no other owner.
    unsafe {
        let mut attributes: libc::mq_attr = std::mem::zeroed();
        attributes.mq_maxmsg = 2;
        attributes.mq_msgsize = largest.try_into().map_err(|_| Errno::MSGSIZE)?;
        let queue = libc::mq_open(name.as_ptr(), flags, 0o600, &raw mut attributes);
        if queue < 0 {
            return Err(last());
        }
        libc::mq_unlink(name.as_ptr());
        Ok(OwnedFd::from_raw_fd(queue))
    }
}

/// The header of a message in a stream: its length, in native byte order.
const HEADER: usize = 4;

impl Channel {
    fn forget(self) -> End {
        End { reader: self.reader.into_raw_fd(), writer: self.writer.map(OwnedFd::into_raw_fd) }
    }

    /// Writes all of `message`, its header included. Calls `go_on` when a signal interrupts, and
    /// gives up if that returns `false`.
    #[inline]
    fn send<M: Means>(
        &self,
        message: &[u8],
        mut go_on: impl FnMut() -> bool,
    ) -> Result<(), CallFailure> {
        let mut rest = if M::PACKETS { &message[HEADER..] } else { message };
        let writer = self.writer.as_ref().unwrap_or(&self.reader);
        loop {
            match M::write(writer, rest) {
                Ok(written) if written >= rest.len() => return Ok(()),
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) if go_on() => {}
                Err(error) => return Err(failure(error)),
            }
        }
    }

    /// Reads one message into `buffer`, behind its header. Returns its length.
    #[inline]
    fn receive<M: Means>(
        &self,
        buffer: &mut [u8],
        mut go_on: impl FnMut() -> bool,
    ) -> Result<usize, CallFailure> {
        let start = if M::PACKETS { HEADER } else { 0 };
        let mut have = start;
        loop {
            match M::read(&self.reader, &mut buffer[have..]) {
                Ok(0) => return Err(CallFailure::Dead),
                Ok(count) => have += count,
                Err(Errno::INTR) if go_on() => continue,
                Err(error) => return Err(failure(error)),
            }
            if M::PACKETS {
                return Ok(have - HEADER);
            }
            if let Some(header) = buffer[..have].first_chunk() {
                let length = u32::from_ne_bytes(*header) as usize;
                if have == HEADER + length {
                    return Ok(length);
                }
                // There is one message at a time, and none is longer than the buffer.
                if have > HEADER + length || HEADER + length > buffer.len() {
                    return Err(CallFailure::Refused);
                }
            }
        }
    }
}

fn failure(error: Errno) -> CallFailure {
    match error {
        Errno::PIPE | Errno::CONNRESET => CallFailure::Dead,
        Errno::MSGSIZE | Errno::NOBUFS => CallFailure::Refused,
        Errno::INTR => CallFailure::TimedOut,
        error => CallFailure::Failed(error.raw_os_error()),
    }
}

/// The numbers of a channel's descriptors: equal in all processes forked since their creation, each
/// of which owns its copies.
struct End {
    reader: RawFd,
    writer: Option<RawFd>,
}

impl End {
    /// # Safety
    /// Called at most once per process and end.
    unsafe fn take(&self) -> Channel {
        // SAFETY: the descriptors are open in this process and have no other owner in it.
        unsafe {
            Channel {
                reader: OwnedFd::from_raw_fd(self.reader),
                writer: self.writer.map(|writer| OwnedFd::from_raw_fd(writer)),
            }
        }
    }
}

pub struct Services {
    clients: usize,
    largest: usize,
    /// The client's and the server's end of each channel. The channel of client c to service s is
    /// at s * clients + c.
    channels: &'static [[End; 2]],
}

impl Services {
    /// Returns this process's ends: those at `side` of the channels for which `mine` returns
    /// `true`. Closes all others.
    ///
    /// # Safety
    /// Called at most once per process.
    unsafe fn take(&self, side: usize, mine: impl Fn(usize) -> bool) -> Vec<Channel> {
        let mut kept = Vec::new();
        for (place, ends) in self.channels.iter().enumerate() {
            for (which, end) in ends.iter().enumerate() {
                // SAFETY: the caller promises that this is the only call in this process.
                let channel = unsafe { end.take() };
                if which == side && mine(place) {
                    kept.push(channel);
                }
            }
        }
        kept
    }

    /// Returns a buffer for the longest message and its header.
    fn buffer(&self) -> Vec<u8> {
        vec![0; HEADER + self.largest]
    }
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// The transport over these means.
pub struct Descriptors<M>(PhantomData<M>);

pub struct Client {
    channels: Vec<Channel>,
    leave: fn(&Channel),
    message: Vec<u8>,
    answer: Vec<u8>,
    patience: Patience,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.channels.iter().for_each(self.leave);
    }
}

impl<M: Means> Transport for Descriptors<M> {
    type Kernel = Linux;
    type Services = Services;
    type Client = Client;

    fn services(
        _: &'static Linux,
        arena: &Arena,
        services: usize,
        clients: usize,
        largest: usize,
    ) -> Result<&'static Services, Refusal> {
        let channel = |_| {
            let ends = M::channel(largest).map_err(|error| {
                Refusal::new(
                    Reason::Exhausted,
                    "no channel for each worker and service",
                    M::WAY_OUT,
                )
                .with_code(error.raw_os_error())
            })?;
            Ok(ends.map(Channel::forget))
        };
        arena.place(Services {
            clients,
            largest,
            channels: arena.fill(services * clients, channel)?,
        })
    }

    fn release(services: &'static Services) {
        // SAFETY: the director calls this once, and it neither serves nor calls.
        drop(unsafe { services.take(CLIENT, |_| false) });
    }

    fn serve(
        services: &'static Services,
        service: usize,
        mut answer: impl FnMut(&mut [u8]) -> bool,
    ) -> Result<(), CallFailure> {
        let clients = services.clients;
        // SAFETY: a server calls this once, and no other function of the transport.
        let mut channels = unsafe { services.take(SERVER, |place| place / clients == service) };
        let mut buffer = services.buffer();
        let mut next = 0;
        while !channels.is_empty() {
            let place = ready(&channels, next)?;
            next = place + 1;
            match channels[place].receive::<M>(&mut buffer, || true) {
                Ok(length) => {
                    if !answer(&mut buffer[HEADER..HEADER + length]) {
                        break;
                    }
                    channels[place].send::<M>(&buffer[..HEADER + length], || true)?;
                }
                // The client has left.
                Err(CallFailure::Dead) => drop(channels.swap_remove(place)),
                Err(failure) => return Err(failure),
            }
        }
        channels.iter().for_each(M::leave);
        Ok(())
    }

    fn connect(services: &'static Services, client: usize) -> Result<Client, CallFailure> {
        let clients = services.clients;
        // SAFETY: a client calls this once, and no other function that takes its ends.
        let channels = unsafe { services.take(CLIENT, |place| place % clients == client) };
        let (message, answer) = (services.buffer(), services.buffer());
        let (patience, leave) = (Patience::new(), M::leave as fn(&Channel));
        Ok(Client { channels, leave, message, answer, patience })
    }

    #[inline]
    fn call<'a>(
        client: &'a mut Client,
        service: usize,
        bytes: &[u8],
    ) -> Result<&'a [u8], CallFailure> {
        let Client { channels, message, answer, patience, .. } = client;
        let message = &mut message[..HEADER + bytes.len()];
        message[..HEADER].copy_from_slice(&(bytes.len() as u32).to_ne_bytes());
        message[HEADER..].copy_from_slice(bytes);
        channels[service].send::<M>(message, || patience.go_on())?;
        let length = channels[service].receive::<M>(answer, || patience.go_on())?;
        patience.answered();
        Ok(&answer[HEADER..][..length])
    }
}

/// Returns the place of a readable channel, from `first` on, so that each gets its turn. A single
/// channel is not polled: its read waits.
#[inline]
fn ready(channels: &[Channel], first: usize) -> Result<usize, CallFailure> {
    if channels.len() == 1 {
        return Ok(0);
    }
    let mut polled: Vec<_> =
        channels.iter().map(|channel| PollFd::new(&channel.reader, PollFlags::IN)).collect();
    loop {
        match poll(&mut polled, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(failure(error)),
        }
        let mut places = (first..first + polled.len()).map(|place| place % polled.len());
        if let Some(place) = places.find(|&place| !polled[place].revents().is_empty()) {
            return Ok(place);
        }
    }
}
