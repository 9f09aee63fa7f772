//! Links the image, with the program in the file that PROGRAM names.

include!("../../../image.rs");

fn main() {
    link(&["tandem.x"]);
    tell_release("tandem");
    println!("cargo::rerun-if-env-changed=PROGRAM");
    // Without a program, the image is checked and cannot be linked to any use.
    let program = std::env::var("PROGRAM").unwrap_or_else(|_| workspace("image.rs"));
    println!("cargo::rerun-if-changed={program}");
    // Whole pages: processes can read all of the last one.
    let mut bytes = std::fs::read(&program).expect("a program");
    bytes.resize(bytes.len().next_multiple_of(4096), 0);
    let whole =
        std::path::Path::new(&std::env::var("OUT_DIR").expect("cargo sets it")).join("program");
    std::fs::write(&whole, bytes).expect("a copy of the program");
    println!("cargo::rustc-env=PROGRAM={}", whole.display());
}
