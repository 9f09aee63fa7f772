//! Links the image, and tells which lilos is in it.

include!("../../image.rs");

fn main() {
    link(&["defmt.x"]);
    tell_release("lilos");
}
