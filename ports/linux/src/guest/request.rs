//! The request, and the program to run in its place, from QEMU's `fw_cfg`: files that the lab names
//! on QEMU's command line. These files are no part of a saved machine, so a restored one reads the
//! files of its present QEMU.

use std::io;

use chronoscope_suite::request::MAX_REQUEST;

use super::board::Board;

/// The file that holds the request.
const REQUEST: &[u8] = b"opt/chronoscope/request";
/// The file with the command of another program, if there is one.
const PROGRAM: &[u8] = b"opt/chronoscope/program";
/// The maximum length of a command, in bytes: more than the lab sends.
const MAX_PROGRAM: usize = 4096;

/// The selector of the directory: a count, then entries, all numbers big-endian.
const DIRECTORY: u16 = 0x19;

/// An entry of the directory.
struct Entry([u8; 64]);

impl Entry {
    fn size(&self) -> usize {
        u32::from_be_bytes([self.0[0], self.0[1], self.0[2], self.0[3]]) as usize
    }

    fn selector(&self) -> u16 {
        u16::from_be_bytes([self.0[4], self.0[5]])
    }

    fn name(&self) -> &[u8] {
        self.0[8..].split(|&byte| byte == 0).next().unwrap_or_default()
    }
}

/// # Errors
/// An error if there is no request, or if it is not UTF-8.
pub fn read(board: &Board) -> io::Result<String> {
    file(board, REQUEST, MAX_REQUEST)?.ok_or_else(|| io::Error::other("fw_cfg holds no request"))
}

/// # Errors
/// An error if the command is not UTF-8.
pub fn program(board: &Board) -> io::Result<Option<String>> {
    file(board, PROGRAM, MAX_PROGRAM)
}

/// Reads the file of this name, if it exists and is not longer than `limit` bytes.
fn file(board: &Board, name: &[u8], limit: usize) -> io::Result<Option<String>> {
    board.select(DIRECTORY);
    let mut count = [0; 4];
    board.read(&mut count);
    let mut entries = (0..u32::from_be_bytes(count)).map(|_| {
        let mut entry = Entry([0; 64]);
        board.read(&mut entry.0);
        entry
    });
    let entry = entries.find(|entry| entry.name() == name && entry.size() <= limit);
    let Some(entry) = entry else { return Ok(None) };
    let mut text = vec![0; entry.size()];
    board.select(entry.selector());
    board.read(&mut text);
    String::from_utf8(text).map(Some).map_err(io::Error::other)
}
