//! `binder`, `hwbinder`: Android's drivers, by their own protocol.
//!
//! ```text
//!   director ── forks ──► context manager        knows services by number
//!                           ▲         ▲
//!               PUBLISH 0…n │         │ FIND 0…n
//!                        service ◄── worker      ECHO, and LEAVE when it has done
//! ```
//!
//! A call is one system call for the client: it frees the answer before, calls, and waits for the
//! answer; and one for the service: it frees the call, answers, and waits for the next. `binder`
//! sends the bytes as the message. `hwbinder` sends them as HIDL's vectors go: a vector's header
//! beside the message, and its bytes beside that, whose address the driver corrects in the header.

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
    device::{Device, Introduction},
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

/// One of the drivers.
pub trait Driver: Send + 'static {
    /// Where its device is: in a kernel with static devices, or with binderfs.
    const DEVICES: [&str; 2];
    /// Bytes go beside the message.
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
    /// Given when there is a manager, or none can be had: then with an error number.
    managed: Semaphore,
    unmanaged: AtomicI32,
}

/// The transport that goes through this driver.
pub struct Through<D>(PhantomData<D>);

pub struct Client<D> {
    device: Device,
    handles: Vec<Handle>,
    /// The last answer.
    held: Option<Received>,
    /// No answer is freed.
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
            // What the process has, it keeps.
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
            // A service that has died need not be told.
            let _ = self.device.call(handle, LEAVE, Message::plain(&[]), || self.patience.go_on());
        }
    }
}

/// The context manager: a process that lives as long as the case.
async fn manage(services: &'static Services) {
    let device =
        Device::open(services.device).and_then(|device| device.become_manager().map(|()| device));
    let code = device.as_ref().map_or_else(|error| error.raw_os_error(), |_| 0);
    services.unmanaged.store(code, Relaxed);
    services.managed.give();
    if let Ok(device) = device {
        // Were it to fail, nobody would find a service, and each client would tell.
        let _ = manager::manage(device);
    }
}

fn open(services: &Services) -> Result<Device, CallFailure> {
    Device::open(services.device).map_err(|error| CallFailure::Unconnected(error.raw_os_error()))
}

/// The handle of a service, once it has been published.
fn find(
    device: &mut Device,
    service: usize,
    patience: &mut Patience,
) -> Result<Handle, CallFailure> {
    let number = (service as u64).to_ne_bytes();
    for _ in 0..3000 {
        let reply =
            device.call(MANAGER, manager::FIND, Message::plain(&number), || patience.go_on())?;
        let handle = device.message(&reply).and_then(Introduction::handle);
        if let Some(handle) = handle {
            // Before the message that holds it is freed.
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
    // The server's own copy of what it was sent, as a service has that keeps it.
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
