#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use anyhow::{Result, bail};

/// Units of time that may be written, and their length in ns.
const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Reads `50 us`, `1.5ms`; the result is in ns.
///
/// # Errors
/// When there is no number, no unit, or the number is not positive.
pub fn parse_time(text: &str) -> Result<f64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..split].trim(), &text[split..]);
    let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        bail!("`{text}` is not a time: write a number and ns, us, ms or s");
    };
    match number.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number * scale),
        _ => bail!("`{text}` is not a time: `{number}` is not a number"),
    }
}

/// Rates that may be written, and how many hertz they are.
const RATES: [(&str, f64); 5] = [("", 1.0), ("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)];

/// Reads `84MHz`, `2.5 kHz`, `24000000`; the result is in hertz, which must be whole.
///
/// # Errors
/// When there is no number, no known unit, or no whole number of hertz above zero.
pub fn parse_hertz(text: &str) -> Result<u64> {
    let shown = printable(text);
    let text = text.trim();
    let split = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..split].trim(), &text[split..]);
    let scale = RATES.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let (Some(scale), Ok(number)) = (scale, number.parse::<f64>()) else {
        bail!("`{shown}` is not a rate: write a number and Hz, kHz, MHz or GHz");
    };
    // 2.4 times a million is a hair off in binary.
    let (hertz, whole) = (number * scale, (number * scale).round());
    if !(1.0..1e15).contains(&whole) || (hertz - whole).abs() > 1e-9 * whole {
        bail!(
            "`{shown}` is not a rate that can be counted: it must be a whole number of hertz, from 1"
        );
    }
    Ok(whole as u64)
}

/// A value of `unit` with three significant digits: ns are scaled, everything else is left as it is.
pub fn show(value: f64, unit: &str) -> String {
    let (name, size) = scale(value, unit);
    let number = digits(value / size);
    if name.is_empty() { number } else { format!("{number} {name}") }
}

/// A range in the unit that `like` is shown in, which stands beside it: `2.85…2.95`.
pub fn show_range(low: f64, high: f64, like: f64, unit: &str) -> String {
    let (_, size) = scale(like, unit);
    format!("{}…{}", digits(low / size), digits(high / size))
}

/// Many values in one unit, which is told once, after them; `?` where there is none.
pub fn show_all(values: &[Option<f64>], unit: &str) -> String {
    let (unit, size) = scale(values.iter().flatten().copied().fold(0.0, f64::max), unit);
    let shown =
        values.iter().map(|value| value.map_or("?".to_owned(), |value| digits(value / size)));
    format!("{} {unit}", shown.collect::<Vec<_>>().join(" ")).trim_end().to_owned()
}

/// The unit that a value is best shown in, and its size. What would be rounded to 1000 of a unit is one of the next.
pub fn scale(value: f64, unit: &str) -> (&str, f64) {
    match (unit, value.abs()) {
        ("ns", size) if size >= 0.9995e9 => ("s", 1e9),
        ("ns", size) if size >= 0.9995e6 => ("ms", 1e6),
        ("ns", size) if size >= 0.9995e3 => ("µs", 1e3),
        ("count", _) => ("", 1.0),
        _ => (unit, 1.0),
    }
}

/// Three significant digits, but whole numbers in full.
pub fn digits(value: f64) -> String {
    match value.abs() {
        _ if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Counts in full: 5004 and 5000 must not look the same. What is less than a hundred may be a ratio.
pub fn count(value: f64) -> String {
    if value.abs() < 100.0 { digits(value) } else { format!("{value:.0}") }
}

/// Text from elsewhere on one line: names may have line breaks, and a terminal would obey other controls.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(parse_time("50 us").unwrap(), 50_000.0);
        assert_eq!(parse_time("1.5ms").unwrap(), 1_500_000.0);
        assert_eq!(parse_time(" 2 s ").unwrap(), 2e9);
        for wrong in ["", "50", "us", "-3 us", "nan us", "1e999 s", "5 minutes"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_are_read() {
        let read = ["84MHz", "2.4 MHz", "24000000", "1 Hz", "1GHz", "12.5kHz"]
            .map(|text| parse_hertz(text).unwrap());
        assert_eq!(read, [84_000_000, 2_400_000, 24_000_000, 1, 1_000_000_000, 12_500]);
        for wrong in
            ["", "MHz", "0", "0.5 Hz", "-2 MHz", "nan", "inf GHz", "1e99", "2 mHz", "2 MHz!"]
        {
            assert!(parse_hertz(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_shown() {
        let shown = [4.6, 99.96, 2_897.0, 50_061_000.0, 2e9].map(|value| show(value, "ns"));
        assert_eq!(shown, ["4.60 ns", "100 ns", "2.90 µs", "50.1 ms", "2 s"]);
        assert_eq!(
            [999.4, 999.6, 999_600.0].map(|value| show(value, "ns")),
            ["999 ns", "1.00 µs", "1.00 ms"]
        );
        assert_eq!(show_range(985.0, 1_120.0, 1_050.0, "ns"), "0.985…1.12");
        assert_eq!(show(0.98, ""), "0.980");
        assert_eq!(show_all(&[Some(950.0), None, Some(2_897.0)], "ns"), "0.950 ? 2.90 µs");
        assert_eq!(show(41.0, "instructions"), "41 instructions");
    }
}
