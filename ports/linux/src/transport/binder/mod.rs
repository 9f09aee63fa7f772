//! `binder`, `hwbinder`: Android's drivers, by their own protocol.
//!
//! ```text
//!   director ── forks ──► context manager        knows services by number
//!                           ▲         ▲
//!               PUBLISH 0…n │         │ FIND 0…n
//!                        service ◄── worker      ECHO, and LEAVE when it has done
//! ```
//!
//! A call takes one system call of the client, which frees the previous answer, calls, and waits
//! for the answer; and one of the service, which frees the call, answers, and waits for the next.
//! `binder` sends the bytes as the message. `hwbinder` sends them like HIDL's vectors: a vector's
//! header and its bytes in two buffers beside the message, and the driver corrects the address in
//! the header.

mod device;
mod manager;
mod parcel;
mod protocol;
mod room;
mod statistics;

use std::{
    marker::PhantomData,
    path::Path,
    sync::atomic::{AtomicI32, Ordering::Relaxed},
    thread,
    time::Duration,
};

use chronoscope_suite::{
    Priority, Reason, Refusal, Tasks,
    arena::Arena,
    kernel::{CallFailure, Fault, Transport},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use self::{
    device::{Device, FIND, Introduction},
    parcel::Parcel,
    protocol::{Handle, MANAGER, Message, Received, Return},
};
use super::Patience;
use crate::{
    kernel::Linux,
    process::Process,
    semaphore::{Primitive, Semaphore},
};

const ECHO: u32 = 16;
const LEAVE: u32 = 17;

/// A driver: binder or hwbinder.
pub trait Driver: Send + 'static {
    /// The paths of the device: with static devices, and with binderfs.
    const DEVICES: [&str; 2];
    /// `true` if the bytes are sent beside the message.
    const GATHERS: bool;
}

pub enum Binder {}
pub enum Hwbinder {}

impl Driver for Binder {
    const DEVICES: [&str; 2] = ["/dev/binder", "/dev/binderfs/binder"];
    const GATHERS: bool = false;
}

impl Driver for Hwbinder {
    const DEVICES: [&str; 2] = ["/dev/hwbinder", "/dev/binderfs/hwbinder"];
    const GATHERS: bool = true;
}

pub struct Services {
    device: &'static str,
    services: usize,
    clients: usize,
    /// Given when the context manager is ready, or has failed; then `unmanaged` holds an error
    /// number.
    managed: Semaphore,
    unmanaged: AtomicI32,
}

/// The transport through this driver.
pub struct Through<D>(PhantomData<D>);

pub struct Client<D> {
    device: Device,
    handles: Vec<Handle>,
    /// The last answer.
    held: Option<Received>,
    /// `true` if the client frees no answer, a fault.
    hoards: bool,
    patience: Patience,
    driver: PhantomData<D>,
}

impl<D: Driver> Transport for Through<D> {
    type Kernel = Linux;
    type Services = Services;
    type Client = Client<D>;
    const FAULTS: bool = true;

