//! The context manager of a case: a process that every process on the device can call, and that
//! knows the services by number.

use std::collections::BTreeMap;

use chronoscope_suite::kernel::CallFailure;

use super::{
    device::{Device, FIND, Introduction, PUBLISH},
    protocol::{self, FlatObject, Handle, Message, Return, object},
};

/// Answers calls. Returns on an error only.
///
/// # Errors
/// [`CallFailure`] for an error of the driver.
pub fn manage(mut device: Device) -> Result<(), CallFailure> {
    let mut services = BTreeMap::new();
    // A reply's bytes must stay valid until the exchange that gives it to the driver.
    let mut answer;
    device.commands.enter_looper();
    let mut buffer = [0; 256];
    loop {
        for event in device.exchange(&mut buffer, || true)? {
            let call = match event {
                Ok(Return::Call(call)) => call,
                Ok(event) => {
                    device.attend(event)?;
                    continue;
                }
                Err(_) => return Err(CallFailure::Failed(libc::EPROTO)),
            };
            let bytes = device.message(&call).unwrap_or_default();
            let number = protocol::long(bytes, 0).unwrap_or(u64::MAX);
            let published = Introduction::handle(bytes).filter(|_| call.code == PUBLISH);
            if let Some(handle) = published {
                device.commands.acquire(handle);
                services.insert(number, handle);
            }
            device.commands.free(&call);
            match services.get(&number).filter(|_| call.code == FIND) {
                Some(&Handle(handle)) => {
                    let object = FlatObject {
                        kind: object::HANDLE,
                        node: handle.into(),
                        ..FlatObject::default()
                    };
                    answer = Introduction { service: number, object }.bytes();
                    let offsets = &[Introduction::OBJECT];
                    device.commands.reply(Message { bytes: &answer, offsets, beside: 0 });
                }
                None => device.commands.reply(Message::plain(&[])),
            }
        }
    }
}
