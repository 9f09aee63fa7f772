//! Build script of images that need no linker script but the chip's.

include!("image.rs");

fn main() {
    link(&[]);
}
