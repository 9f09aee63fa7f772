#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod file;
pub mod ladder;
mod password;
mod text;
pub mod words;

pub use password::{without_password, without_passwords, word_without_passwords};
pub use text::{LONGEST, OneLine, Text};

use std::time::Duration;

/// The reason why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// A time without a known unit.
    #[error("`{0}` is not a time: write a number and ns, us, ms or s")]
    TimeUnit(String),
    /// A time whose number is missing, negative or infinite.
    #[error("`{0}` is not a time: `{1}` is not a number")]
    TimeNumber(String, String),
    /// A rate without a number, or with an unknown unit.
    #[error("`{0}` is not a rate: write a number and Hz, kHz, MHz or GHz")]
    Rate(String),
    /// A rate that is not a whole number of hertz from 1.
    #[error("`{0}` is not a rate that can be counted: it must be a whole number of hertz, from 1")]
    Uncountable(String),
}

/// The units of time that [`parse_time`] knows, and their length in ns.
const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Parses a time such as `50 us` or `1.5ms`; returns ns.
///
/// # Errors
/// If the number or the unit is missing, or the number is negative or infinite.
pub fn parse_time(text: &str) -> Result<f64, QuantityError> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..split].trim(), &text[split..]);
    let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(QuantityError::TimeUnit(printable(text)));
    };
    match number.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number * scale),
        _ => Err(QuantityError::TimeNumber(printable(text), printable(number))),
    }
}

/// The units of rate that [`parse_hertz`] knows, and their size in hertz.
const RATES: [(&str, f64); 5] = [("", 1.0), ("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)];

/// Parses a rate such as `84MHz`, `2.5 kHz` or `24000000`; returns hertz.
///
/// # Errors
/// If the number is missing, the unit is unknown, or the rate is not a whole number of hertz from
/// 1.
pub fn parse_hertz(text: &str) -> Result<u64, QuantityError> {
    let shown = printable(text);
    let text = text.trim();
    let split = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..split].trim(), &text[split..]);
    let scale = RATES.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let (Some(scale), Ok(number)) = (scale, number.parse::<f64>()) else {
        return Err(QuantityError::Rate(shown));
    };
    // The binary product of 2.4 and a million is not exactly whole.
    let (hertz, whole) = (number * scale, (number * scale).round());
    if !(1.0..1e15).contains(&whole) || (hertz - whole).abs() > 1e-9 * whole {
        return Err(QuantityError::Uncountable(shown));
    }
    Ok(whole as u64)
}

/// Formats a waiting time, rounded up: `45 s`, `12 min`, `3 h`.
pub fn rough_time(time: Duration) -> String {
    let seconds = time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0));
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// Formats a value with three significant digits and its unit. Nanoseconds are scaled to the best
/// unit of time; other units are kept.
pub fn show(value: f64, unit: &str) -> String {
    let (name, size) = scale(value, unit);
    let number = digits(value / size);
    if name.is_empty() { number } else { format!("{number} {name}") }
}

/// Formats a value as [`show`] does, with as many decimals more as tell it from `other`, if the two differ:
/// `50.04 µs` beside 50 µs.
pub fn show_apart(value: f64, other: f64, unit: &str) -> String {
    let (name, size) = scale(value, unit);
    let usual = digits(value / size);
    let least = usual.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let differ = |decimals: &usize| {
        let [one, two] = [value, other].map(|value| format!("{:.decimals$}", value / size));
        one != two
    };
    // A whole number is exact as it is. Two others may differ beyond all decimals that are worth reading.
    let is_whole = (value / size).fract() == 0.0;
    let decimals = (least..least + 9).find(differ).filter(|_| !is_whole).unwrap_or(least);
    let number = if decimals == least { usual } else { format!("{:.decimals$}", value / size) };
    if name.is_empty() { number } else { format!("{number} {name}") }
}

/// Formats a value beside its bound: the value as [`show_apart`] does, and the bound as [`show`] does, with as
/// many decimals more as leave it on its side of the shown value: `1.6460 µs` above `1.6455 µs`.
pub fn show_both(value: f64, bound: f64, unit: &str) -> [String; 2] {
    let shown = show_apart(value, bound, unit);
    let (name, size) = scale(bound, unit);
    let read = |number: &str| number.parse().unwrap_or(f64::NAN);
    let number = shown.split(' ').next().unwrap_or_default();
    let seen = read(number) * scale(value, unit).1;
    let is_on_its_side = |text: &String| {
        let bound_seen = read(text) * size;
        value.partial_cmp(&bound) == seen.partial_cmp(&bound_seen)
    };
    let usual = digits(bound / size);
    let least = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let longer = (least..least + 9).map(|decimals| format!("{:.decimals$}", bound / size));
    let text = [usual.clone()].into_iter().chain(longer).find(is_on_its_side).unwrap_or(usual);
    let text = if name.is_empty() { text } else { format!("{text} {name}") };
    [shown, text]
}

