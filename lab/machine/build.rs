//! Writes the table of the views that the program ships: all files of `views/`, by their names.

include!("shipped.rs");

fn main() {
    ship("views", "VIEWS");
}
