//! Writes the table of the studies that the program ships: all files of `studies/`, by their names.

use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=studies");
    let entries = fs::read_dir("studies").expect("the repository has the studies");
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            Some(entry.ok()?.file_name().to_str()?.strip_suffix(".toml")?.to_owned())
        })
        .collect();
    names.sort();
    let row = |name: &String| {
        format!(
            "    ({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/studies/{name}.toml\"))),\n"
        )
    };
    let rows: String = names.iter().map(row).collect();
    let text = format!(
        "/// The studies of this version, by name; they need no file.\n\
         const STUDIES: &[(&str, &str)] = &[\n{rows}];\n"
    );
    let folder = env::var_os("OUT_DIR").expect("cargo sets the folder of the output");
    fs::write(Path::new(&folder).join("studies.rs"), text).expect("the output can be written");
}