/// Formats a ratio with `decimals` decimals, and with more where it would look like 0 or like 1: three
/// digits below a tenth, as `0.0000244`, and near 1 as many as tell it from 1, as `1.0002`.
pub fn show_ratio(ratio: f64, decimals: usize) -> String {
    if ratio == 0.0 {
        return "0".to_owned();
    }
    if (1e-9..0.1).contains(&ratio) {
        let zeros = -ratio.log10().floor() as usize;
        let decimals = decimals.max(zeros + 2);
        return format!("{ratio:.decimals$}");
    }
    if (0.0..1e-9).contains(&ratio) {
        return format!("{ratio:.2e}");
    }
    let is_apart =
        |decimals: &usize| format!("{ratio:.decimals$}") != format!("{:.decimals$}", 1.0);
    let decimals = (decimals..decimals + 9).find(is_apart).unwrap_or(decimals);
    format!("{ratio:.decimals$}")
}

/// Formats a range in the unit in which `show` gives `like`, without naming the unit: `2.85…2.95`.
pub fn show_range(low: f64, high: f64, like: f64, unit: &str) -> String {
    let (_, size) = scale(like, unit);
    format!("{}…{}", digits(low / size), digits(high / size))
}

/// Formats a value with two significant digits and its unit, as [`show`] does with three.
pub fn show_two(value: f64, unit: &str) -> String {
    let (_, size) = scale(value, unit);
    let (name, size) = scale(two_digits(value / size) * size, unit);
    format!("{} {name}", two(value / size)).trim_end().to_owned()
}

/// Formats a range with two significant digits, as `20–48 µs`. Both ends are in the unit that suits
/// the upper one. They must not be negative.
pub fn show_between(low: f64, high: f64, unit: &str) -> String {
    let (_, size) = scale(high, unit);
    let (name, size) = scale(two_digits(high / size) * size, unit);
    format!("{}–{} {name}", two(low / size), two(high / size)).trim_end().to_owned()
}

/// Rounds to two significant digits.
fn two_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let step = 10_f64.powi(value.abs().log10().floor() as i32 - 1);
    (value / step).round() * step
}

