//! Writes the table of the views that the program ships: all files of `views/`, by their names.

use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=views");
    let entries = fs::read_dir("views").expect("the repository has the views");
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            Some(entry.ok()?.file_name().to_str()?.strip_suffix(".toml")?.to_owned())
        })
        .collect();
    names.sort();
    let row = |name: &String| {
        format!(
            "    ({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/views/{name}.toml\"))),\n"
        )
    };
    let rows: String = names.iter().map(row).collect();
    let text = format!(
        "/// The views of this version, by name; they need no file.\n\
         const VIEWS: &[(&str, &str)] = &[\n{rows}];\n"
    );
    let folder = env::var_os("OUT_DIR").expect("cargo sets the folder of the output");
    fs::write(Path::new(&folder).join("views.rs"), text).expect("the output can be written");
}
