//! Reads a session's `metadata`, an INI file with the sampling rate, the size of a sample and the
//! channels. The module reads no samples.

use std::iter;

use chronoscope_units::{QuantityError, parse_hertz, printable};

use crate::error::{Result, ensure, fault, within};

/// The widest sample in bytes, for 512 channels.
const WIDEST: usize = 64;

#[derive(Debug, Default, PartialEq)]
pub(super) struct Metadata {
    /// The prefix of the names of the parts.
    pub file: String,
    /// `None` if the file does not state it.
    pub hertz: Option<u64>,
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
                .map_err(within(format!("line {}", line + 1)))?;
        }
    }
    ensure!(
        !metadata.file.is_empty() && !metadata.channels.is_empty(),
        "it has no digital channels"
    );
    ensure!(
        (1..=WIDEST).contains(&metadata.unit),
        "its `unitsize` is missing, or not from 1 to {WIDEST}"
    );
    // sigrok, too, leaves out probes beyond the sample's last bit.
    let bits = 8 * metadata.unit;
    metadata.channels.retain(|(bit, _)| *bit < bits);
    ensure!(
        !metadata.channels.is_empty(),
        "all of its channels are beyond the {bits} bits of a sample"
    );
    Ok(metadata)
}

fn take(metadata: &mut Metadata, key: &str, value: &str) -> Result<()> {
    match key {
        "capturefile" => value.clone_into(&mut metadata.file),
        "samplerate" => metadata.hertz = Some(rate(value).map_err(|error| fault!("{error}"))?),
        "unitsize" => metadata.unit = value.parse().unwrap_or_default(),
        _ => {
            let Some(number) = key.strip_prefix("probe") else { return Ok(()) };
            let bit = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let bit = bit.ok_or_else(|| {
                fault!("`{}` is no channel's number, which are from 1", printable(number))
            })?;
            ensure!(
                metadata.channels.len() < 8 * WIDEST,
                "it has more than {} channels",
                8 * WIDEST
            );
            let known = |name: &str| metadata.channels.iter().any(|(_, other)| other == name);
            let twice = metadata.channels.iter().any(|(other, _)| *other == bit);
            ensure!(!twice, "probe {} is there twice", bit + 1);
            let value = printable(value);
            let numbered = (2..).map(|number| format!("{value}#{number}"));
            let mut names = iter::once(value.clone()).chain(numbered);
            let name = names.find(|name| !known(name)).unwrap_or_default();
            metadata.channels.push((bit, name));
        }
    }
    Ok(())
}

/// Parses a rate as sigrok does: `2 mHz` and `2 MHZ` are two megahertz.
fn rate(text: &str) -> Result<u64, QuantityError> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let prefix = match unit.to_ascii_lowercase().as_str() {
        "" | "hz" => "",
        "k" | "khz" => "k",
        "m" | "mhz" => "M",
        "g" | "ghz" => "G",
        _ => return parse_hertz(text),
    };
    parse_hertz(&format!("{number}{prefix}Hz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "[global]\n[device 1]\ncapturefile=logic-1\nsamplerate=1 MHz\n\
                           unitsize=1\nprobe1=CLK\nprobe2=DATA\n";

    #[test]
    fn rates_are_read_as_sigrok_reads_them() {
        for (text, hertz) in [
            ("2 mHz", 2_000_000),
            ("2 MHz", 2_000_000),
            ("1 ghz", 1_000_000_000),
            ("500 KHz", 500_000),
            ("12.5k", 12_500),
            ("24000000", 24_000_000),
        ] {
            let session = SESSION.replace("1 MHz", text);
            assert_eq!(parse(&session).unwrap().hertz, Some(hertz), "{text}");
        }
        assert!(parse(&SESSION.replace("1 MHz", "2 parsec")).is_err());
        assert_eq!(parse(&SESSION.replace("samplerate=1 MHz\n", "")).unwrap().hertz, None);
    }

    #[test]
    fn probes_of_one_name_get_numbers() {
        let channels = |text: &str| parse(text).unwrap().channels;
        let twice = SESSION.replace("DATA", "CLK") + "probe3=CLK#2\nprobe4=CLK\n";
        let names: Vec<_> = channels(&twice).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["CLK", "CLK#2", "CLK#2#2", "CLK#3"]);
        let error = parse(&(SESSION.to_owned() + "probe2=X\n")).unwrap_err();
        assert!(format!("{error:#}").contains("probe 2 is there twice"), "{error:#}");
    }

    #[test]
    fn probes_beyond_the_samples_bits_are_left_out() {
        let more = SESSION.to_owned() + "probe8=EIGHT\nprobe9=NINE\nprobe16=SIXTEEN\n";
        let names: Vec<_> = parse(&more).unwrap().channels;
        assert_eq!(names.len(), 3);
        assert_eq!(names[2], (7, "EIGHT".to_owned()));
        let none = SESSION.replace("probe1=", "probe9=").replace("probe2=", "probe10=");
        assert!(parse(&none).unwrap_err().to_string().contains("beyond the 8 bits"));
    }
}
