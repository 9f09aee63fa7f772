//! `passthrough`: the server is a function in the client's process, which copies the bytes.

use chronoscope_suite::{
    Refusal,
    arena::Arena,
    kernel::{CallFailure, Transport},
};

use crate::kernel::Linux;

pub enum Passthrough {}

pub struct Services {
    largest: usize,
}

impl Transport for Passthrough {
    type Kernel = Linux;
    type Services = Services;
    type Client = Vec<u8>;
    const SERVED: bool = false;

    fn services(
        _: &'static Linux,
        arena: &Arena,
        _: usize,
        _: usize,
        largest: usize,
    ) -> Result<&'static Services, Refusal> {
        arena.place(Services { largest })
    }

    fn serve(
        _: &'static Services,
        _: usize,
        _: impl FnMut(&mut [u8]) -> bool,
    ) -> Result<(), CallFailure> {
        Ok(())
    }

    fn connect(services: &'static Services, _: usize) -> Result<Vec<u8>, CallFailure> {
        Ok(Vec::with_capacity(services.largest))
    }

    #[inline(never)]
    fn call<'a>(client: &'a mut Vec<u8>, _: usize, bytes: &[u8]) -> Result<&'a [u8], CallFailure> {
        client.clear();
        client.extend_from_slice(bytes);
        Ok(client)
    }
}
