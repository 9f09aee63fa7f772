//! Links the program, and names the release of the kernel in it.

include!("../../../image.rs");

fn main() {
    // A program is no image: `link` is for those with a runtime.
    let _ = link;
    tell_release("tandem");
    println!("cargo::rustc-link-arg-bins=-Tprogram.x");
    // The kernel's image contains the whole file.
    println!("cargo::rustc-link-arg-bins=--strip-all");
}
