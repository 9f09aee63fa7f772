//! Links the image, and names the release of lilos.

include!("../../image.rs");

fn main() {
    link(&["defmt.x"]);
    tell_release("lilos");
}
