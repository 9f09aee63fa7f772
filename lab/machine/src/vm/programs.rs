//! Collects programs of the host for the guest, each with its shared libraries, at the same paths
//! as on the host. The archive is made elsewhere.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, bail};

use chronoscope_child as child;

/// Reads the programs of these names and their libraries, by path.
///
/// # Errors
/// If a program is not installed, a file cannot be read, or `stop` becomes true.
pub fn files(names: &[String], stop: &AtomicBool) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for name in names {
        let program = find(name)?;
        let mut ldd = Command::new("ldd");
        let ldd = child::output(ldd.arg(&program).env("LC_ALL", "C"), stop)?;
        // For a statically linked program ldd fails; it then lists no libraries.
        let libraries = libraries(&String::from_utf8_lossy(&ldd.stdout));
        for path in libraries.into_iter().chain([program]) {
            let data =
                fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            files.insert(path, data);
        }
    }
    Ok(files)
}

/// Returns the command as the guest takes it: the program's path and the arguments, separated by
/// spaces.
///
/// # Errors
/// If the program is not installed, or an argument is empty or contains a space.
pub fn command(words: &[String]) -> Result<String> {
    let Some((name, arguments)) = words.split_first() else { bail!("there is no command") };
    if let Some(word) =
        arguments.iter().find(|word| word.is_empty() || word.contains(char::is_whitespace))
    {
        bail!("`{word}` cannot be passed to a program in a guest: it is empty, or holds a space");
    }
    let name = find(name)?.display().to_string();
    Ok([&[name], arguments].concat().join(" "))
}

fn find(name: &str) -> Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    // Joining an absolute path yields that path.
    let places = env::split_paths(&path).map(|folder| folder.join(name));
    places
        .into_iter()
        .find(|place| place.is_file())
        .with_context(|| format!("{name} is not installed"))
}

/// The paths in ldd's output: `libc.so.6 => /lib/…/libc.so.6 (0x…)`, `/lib64/ld-linux-x86-64.so.2
/// (0x…)`.
fn libraries(text: &str) -> Vec<PathBuf> {
    text.split_whitespace()
        .filter(|word| word.starts_with('/'))
        .map(|word| Path::new(word).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_loader_are_found() {
        let text = "\tlinux-vdso.so.1 (0x00007fa7)\n\tlibc.so.6 => /lib/libc.so.6 (0x00007fa8)\n\t/lib64/ld.so.2 (0x00007fa9)\n";
        assert_eq!(libraries(text), [Path::new("/lib/libc.so.6"), Path::new("/lib64/ld.so.2")]);
        assert!(libraries("\tnot a dynamic executable\n").is_empty());
    }

    #[test]
    fn words_stay_words() {
        let command = |words: [&str; 2]| super::command(&words.map(str::to_owned));
        assert!(command(["sh", "-c"]).unwrap().ends_with("/sh -c"));
        assert!(command(["sh", "two words"]).unwrap_err().to_string().contains("holds a space"));
        assert!(
            command(["no-such-program", "x"]).unwrap_err().to_string().contains("not installed")
        );
    }
}
