//! Links the image.

include!("../../image.rs");

fn main() {
    link(&["defmt.x"]);
    tell_release("tandem");
}
