//! Compiles FreeRTOS as its smallest programs have it, and links the smallest images.

include!("../../../image.rs");
include!("../../../../c/compile.rs");

fn main() {
    link(&[]);
    freertos_smallest(&[2, 3]);
}
