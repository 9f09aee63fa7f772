//! The modes of files that hold a user's measurements: nobody else reads them, unless the umask lets
//! others write.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::Path,
};

/// The mode of a new file: 0600. Of a group, or of all others, that the umask lets write, also theirs.
pub fn file_mode() -> u32 {
    mode(umask())
}

/// Makes a folder, and those above it, for files with [`file_mode`]. A folder that exists keeps its
/// mode.
///
/// # Errors
/// If a folder cannot be made.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let file = file_mode();
    // Who may read files may search the folder.
    DirBuilder::new().recursive(true).mode(file | (file & 0o444) >> 2).create(path)
}

fn mode(umask: u32) -> u32 {
    [0o020, 0o002]
        .into_iter()
        .filter(|write| umask & write == 0)
        .fold(0o600, |mode, write| mode | write | write << 1)
}

/// The process' umask; the usual one if the system does not tell.
fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|text| u32::from_str_radix(text.trim(), 8).ok()).unwrap_or(0o022)
}

#[cfg(test)]
mod tests {
    use super::mode;

    #[test]
    fn others_read_what_the_umask_lets_them_write() {
        for (umask, expected) in
            [(0o022, 0o600), (0o077, 0o600), (0o002, 0o660), (0o007, 0o660), (0, 0o666)]
        {
            assert_eq!(mode(umask), expected, "{umask:o}");
        }
    }
}
