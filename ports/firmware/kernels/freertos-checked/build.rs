//! Compiles FreeRTOS configured as its demos are, and links the image.

include!("../../image.rs");
include!("../../../c/compile.rs");

fn main() {
    link(&[]);
    freertos("freertos-checked", &["CHECKED"]);
}
