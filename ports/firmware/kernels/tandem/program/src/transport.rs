//! The transport of `transaction`: an endpoint's call, and its answer.
//!
//! Up to 24 bytes pass in registers. More are in a buffer of the client's in the arena, which the
//! server changes in place; the call passes the buffer's number.
//!
//! # Soundness
//! A buffer belongs to one client. During a call it is the server's, which has it until it answers;
//! all other time it is the client's. A server ends after its clients alone.

use core::{
    cell::UnsafeCell,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use chronoscope_suite::{
    Refusal, Trial,
    arena::Arena,
    experiments::transaction,
    kernel::{CallFailure, Transport},
};
use tandem_user::{Endpoint, Message, Refused, Semaphore};

use crate::kernel::{Process, Processes};

/// The bytes of a message that registers carry: three of its four words.
const CARRIED: usize = 24;

/// The first word of a client's last message, in which it leaves the service.
const LEAVE: usize = usize::MAX;

/// Runs `transaction` over endpoints.
pub async fn transact(trial: &mut Trial<'_, Processes>) -> Result<(), Refusal> {
    if trial.request.word("transport") != "ipc" {
        return Err(Refusal::not_offered("processes of tandem have `transport=ipc` alone"));
    }
    if trial.request.word("fault") != "none" {
        return Err(Refusal::not_offered("this port calls servers without a limit"));
    }
    transaction::run_without_account::<Process, Ipc>(trial).await
}

pub struct Ipc;

pub struct Services {
    list: &'static [Service],
    clients: usize,
    buffers: &'static [Buffer],
    /// The length of all messages.
    length: usize,
}

/// A service: its server makes the endpoint, since only that process may receive on it then.
struct Service {
    endpoint: AtomicUsize,
    /// A unit for each client, once the endpoint is there.
    opened: Semaphore,
}

impl Service {
    #[inline(always)]
    fn endpoint(&self) -> Endpoint {
        Endpoint(self.endpoint.load(Relaxed))
    }
}

/// The memory that a client shares with the services.
struct Buffer(UnsafeCell<&'static mut [u8]>);

// SAFETY: the module's soundness: one process at a time accesses it.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// # Safety
    /// It is the caller's turn, and the slice is not used beyond it.
    #[allow(clippy::mut_from_ref, reason = "exclusive by the contract")]
    unsafe fn bytes(&self) -> &mut [u8] {
        // SAFETY: exclusive, by the contract.
        unsafe { &mut *self.0.get() }
    }
}

/// A client's side: the bytes of its last answer.
pub struct Client {
    services: &'static Services,
    number: usize,
    answer: [u8; CARRIED],
}

impl Drop for Client {
    fn drop(&mut self) {
        for service in self.services.list {
            // The last client's is answered by the end of the server.
            let _ = service.endpoint().call([LEAVE, 0, 0, 0]);
        }
    }
}

fn pack(bytes: &[u8]) -> [usize; 3] {
    let mut carried = [0; CARRIED];
    carried[..bytes.len()].copy_from_slice(bytes);
    let [a, b, c] = [0, 8, 16].map(|at| carried[at..].first_chunk().copied().unwrap_or_default());
    [a, b, c].map(usize::from_le_bytes)
}

fn unpack(words: [usize; 3]) -> [u8; CARRIED] {
    let mut carried = [0; CARRIED];
    for (bytes, word) in carried.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    carried
}

impl Transport for Ipc {
    type Kernel = Processes;
    type Services = Services;
    type Client = Client;

    fn services(
        _: &'static Processes,
        arena: &Arena,
        services: usize,
        clients: usize,
        largest: usize,
    ) -> Result<&'static Services, Refusal> {
        let shared = if largest > CARRIED { largest } else { 0 };
        arena.place(Services {
            list: arena.fill(services, |_| {
                let opened = Semaphore::new(0).map_err(|_| Refusal::full())?;
                Ok(Service { endpoint: AtomicUsize::new(0), opened })
            })?,
            clients,
            buffers: arena
                .fill(clients, |_| Ok(Buffer(UnsafeCell::new(arena.lend(shared, |_| Ok(0))?))))?,
            length: largest,
        })
    }

    fn serve(
        services: &'static Services,
        service: usize,
        mut answer: impl FnMut(&mut [u8]) -> bool,
    ) -> Result<(), CallFailure> {
        let Service { endpoint, opened } = &services.list[service];
        // Without an endpoint, the clients' calls are refused.
        endpoint.store(Endpoint::new().map_or(0, |own| own.0), Relaxed);
        (0..services.clients).for_each(|_| opened.give());
        let endpoint = Endpoint(endpoint.load(Relaxed));
        let mut left = 0;
        let mut message = endpoint.reply_and_receive([0; 4]).map_err(failure)?;
        loop {
            let [number, words @ ..] = message;
            let mut reply = [0; 4];
            if number == LEAVE {
                left += 1;
                if left == services.clients {
                    // The end of this process answers the last client.
                    return Ok(());
                }
            } else if services.length <= CARRIED {
                let mut bytes = unpack(words);
                if !answer(&mut bytes[..services.length]) {
                    return Ok(());
                }
                let [a, b, c] = pack(&bytes);
                reply = [0, a, b, c];
            } else {
                // SAFETY: the client waits for the answer to its call.
                if !answer(unsafe { services.buffers[number].bytes() }) {
                    return Ok(());
                }
            }
            message = endpoint.reply_and_receive(reply).map_err(failure)?;
        }
    }

    fn connect(services: &'static Services, client: usize) -> Result<Client, CallFailure> {
        services.list.iter().for_each(|service| service.opened.take());
        Ok(Client { services, number: client, answer: [0; CARRIED] })
    }

    #[inline(always)]
    fn call<'a>(
        client: &'a mut Client,
        service: usize,
        bytes: &[u8],
    ) -> Result<&'a [u8], CallFailure> {
        let Client { services, number, answer } = client;
        let endpoint = services.list[service].endpoint();
        if bytes.len() <= CARRIED {
            let [a, b, c] = pack(bytes);
            let [_, words @ ..]: Message = endpoint.call([*number, a, b, c]).map_err(failure)?;
            *answer = unpack(words);
            return Ok(&answer[..bytes.len()]);
        }
        let buffer = &services.buffers[*number];
        // SAFETY: no call of this client's is under way, and its slices have ended: they borrow it.
        unsafe { buffer.bytes() }.copy_from_slice(bytes);
        endpoint.call([*number, 0, 0, 0]).map_err(failure)?;
        // SAFETY: as above; the server has answered.
        Ok(unsafe { buffer.bytes() })
    }
}

fn failure(refused: Refused) -> CallFailure {
    match refused {
        Refused::Dead => CallFailure::Dead,
        Refused::TimedOut => CallFailure::TimedOut,
        Refused::NoObject | Refused::Invalid | Refused::Full | Refused::Unknown => {
            CallFailure::Refused
        }
    }
}