fn two(value: f64) -> String {
    let value = two_digits(value);
    match value.abs() {
        size if size >= 9.95 || size == 0.0 => format!("{value:.0}"),
        size if size >= 0.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Formats values in a common unit, named once after them; a missing value is `?`.
pub fn show_all(values: &[Option<f64>], unit: &str) -> String {
    let (unit, size) = scale(values.iter().flatten().copied().fold(0.0, f64::max), unit);
    let shown =
        values.iter().map(|value| value.map_or("?".to_owned(), |value| digits(value / size)));
    format!("{} {unit}", shown.collect::<Vec<_>>().join(" ")).trim_end().to_owned()
}

/// Returns the unit in which a value is best shown, and its size. A value that would round to 1000
/// of a unit is shown in the next.
pub fn scale(value: f64, unit: &str) -> (&str, f64) {
    match (unit, value.abs()) {
        ("ns", size) if size >= 0.9995e9 => ("s", 1e9),
        ("ns", size) if size >= 0.9995e6 => ("ms", 1e6),
        ("ns", size) if size >= 0.9995e3 => ("µs", 1e3),
        ("count", _) => ("", 1.0),
        _ => (unit, 1.0),
    }
}

/// Formats three significant digits; whole numbers below 1e15 in full.
pub fn digits(value: f64) -> String {
    match value.abs() {
        _ if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Formats a count in full, so that 5004 and 5000 look different. Values below a hundred may be
/// ratios and have three significant digits.
pub fn count(value: f64) -> String {
    if value.abs() < 100.0 { digits(value) } else { format!("{value:.0}") }
}

/// Makes foreign text safe to print on one line: each [unprintable](is_unprintable) character
/// becomes U+FFFD.
pub fn printable(text: &str) -> String {
    let shown = |c| if is_unprintable(c) { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(shown).collect()
}

/// Makes a document of many lines safe to show: each [unprintable](is_unprintable) character but the
/// end of a line becomes U+FFFD, and a tab becomes a space.
pub fn printable_document(text: String) -> String {
    let is_safe = |c| c == '\n' || !is_unprintable(c);
    if text.chars().all(is_safe) {
        return text;
    }
    let shown = |c| match c {
        '\t' => ' ',
        c if is_safe(c) => c,
        _ => char::REPLACEMENT_CHARACTER,
    };
    text.chars().map(shown).collect()
}

/// Returns whether a character is no visible text: controls, which a terminal obeys (C0, C1 and
/// DEL), separators of lines, marks that change the direction of the text around them, and
/// noncharacters, which XML forbids.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fdd0}'..='\u{fdef}')
        || matches!(u32::from(c) & 0xffff, 0xfffe | 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_rounded_up() {
        let table = [
            (0.0, "0 s"),
            (0.2, "1 s"),
            (119.0, "119 s"),
            (120.0, "2 min"),
            (121.0, "3 min"),
            (7199.0, "120 min"),
            (7200.0, "2 h"),
            (7200.5, "3 h"),
        ];
        for (seconds, words) in table {
            assert_eq!(rough_time(Duration::from_secs_f64(seconds)), words);
        }
        assert!(rough_time(Duration::MAX).ends_with(" h"));
    }

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
    fn unprintable_characters_are_replaced() {
        let hostile = "a\u{1b}[2J\u{9b}31m\r\n\t\0\u{7f}\u{85}\u{202e}\u{2066}\u{2028}\u{ffff}b";
        let shown = printable(hostile);
        assert!(!shown.chars().any(is_unprintable), "{shown:?}");
        assert_eq!(shown.chars().count(), hostile.chars().count());
        assert_eq!(printable("µs, 3 × ÄÖ → 日本 \u{fffd}"), "µs, 3 × ÄÖ → 日本 \u{fffd}");
    }

    #[test]
    fn values_that_differ_look_different() {
        for (value, other, unit, expected) in [
            (50_000.0, 50_000.0, "ns", "50 µs"),
            (50_040.0, 50_000.0, "ns", "50.04 µs"),
            (1_630.0, 1_640.0, "ns", "1.63 µs"),
            (1_643.0, 1_640.0, "ns", "1.643 µs"),
            (1_000.0, 1_100.0, "ns", "1 µs"),
            (254.0, 253.0, "instructions", "254 instructions"),
            (2.0, f64::INFINITY, "", "2"),
            (f64::INFINITY, 2.0, "ns", "inf s"),
            (1.0 + f64::EPSILON, 1.0, "", "1.00"),
        ] {
            assert_eq!(show_apart(value, other, unit), expected, "{value} beside {other}");
        }
    }

    #[test]
    fn a_bound_is_on_its_side_of_the_value() {
        for (value, bound, unit, expected) in [
            (50_000.0, 50_000.0, "ns", ["50 µs", "50 µs"]),
            (50_040.0, 50_000.0, "ns", ["50.04 µs", "50 µs"]),
            (1_643.0, 1_640.0, "ns", ["1.643 µs", "1.64 µs"]),
            (1_646.0, 1_645.25, "ns", ["1.646 µs", "1.645 µs"]),
            (1_640.0, 1_640.4, "ns", ["1.6400 µs", "1.6404 µs"]),
            (1_000.0, 1_000.4, "ns", ["1 µs", "1.0004 µs"]),
            (254.0, 253.75, "cycles", ["254 cycles", "253.8 cycles"]),
            (184.3, 184.0, "cycles", ["184.3 cycles", "184 cycles"]),
            (999.0, 1_004.0, "ns", ["999 ns", "1.00 µs"]),
            (2.0, f64::INFINITY, "", ["2", "inf"]),
        ] {
            assert_eq!(show_both(value, bound, unit), expected, "{value} beside {bound}");
        }
    }

    #[test]
    fn a_ratio_looks_like_0_or_1_only_if_it_is() {
        for (ratio, decimals, expected) in [
            (0.0, 3, "0"),
            (2.0 / 82_000.0, 3, "0.0000244"),
            (0.0246, 3, "0.0246"),
            (0.0999, 2, "0.0999"),
            (1e-12, 3, "1.00e-12"),
            (0.5, 3, "0.500"),
            (1.0, 2, "1.00"),
            (46_010.0 / 46_000.0, 2, "1.0002"),
            (0.99996, 3, "0.99996"),
            (1.15, 2, "1.15"),
            (4.0, 3, "4.000"),
        ] {
            assert_eq!(show_ratio(ratio, decimals), expected, "{ratio}");
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
        let two = [2_897.0, 99.6, 9.96, 996_000.0, 123.0, 41_200_000.0, 0.0, -3_140.0]
            .map(|value| show_two(value, "ns"));
        let expected =
            ["2.9 µs", "100 ns", "10 ns", "1.0 ms", "120 ns", "41 ms", "0 ns", "-3.1 µs"];
        assert_eq!(two, expected);
        assert_eq!(show_between(19_700.0, 48_100.0, "ns"), "20–48 µs");
        assert_eq!(show_between(850.0, 1_230.0, "ns"), "0.85–1.2 µs");
        assert_eq!(show_between(98.0, 996.0, "ns"), "0.10–1.0 µs");
        assert_eq!(show_all(&[Some(950.0), None, Some(2_897.0)], "ns"), "0.950 ? 2.90 µs");
        assert_eq!(show(41.0, "instructions"), "41 instructions");
    }
}
