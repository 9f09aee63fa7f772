//! Texts that C hands over.

use core::{ffi::c_char, slice, str};

/// The text at an address, up to its zero byte or `most` bytes. Empty for a null pointer; cut where
/// it is no UTF-8.
///
/// # Safety
/// The text must end with a zero byte or have `most` bytes, and live as long as the program.
pub unsafe fn text(start: *const c_char, most: usize) -> &'static str {
    if start.is_null() {
        return "";
    }
    // SAFETY: all bytes up to the zero byte are part of the text.
    let is_end = |at: &usize| unsafe { start.add(*at).read() } == 0;
    let length = (0..most).find(is_end).unwrap_or(most);
    // SAFETY: as above.
    let bytes = unsafe { slice::from_raw_parts(start.cast::<u8>(), length) };
    match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}
