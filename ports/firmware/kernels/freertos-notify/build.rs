//! Compiles FreeRTOS with task notifications, and links the image.

include!("../../image.rs");
include!("../../../c/compile.rs");

fn main() {
    link(&[]);
    freertos("freertos-notify", &["CHRONO_NOTIFICATIONS"]);
}
