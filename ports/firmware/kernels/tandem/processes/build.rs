//! Links the image, with the program in the file that PROGRAM names.

include!("../../../image.rs");

fn main() {
    link(&["tandem.x"]);
    tell_release("tandem");
    println!("cargo::rerun-if-env-changed=PROGRAM");
    // Without a program, the image is checked and cannot be linked to any use.
    let program = std::env::var("PROGRAM").unwrap_or_else(|_| workspace("image.rs"));
    println!("cargo::rerun-if-changed={program}");
    println!("cargo::rustc-env=PROGRAM={program}");
}
