//! The representation of bytes in a message: the bytes for binder; for hwbinder, a HIDL vector
//! beside the message.

use std::marker::PhantomData;

use super::{
    Driver,
    device::Device,
    protocol::{BufferObject, Message, Received, long, object},
};

/// The message: 8 bytes of its own, then an object for the vector's header and one for its bytes.
const HEADER: usize = 8;
const OBJECT: usize = size_of::<BufferObject>();
const OFFSETS: [u64; 2] = [HEADER as u64, (HEADER + OBJECT) as u64];

/// The memory that a message refers to. It must not move until the driver has been given the
/// message.
pub struct Parcel<D> {
    message: [u8; HEADER + 2 * OBJECT],
    /// A `hidl_vec`'s header: the address of its bytes, and their number.
    vector: [u64; 2],
    driver: PhantomData<D>,
}

impl<D: Driver> Parcel<D> {
    pub const fn new() -> Self {
        Self { message: [0; HEADER + 2 * OBJECT], vector: [0; 2], driver: PhantomData }
    }

    /// Returns the message that carries `bytes`.
    #[inline]
    pub fn message<'a>(&'a mut self, bytes: &'a [u8]) -> Message<'a> {
        if !D::GATHERS {
            return Message::plain(bytes);
        }
        let address = bytes.as_ptr().expose_provenance() as u64;
        self.vector = [address, bytes.len() as u64];
        let vector = BufferObject {
            kind: object::POINTER,
            buffer: self.vector.as_ptr().expose_provenance() as u64,
            length: size_of_val(&self.vector) as u64,
            ..BufferObject::default()
        };
        // The address of the bytes is at offset 0 of the vector's header, which is object 0.
        let content = BufferObject {
            kind: object::POINTER,
            flags: object::HAS_PARENT,
            buffer: address,
            length: bytes.len() as u64,
            ..BufferObject::default()
        };
        for (place, object) in OFFSETS.into_iter().zip([vector, content]) {
            self.message[place as usize..][..OBJECT].copy_from_slice(&object.bytes());
        }
        // The driver aligns each buffer to 8 bytes.
        let beside = vector.length + content.length.next_multiple_of(8);
        Message { bytes: &self.message, offsets: &OFFSETS, beside }
    }
}

/// Returns the bytes that a message carries; `None` if the message is malformed.
#[inline]
pub fn bytes<'a, D: Driver>(device: &'a Device, received: &Received) -> Option<&'a [u8]> {
    let message = device.message(received)?;
    if !D::GATHERS {
        return Some(message);
    }
    // The address of the vector's header in this process: `buffer` of the first object.
    let vector = device.bytes(long(message, HEADER + 8)?, 16)?;
    device.bytes(long(vector, 0)?, long(vector, 8)? & u64::from(u32::MAX))
}
