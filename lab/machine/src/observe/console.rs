//! The image's own output over serial lines: all of it in a file, its last lines beside the figures.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use chronoscope_child::Folder;
use chronoscope_chips::{Kind, Table};
use chronoscope_units::printable;

use crate::qemu::chip::quoted;

/// The file of what serial ports have sent, in the temporary folder.
const SENT: &str = "console";

/// The lines of a port that are shown, and the characters of a line.
const MOST_LINES: usize = 8;
const LONGEST_LINE: usize = 80;

/// The file that takes the output, and where it comes from.
pub struct Console {
    file: PathBuf,
    /// The names of the chip's serial ports; none if the machine's own one is read.
    ports: Vec<String>,
}

/// A port's output.
type Output<'p> = (&'p str, Vec<u8>);

impl Console {
    /// The output of a chip's serial ports, or of the machine's first one.
    ///
    /// # Errors
    /// The file can be none.
    pub fn new(file: &Path, table: &Table, part: Option<&str>) -> Result<Self> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        if file.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
            let shown = printable(&file.display().to_string());
            bail!("--console {shown} cannot be written: name a file in a folder that is there");
        }
        let devices = part.into_iter().flat_map(|part| table.devices(part));
        let ports = devices.filter(|device| matches!(device.kind, Kind::Uart { .. }));
        let ports = ports.map(|device| device.name.clone()).collect();
        Ok(Self { file: file.to_owned(), ports })
    }

    /// The plugin's option.
    pub fn option(&self, folder: &Folder) -> String {
        format!(",console={}", quoted(&folder.path(SENT)))
    }

    /// The connection of the machine's first serial port.
    pub fn serial(&self, folder: &Folder) -> String {
        match self.ports.is_empty() {
            true => format!("file:{}", quoted(&folder.path(SENT))),
            false => super::NOWHERE.to_owned(),
        }
    }

    /// Writes the file, and returns the lines that are shown.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, folder: &Folder) -> Result<Vec<String>> {
        // Nothing is there if QEMU has ended before the image.
        let sent = fs::read(folder.path(SENT)).unwrap_or_default();
        let (all, outputs) = self.outputs(sent);
        let shown = || printable(&self.file.display().to_string());
        fs::write(&self.file, all).with_context(|| format!("{} cannot be written", shown()))?;
        Ok(outputs.iter().flat_map(|(port, bytes)| notes(port, bytes)).collect())
    }

    /// All bytes in the order of time, and the bytes of each port that has sent some.
    fn outputs(&self, sent: Vec<u8>) -> (Vec<u8>, Vec<Output<'_>>) {
        if self.ports.is_empty() {
            return (sent.clone(), vec![("serial line", sent)]);
        }
        let pairs = || sent.chunks_exact(2).map(|pair| (usize::from(pair[0]), pair[1]));
        let mut outputs: Vec<Output<'_>> =
            self.ports.iter().map(|name| (name.as_str(), Vec::new())).collect();
        for (port, byte) in pairs() {
            if let Some((_, bytes)) = outputs.get_mut(port) {
                bytes.push(byte);
            }
        }
        outputs.retain(|(_, bytes)| !bytes.is_empty());
        (pairs().map(|(_, byte)| byte).collect(), outputs)
    }
}

/// The last lines of a port's output.
fn notes(port: &str, bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let before = lines.len().saturating_sub(MOST_LINES);
    let more = (before > 0).then(|| format!("{port}: {before} lines, then"));
    let line = |line: &&str| {
        let cut: String = line.trim_end().chars().take(LONGEST_LINE).collect();
        format!("{port}: {}", printable(&cut))
    };
    more.into_iter().chain(lines[before..].iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn console(part: Option<&str>) -> Console {
        Console::new(Path::new("out"), &Table::read(), part).unwrap()
    }

    #[test]
    fn each_port_has_its_own_lines() {
        let console = console(Some("stm32f405"));
        let [first, second] = [&*console.ports[0], &*console.ports[1]];
        assert_eq!((first, second), ("USART1", "USART2"));
        // A number that no port has is left out of the notes.
        let sent = [(1, b'a'), (0, b'x'), (1, b'\n'), (1, b'b'), (200, b'?')];
        let (all, outputs) =
            console.outputs(sent.iter().flat_map(|pair| [pair.0, pair.1]).collect());
        assert_eq!(all, b"ax\nb?");
        assert_eq!(outputs, [("USART1", b"x".to_vec()), ("USART2", b"a\nb".to_vec())]);
        assert_eq!(notes("USART2", &outputs[1].1), ["USART2: a", "USART2: b"]);
    }

    #[test]
    fn many_lines_and_long_ones_are_cut() {
        let text = format!("{}\r\n\r\n{}\u{1b}[2J", "0\r\n".repeat(9), "y".repeat(75));
        let shown = notes("serial line", text.as_bytes());
        assert_eq!(shown.len(), 1 + MOST_LINES);
        assert_eq!(shown[0], "serial line: 2 lines, then");
        assert_eq!(shown[MOST_LINES], format!("serial line: {}\u{fffd}[2J", "y".repeat(75)));
        let console = console(None);
        let (_, outputs) = console.outputs(b"z".to_vec());
        assert_eq!(outputs, [("serial line", b"z".to_vec())]);
    }

    #[test]
    fn a_folder_is_no_file() {
        for wrong in ["/", "/no/such/folder/out"] {
            let error = Console::new(Path::new(wrong), &Table::read(), None).err().unwrap();
            assert!(error.to_string().contains("name a file in a folder"), "{error}");
        }
    }
}
