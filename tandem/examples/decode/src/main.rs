//! Prints the log of a program that logs by `defmt`: reads frames from standard input, and their
//! texts from the program's image, which is the argument.

use std::{
    env, fs,
    io::{self, Read},
};

use anyhow::{Context, Result, bail};
use defmt_decoder::{DecodeError, StreamDecoder, Table};

fn main() -> Result<()> {
    let image = env::args_os().nth(1).context("usage: tandem-decode IMAGE <FRAMES")?;
    let image = fs::read(&image).with_context(|| image.display().to_string())?;
    let table = Table::parse(&image)?.context("the image has no texts of defmt")?;
    let mut decoder = table.new_stream_decoder();
    let mut bytes = [0; 4096];
    loop {
        let count = io::stdin().read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        decoder.received(&bytes[..count]);
        print(&mut *decoder)?;
    }
}

/// Prints the frames that are complete.
fn print(decoder: &mut dyn StreamDecoder) -> Result<()> {
    loop {
        match decoder.decode() {
            Ok(frame) => println!("{}", frame.display(false)),
            Err(DecodeError::UnexpectedEof) => return Ok(()),
            Err(DecodeError::Malformed) => bail!("the log has a frame that is none of the image's"),
        }
    }
}
