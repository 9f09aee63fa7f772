//! The image's own output over serial lines: all of it in a file, its last lines beside the figures.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
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

/// The bytes at the end of a line's output in which the lines that are shown are sought.
const TAIL: u64 = 64 << 10;

/// The bytes that the plugin keeps of a chip's ports, two for each one sent.
const MOST_OF_PORTS: usize = 2 << 22;

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
        let shown = || printable(&self.file.display().to_string());
        let failed = || format!("{} cannot be written", shown());
        let sent = folder.path(SENT);
        if self.ports.is_empty() {
            return self.keep_line(&sent).with_context(failed);
        }
        // Nothing is there if QEMU has ended before the image.
        let sent = fs::read(sent).unwrap_or_default();
        let is_full = sent.len() >= MOST_OF_PORTS;
        let (all, outputs) = self.outputs(&sent);
        fs::write(&self.file, all).with_context(failed)?;
        let full = "serial ports: only the first 4 MiB that they sent are kept".to_owned();
        let lines = outputs.iter().flat_map(|(port, bytes)| notes(port, bytes, false));
        Ok(lines.chain(is_full.then_some(full)).collect())
    }

    /// Copies the output of the machine's own port, however long it is.
    fn keep_line(&self, sent: &Path) -> io::Result<Vec<String>> {
        let mut file = File::create(&self.file)?;
        let Ok(mut sent) = File::open(sent) else { return Ok(Vec::new()) };
        let length = io::copy(&mut sent, &mut file)?;
        let start = length.saturating_sub(TAIL);
        sent.seek(SeekFrom::Start(start))?;
        let mut tail = Vec::new();
        sent.take(TAIL).read_to_end(&mut tail)?;
        Ok(notes("serial line", &tail, start > 0))
    }

    /// All bytes in the order of time, and the bytes of each port that has sent some.
    fn outputs(&self, sent: &[u8]) -> (Vec<u8>, Vec<Output<'_>>) {
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

/// The last lines of a port's output, or of its end if it `is_cut`.
fn notes(port: &str, bytes: &[u8], is_cut: bool) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let before = lines.len().saturating_sub(MOST_LINES);
    let more = match is_cut {
        true => Some(format!("{port}: many lines, then")),
        false => (before > 0).then(|| format!("{port}: {before} lines, then")),
    };
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
            console.outputs(&sent.iter().flat_map(|pair| [pair.0, pair.1]).collect::<Vec<_>>());
        assert_eq!(all, b"ax\nb?");
        assert_eq!(outputs, [("USART1", b"x".to_vec()), ("USART2", b"a\nb".to_vec())]);
        assert_eq!(notes("USART2", &outputs[1].1, false), ["USART2: a", "USART2: b"]);
    }

    #[test]
    fn many_lines_and_long_ones_are_cut() {
        let text = format!("{}\r\n\r\n{}\u{1b}[2J", "0\r\n".repeat(9), "y".repeat(75));
        let shown = notes("serial line", text.as_bytes(), false);
        assert_eq!(shown.len(), 1 + MOST_LINES);
        assert_eq!(shown[0], "serial line: 2 lines, then");
        assert_eq!(shown[MOST_LINES], format!("serial line: {}\u{fffd}[2J", "y".repeat(75)));
    }

    #[test]
    fn a_long_output_is_copied_and_its_last_lines_are_shown() {
        let (from, to) = (Folder::new().unwrap(), Folder::new().unwrap());
        let kept = |part, sent: &[u8]| {
            fs::write(from.path(SENT), sent).unwrap();
            let console = Console::new(&to.path("out"), &Table::read(), part).unwrap();
            let notes = console.keep(&from).unwrap();
            (fs::read(to.path("out")).unwrap(), notes)
        };
        let long = "0123456789abcde\n".repeat(5000);
        let (all, lines) = kept(None, format!("{long}z").as_bytes());
        assert_eq!((all.len(), lines.len()), (80_001, 1 + MOST_LINES));
        assert_eq!(
            (&*lines[0], &*lines[MOST_LINES]),
            ("serial line: many lines, then", "serial line: z")
        );
        let (all, lines) = kept(Some("stm32f405"), &[0, b'x'].repeat(MOST_OF_PORTS / 2));
        assert_eq!(all.len(), 4 << 20);
        assert!(
            lines.last().is_some_and(|line| line.contains("only the first 4 MiB")),
            "{lines:?}"
        );
    }

    #[test]
    fn a_folder_is_no_file() {
        for wrong in ["/", "/no/such/folder/out"] {
            let error = Console::new(Path::new(wrong), &Table::read(), None).err().unwrap();
            assert!(error.to_string().contains("name a file in a folder"), "{error}");
        }
    }
}
