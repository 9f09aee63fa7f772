//! Compiles ThreadX and its port with the C compiler of Debian, and links the image.

include!("../image.rs");
include!("../../c/compile.rs");

fn main() {
    link(&[]);
    threadx();
}
