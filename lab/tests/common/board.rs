//! A board that a test plays, at the other end of a pseudo-terminal.

use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    thread,
    time::Duration,
};

use rustix::{
    io::Errno,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{OptionalActions, tcgetattr, tcsetattr},
};

/// A board that answers requests by a function of the test; when that returns `None`, the board
/// ends.
pub struct Board {
    pub device: String,
}

impl Board {
    /// Starts a board. `answer` takes the number of earlier requests and the request.
    pub fn new(mut answer: impl FnMut(usize, &str) -> Option<Vec<u8>> + Send + 'static) -> Self {
        let board = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&board).unwrap();
        unlockpt(&board).unwrap();
        // Echo is off from the start, as on a UART: a terminal server restores the settings that it
        // found when it closes the line.
        let mut settings = tcgetattr(&board).unwrap();
        settings.make_raw();
        tcsetattr(&board, OptionalActions::Now, &settings).unwrap();
        let device = ptsname(&board, Vec::new()).unwrap().into_string().unwrap();
        let mut board = File::from(board);
        thread::spawn(move || {
            let (mut line, mut requests) = (Vec::new(), 0);
            loop {
                let mut byte = [0];
                match board.read(&mut byte) {
                    // No program has the line open.
                    Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                        thread::sleep(Duration::from_millis(2));
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => panic!("{error}"),
                    Ok(_) if byte != *b"\n" => line.push(byte[0]),
                    Ok(_) if line.is_empty() => {}
                    Ok(_) => {
                        let request = String::from_utf8(std::mem::take(&mut line)).unwrap();
                        let Some(answer) = answer(requests, &request) else { return };
                        board.write_all(&answer).unwrap();
                        requests += 1;
                    }
                }
            }
        });
        Self { device }
    }

    pub fn target(&self, kernel: &str) -> String {
        format!("{kernel}@serial:{}", self.device)
    }
}
