//! Reads a session's `metadata`, an INI file with the sampling rate, the size of a sample and the
//! channels. The samples are read elsewhere.

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use chronoscope_units::{parse_hertz, printable};

/// The widest sample in bytes, for 512 channels.
const WIDEST: usize = 64;

#[derive(Debug, Default, PartialEq)]
pub(super) struct Metadata {
    /// The prefix of the names of the parts.
    pub file: String,
    pub hertz: u64,
    pub unit: usize,
    /// The bit in a sample and the name of each channel.
    pub channels: Vec<(usize, String)>,
}

pub(super) fn parse(text: &str) -> Result<Metadata> {
    let mut metadata = Metadata::default();
    let mut devices = 0;
    let mut in_device = false;
    for (line, text) in text.lines().map(str::trim).enumerate() {
        if let Some(section) = text.strip_prefix('[') {
            in_device = section.starts_with("device");
            devices += usize::from(in_device);
            ensure!(devices < 2, "it holds the samples of several devices: save one of them");
        } else if let (true, Some((key, value))) = (in_device, text.split_once('=')) {
            take(&mut metadata, key.trim(), value.trim())
                .with_context(|| format!("line {}", line + 1))?;
        }
    }
    ensure!(
        !metadata.file.is_empty() && !metadata.channels.is_empty(),
        "it has no digital channels"
    );
    ensure!(
        metadata.hertz > 0,
        "it has no `samplerate`: how far its samples are apart is not known"
    );
    ensure!(
        (1..=WIDEST).contains(&metadata.unit),
        "its `unitsize` is missing, or not from 1 to {WIDEST}"
    );
    let outside = metadata.channels.iter().find(|(bit, _)| *bit >= 8 * metadata.unit);
    if let Some((bit, name)) = outside {
        bail!("{} is bit {bit} of samples that have {}", printable(name), 8 * metadata.unit);
    }
    Ok(metadata)
}

fn take(metadata: &mut Metadata, key: &str, value: &str) -> Result<()> {
    match key {
        "capturefile" => value.clone_into(&mut metadata.file),
        "samplerate" => metadata.hertz = parse_hertz(value)?,
        "unitsize" => metadata.unit = value.parse().unwrap_or_default(),
        _ => {
            let Some(number) = key.strip_prefix("probe") else { return Ok(()) };
            let bit = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let bit = bit.ok_or_else(|| {
                anyhow!("`{}` is no channel's number, which are from 1", printable(number))
            })?;
            ensure!(
                metadata.channels.len() < 8 * WIDEST,
                "it has more than {} channels",
                8 * WIDEST
            );
            let known =
                metadata.channels.iter().any(|(other, name)| *other == bit || name == value);
            ensure!(!known, "{} is there twice", printable(value));
            metadata.channels.push((bit, value.to_owned()));
        }
    }
    Ok(())
}
