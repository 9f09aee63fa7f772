//! The modules of a folder, for a kernel of the user's: unpacked, in an order in which they load.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, bail};
use object::{File, Object as _, ObjectSection as _};

use super::{bzimage, initramfs::Module};
use chronoscope_units::{file, printable};

/// The largest kernel image or module, in bytes: a vmlinux with all debugging information.
const LARGEST: u64 = 512 << 20;

/// The ends of modules' file names: plain, and packed.
const ENDS: [&str; 4] = [".ko", ".ko.xz", ".ko.zst", ".ko.gz"];

/// The most modules of a folder, and the most folders above one. All of a distribution's are some
/// thousands, and loading them tells nothing about a kernel.
const MOST: usize = 200;
const DEEPEST: usize = 8;

/// A module, and the names of the modules that it needs.
struct Found {
    module: Module,
    needs: Vec<String>,
}

/// The modules of a folder and its subfolders. A module comes after those that it needs; otherwise
/// they are in the order of their names.
///
/// # Errors
/// A file cannot be read or unpacked, there are more than [`MOST`], or one needs a module that is not
/// there.
pub fn in_folder(folder: &Path) -> Result<Vec<Module>> {
    let mut paths = Vec::new();
    collect(folder, 0, &mut paths)?;
    paths.sort();
    let mut found = BTreeMap::new();
    let mut order = Vec::new();
    for path in &paths {
        let (name, one) = found_in(path)?;
        if found.insert(name.clone(), one).is_some() {
            bail!("{} has the module {name} twice: leave one", folder.display());
        }
        order.push(name);
    }
    sorted(&order, found).with_context(|| format!("{}", folder.display()))
}

/// Reads a file that the user named.
///
/// # Errors
/// If it is no regular file, cannot be read, or is larger than [`LARGEST`].
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let read = || {
        let mut bytes = Vec::new();
        file::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    let bytes = read().with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() as u64 > LARGEST {
        bail!("{} is larger than {} MiB: that is no kernel", path.display(), LARGEST >> 20);
    }
    Ok(bytes)
}

/// Adds the paths of the modules in a folder and in those below it. Links to folders are not followed.
fn collect(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> Result<()> {
    let within = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(within)? {
        let entry = entry.with_context(within)?;
        let name = entry.file_name();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if depth < DEEPEST {
                collect(&entry.path(), depth + 1, paths)?;
            }
        } else if ENDS.iter().any(|end| name.to_string_lossy().ends_with(end)) {
            paths.push(entry.path());
        }
        if paths.len() > MOST {
            bail!(
                "{} has more than {MOST} modules: name a folder with those that you need",
                folder.display()
            );
        }
    }
    Ok(())
}

/// The name and the contents of a module in a file.
fn found_in(path: &Path) -> Result<(String, Found)> {
    let bytes = read(path)?;
    let contents = match bytes.get(..4) {
        Some(b"\x7fELF") | None => bytes,
        // A module is small: nobody waits for it.
        Some(_) if is_packed(path) => bzimage::unpacked(&bytes, &AtomicBool::new(false))
            .with_context(|| path.display().to_string())?,
        Some(_) => bytes,
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let end = ENDS.iter().rev().find(|end| name.ends_with(**end)).copied().unwrap_or_default();
    let stem = name.strip_suffix(end).unwrap_or(&name).to_owned();
    let facts = facts(&contents);
    let fact =
        |name: &str| facts.iter().find_map(|fact| fact.strip_prefix(name)?.strip_prefix('='));
    let needs = fact("depends").unwrap_or_default().split(',').filter(|name| !name.is_empty());
    let needs = needs.map(same).collect();
    let name = same(fact("name").unwrap_or(&stem));
    Ok((name, Found { module: Module { name: stem + ".ko", contents }, needs }))
}

fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|end| end != "ko")
}

/// A module's name as the kernel writes it.
fn same(name: &str) -> String {
    name.replace('-', "_")
}

/// The facts in a module's section `.modinfo`, as `depends=a,b`; none in another file.
fn facts(contents: &[u8]) -> Vec<String> {
    let read = || {
        let file = File::parse(contents).ok()?;
        let section = file.section_by_name(".modinfo")?;
        let text = String::from_utf8_lossy(section.data().ok()?).into_owned();
        Some(text.split('\0').map(str::to_owned).collect())
    };
    read().unwrap_or_default()
}

/// The modules in an order in which each comes after those that it needs, and otherwise as in `order`,
/// which has the names of all.
fn sorted(order: &[String], mut found: BTreeMap<String, Found>) -> Result<Vec<Module>> {
    let mut sorted = Vec::new();
    for name in order {
        take(name, order, &mut found, &mut sorted)?;
    }
    Ok(sorted)
}

/// Moves a module to `sorted`, after those that it needs; nothing if it was taken before.
fn take(
    name: &str,
    all: &[String],
    found: &mut BTreeMap<String, Found>,
    sorted: &mut Vec<Module>,
) -> Result<()> {
    // A circle of needs ends here, and in the kernel's own message.
    let Some(Found { module, needs }) = found.remove(name) else { return Ok(()) };
    for need in needs {
        if !all.contains(&need) {
            bail!(
                "{} needs the module {}, which is not there: add it",
                module.name,
                printable(&need)
            );
        }
        take(&need, all, found, sorted)?;
    }
    sorted.push(module);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(all: &[(&str, &[&str])]) -> Result<Vec<String>> {
        let one = |(name, needs): &(&str, &[&str])| {
            let module = Module { name: format!("{name}.ko"), contents: Vec::new() };
            let needs = needs.iter().map(|need| (*need).to_owned()).collect();
            ((*name).to_owned(), Found { module, needs })
        };
        let names: Vec<String> = all.iter().map(|(name, _)| (*name).to_owned()).collect();
        let sorted = sorted(&names, all.iter().map(one).collect())?;
        Ok(sorted.into_iter().map(|module| module.name).collect())
    }

    #[test]
    fn a_module_comes_after_those_that_it_needs() {
        let all: [(&str, &[&str]); 4] =
            [("a", &["c", "b"]), ("b", &["c"]), ("c", &[]), ("d", &["a"])];
        assert_eq!(order(&all).unwrap(), ["c.ko", "b.ko", "a.ko", "d.ko"]);
        let circle: [(&str, &[&str]); 2] = [("a", &["b"]), ("b", &["a"])];
        assert_eq!(order(&circle).unwrap().len(), 2);
    }

    #[test]
    fn a_module_that_lacks_is_named() {
        let error = order(&[("a", &["gone"])]).unwrap_err().to_string();
        assert_eq!(error, "a.ko needs the module gone, which is not there: add it");
    }
}
