//! Writes the table of the studies that the program ships: all files of `studies/`, by their names.

include!("shipped.rs");

fn main() {
    ship("studies", "STUDIES");
}
