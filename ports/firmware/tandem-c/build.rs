//! Compiles tandem's port in C, and links the image.

include!("../image.rs");
include!("../../c/compile.rs");

fn main() {
    link(&[]);
    tandem();
}
