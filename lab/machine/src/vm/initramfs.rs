//! Packs the guest's files into the archive that the kernel unpacks at boot, in cpio's `newc`
//! format (Documentation/driver-api/early-userspace/buffer-format.rst of Linux). It knows the
//! format, not the choice of files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::{Path, PathBuf},
};

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// A module of the kernel.
#[derive(Clone, Debug)]
pub struct Module {
    /// The file's name.
    pub name: String,
    /// The file's contents.
    pub contents: Vec<u8>,
}

/// Makes the archive of the port as `/init` and the modules, in the order of loading.
pub fn archive(init: &[u8], modules: &[Module]) -> Vec<u8> {
    let mut archive = Archive::default();
    archive.add("dev", FOLDER, (0, 0), b"");
    // The kernel opens the console as the standard error of process 1.
    archive.add("dev/console", CHARACTER_DEVICE, (5, 1), b"");
    archive.add("init", PROGRAM, (0, 0), init);
    archive.add("modules", FOLDER, (0, 0), b"");
    for (number, Module { name, contents }) in modules.iter().enumerate() {
        archive.add(&format!("modules/{number:03}-{name}"), PROGRAM, (0, 0), contents);
    }
    archive.add("TRAILER!!!", 0, (0, 0), b"");
    archive.bytes
}

/// Makes an archive of files by absolute path, with the folders that contain them.
pub fn files(files: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<u8> {
    let mut archive = Archive::default();
    // A folder sorts before its content.
    let folders: BTreeSet<&Path> = files.keys().flat_map(|path| path.ancestors().skip(1)).collect();
    let name = |path: &Path| path.to_string_lossy().trim_start_matches('/').to_owned();
    for folder in folders.into_iter().filter(|folder| !name(folder).is_empty()) {
        archive.add(&name(folder), FOLDER, (0, 0), b"");
    }
    for (path, data) in files {
        archive.add(&name(path), PROGRAM, (0, 0), data);
    }
    archive.add("TRAILER!!!", 0, (0, 0), b"");
    archive.bytes
}

#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    entries: usize,
}

impl Archive {
    fn add(&mut self, name: &str, mode: u32, device: (usize, usize), data: &[u8]) {
        self.entries += 1;
        let (links, name_length) = (1, name.len() + 1);
        let mut head = String::from("070701");
        // Inode, mode, owner, group, links, time, size, the file system's device, the entry's own
        // device, the name's length, no checksum.
        let numbers = [
            self.entries,
            mode as usize,
            0,
            0,
            links,
            0,
            data.len(),
            0,
            0,
            device.0,
            device.1,
            name_length,
            0,
        ];
        for number in numbers {
            // Writing to a string cannot fail.
            let _ = write!(head, "{number:08x}");
        }
        self.part(&[head.as_bytes(), name.as_bytes(), b"\0"].concat());
        self.part(data);
    }

    /// Appends a head or data, padded to a whole number of words.
    fn part(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stand_at_whole_words() {
        let archive = archive(b"\x7fELF?", &[]);
        let starts: Vec<usize> = archive
            .windows(6)
            .enumerate()
            .filter(|(_, w)| w == b"070701")
            .map(|(at, _)| at)
            .collect();
        assert_eq!(starts.len(), 5);
        assert!(starts.iter().all(|start| start % 4 == 0) && archive.len().is_multiple_of(4));
        let init = &archive[starts[2]..];
        assert_eq!(&init[6 + 6 * 8..6 + 7 * 8], b"00000005");
        assert!(init[110..].starts_with(b"init\0"));
    }

    #[test]
    fn folders_come_before_what_lies_in_them() {
        let files = BTreeMap::from([
            ("/usr/bin/tool".into(), b"#".to_vec()),
            ("/lib/l.so".into(), b"*".to_vec()),
        ]);
        let archive = super::files(&files);
        let place =
            |name: &[u8]| archive.windows(name.len()).position(|window| window == name).unwrap();
        let names: [&[u8]; 5] =
            [b"\0\0lib\0", b"usr\0", b"usr/bin\0", b"lib/l.so\0", b"usr/bin/tool\0"];
        assert!(names[1..].windows(2).all(|pair| place(pair[0]) < place(pair[1])));
        assert!(archive.len().is_multiple_of(4));
    }
}