    fn services(
        kernel: &'static Linux,
        arena: &Arena,
        services: usize,
        clients: usize,
        _: usize,
    ) -> Result<&'static Services, Refusal> {
        let device = D::DEVICES.into_iter().find(|path| Path::new(path).exists());
        let device = device.ok_or(Refusal::new(
            Reason::NotOffered,
            "this kernel has no such device",
            "measure it in a guest: --target linux-full@vm",
        ))?;
        let managed = Semaphore::new(Primitive::Futex, true, 0)?;
        let services = arena.place(Services {
            device,
            services,
            clients,
            managed,
            unmanaged: AtomicI32::new(0),
        })?;
        Process::spawn(kernel, Priority::Ordinary, manage(services))?;
        services.managed.take();
        match services.unmanaged.load(Relaxed) {
            0 => Ok(services),
            code => Err(Refusal::new(
                Reason::NotPermitted,
                "this binder device may not be opened and managed",
                "run as root, on a device that nobody else manages (servicemanager does)",
            )
            .with_code(code)),
        }
    }

    fn serve(
        services: &'static Services,
        service: usize,
        answer: impl FnMut(&mut [u8]) -> bool,
    ) -> Result<(), CallFailure> {
        let mut device = open(services)?;
        device.publish(service)?;
        device.commands.enter_looper();
        serve::<D>(device, services.clients, answer)
    }

    fn connect(services: &'static Services, _: usize) -> Result<Client<D>, CallFailure> {
        let mut patience = Patience::new();
        let mut device = open(services)?;
        let handles =
            (0..services.services).map(|service| find(&mut device, service, &mut patience));
        let handles = handles.collect::<Result<_, _>>()?;
        Ok(Client { device, handles, held: None, hoards: false, patience, driver: PhantomData })
    }

    fn connect_with(
        services: &'static Services,
        client: usize,
        fault: Fault,
    ) -> Result<Client<D>, CallFailure> {
        let lacking = match fault {
            Fault::Descriptors => Some(Resource::Nofile),
            Fault::Memory => Some(Resource::As),
            Fault::Hoard => None,
        };
        if let Some(resource) = lacking {
            // The limit leaves the process its open files and its memory.
            let none = Rlimit { current: Some(0), ..getrlimit(resource) };
            setrlimit(resource, none).map_err(|error| CallFailure::Failed(error.raw_os_error()))?;
        }
        let mut client = Self::connect(services, client)?;
        client.hoards = fault == Fault::Hoard;
        Ok(client)
    }

    fn counted(_: &Client<D>) -> Option<u32> {
        statistics::calls_of_this_process()
    }

    #[inline]
    fn call<'a>(
        client: &'a mut Client<D>,
        service: usize,
        bytes: &[u8],
    ) -> Result<&'a [u8], CallFailure> {
        let Client { device, handles, held, hoards, patience, .. } = client;
        if let Some(held) = held.take().filter(|_| !*hoards) {
            device.commands.free(&held);
        }
        let mut parcel = Parcel::<D>::new();
        let reply =
            device.call(handles[service], ECHO, parcel.message(bytes), || patience.go_on())?;
        patience.answered();
        *held = Some(reply);
        parcel::bytes::<D>(device, &reply).ok_or(CallFailure::Refused)
    }

    fn end_thread(client: &mut Client<D>) {
        client.device.end_thread();
    }
}

impl<D> Drop for Client<D> {
    fn drop(&mut self) {
        for &handle in &self.handles {
            // The call fails if the service has died, which needs no report.
            let _ = self.device.call(handle, LEAVE, Message::plain(&[]), || self.patience.go_on());
        }
    }
}

/// Forks the context manager, a process that lives as long as the case.
async fn manage(services: &'static Services) {
    let device =
        Device::open(services.device).and_then(|device| device.become_manager().map(|()| device));
    let code = device.as_ref().map_or_else(|error| error.raw_os_error(), |_| 0);
    services.unmanaged.store(code, Relaxed);
    services.managed.give();
    if let Ok(device) = device {
        // A failure shows in the clients, which find no service.
        let _ = manager::manage(device);
    }
}

fn open(services: &Services) -> Result<Device, CallFailure> {
    Device::open(services.device).map_err(|error| CallFailure::Unconnected(error.raw_os_error()))
}

/// Waits until a service is published, and returns its handle.
fn find(
    device: &mut Device,
    service: usize,
    patience: &mut Patience,
) -> Result<Handle, CallFailure> {
    let number = (service as u64).to_ne_bytes();
    for _ in 0..3000 {
        let reply = device.call(MANAGER, FIND, Message::plain(&number), || patience.go_on())?;
        let handle = device.message(&reply).and_then(Introduction::handle);
        if let Some(handle) = handle {
            // The handle must be acquired before the message that holds it is freed.
            device.commands.acquire(handle);
            device.commands.request_death_notification(handle, handle.0.into());
        }
        device.commands.free(&reply);
        device.flush()?;
        if let Some(handle) = handle {
            return Ok(handle);
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err(CallFailure::TimedOut)
}

/// Answers calls until all clients have left.
fn serve<D: Driver>(
    mut device: Device,
    mut clients: usize,
    mut answer: impl FnMut(&mut [u8]) -> bool,
) -> Result<(), CallFailure> {
    let mut buffer = [0; 256];
    // A copy of the call's bytes, as made by a service that keeps them.
    let mut vector = Vec::new();
    let mut parcel = Parcel::<D>::new();
    while clients > 0 {
        for event in device.exchange(&mut buffer, || true)? {
            match event.map_err(|_| CallFailure::Failed(libc::EPROTO))? {
                Return::Call(call) if call.code == ECHO => {
                    vector.clear();
                    vector
                        .extend_from_slice(parcel::bytes::<D>(&device, &call).unwrap_or_default());
                    if !answer(&mut vector) {
                        return Ok(());
                    }
                    device.commands.free(&call);
                    device.commands.reply(parcel.message(&vector));
                }
                Return::Call(call) => {
                    clients -= usize::from(call.code == LEAVE);
                    device.commands.free(&call);
                    device.commands.reply(Message::plain(&[]));
                }
                event => device.attend(event)?,
            }
        }
    }
    device.flush()
}
