//! Compiles FreeRTOS and its port with the C compiler of Debian, and links the image.

include!("../../image.rs");
include!("../../../c/compile.rs");

fn main() {
    link(&[]);
    // Two of its features are kernels of their own in targets.
    let has = |feature: &str| std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    match (has("CHECKED"), has("NOTIFY")) {
        (false, false) => freertos("freertos", &[]),
        (true, false) => freertos("freertos-checked", &["CHECKED"]),
        (false, true) => freertos("freertos-notify", &["CHRONO_NOTIFICATIONS"]),
        (true, true) => stop("checked and notify are two kernels: choose one"),
    }
}
