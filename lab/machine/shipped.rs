// Writes the table of the files that the program ships. Included by the build scripts of the crates that
// have such files.

use std::{env, fs, path::Path};

/// Writes `FOLDER.rs`, a constant with the name and the text of each TOML file in the crate's folder.
fn ship(folder: &str, constant: &str) {
    println!("cargo::rerun-if-changed={folder}");
    let entries = fs::read_dir(folder).expect("the repository has the folder");
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            Some(entry.ok()?.file_name().to_str()?.strip_suffix(".toml")?.to_owned())
        })
        .collect();
    names.sort();
    let row = |name: &String| {
        format!(
            "    ({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{folder}/{name}.toml\"))),\n"
        )
    };
    let rows: String = names.iter().map(row).collect();
    let text = format!(
        "/// The {folder} of this version, by name; they need no file.\n\
         const {constant}: &[(&str, &str)] = &[\n{rows}];\n"
    );
    let out = env::var_os("OUT_DIR").expect("cargo sets the folder of the output");
    let file = Path::new(&out).join(format!("{folder}.rs"));
    fs::write(file, text).expect("the output can be written");
}
