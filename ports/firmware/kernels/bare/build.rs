//! Links the image.

include!("../../image.rs");

fn main() {
    link(&[]);
}
