//! Links the image.

include!("../../image.rs");

fn main() {
    link(&["defmt.x"]);
    for argument in ["--nmagic", "-Tlink.x", "-Tdefmt.x"] {
        println!("cargo:rustc-link-arg-examples={argument}");
    }
    tell_release("rtic");
}
