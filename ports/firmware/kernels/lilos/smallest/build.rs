//! Links the smallest images.

include!("../../../image.rs");

fn main() {
    link(&[]);
}
