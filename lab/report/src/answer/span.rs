//! Values of an answer with their digits: a value that repetitions agree on, or the range of them.
//! Also the words of ratios and counts. It knows series and cases, but no study.

use chronoscope_run::{CaseResult, SeriesResult, Statistic, Unit};
use chronoscope_suite::spec::Better;
use chronoscope_units::{self as units, digits, show};

/// Half the range of the repetitions, relative to the figure, up to which a figure is written as a
/// value, and not as the range.
const AGREED: f64 = 0.1;

/// A no-break space, which keeps a number and its unit on one line.
const TIE: &str = "\u{a0}";

/// The figures of one or several cases, from the least to the greatest of their repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The least figure of a repetition.
    pub low: f64,
    /// The greatest figure of a repetition.
    pub high: f64,
    /// The figure over all repetitions; `None` for several cases.
    pub value: Option<f64>,
    /// The unit, as [`units::show`] takes it.
    pub unit: String,
    /// The digits that the medians of the repetitions agree on allow three digits.
    pub exact: bool,
}

impl Span {
    /// The figures of a statistic of a series over its repetitions, without the nominal part.
    pub fn of_series(series: &SeriesResult, statistic: &Statistic) -> Option<Self> {
        let value = statistic.of_series(series)?;
        let of_repetition = statistic.headline.filter(|_| series.unit == Unit::Nanoseconds);
        let each: Vec<f64> = match of_repetition {
            Some(of) => series.by_repetition.iter().filter_map(of).collect(),
            None => Vec::new(),
        };
        let unit = if statistic.is_in_unit() { series.unit.name() } else { "" };
        Some(Self {
            low: each.iter().copied().fold(value, f64::min),
            high: each.iter().copied().fold(value, f64::max),
            value: Some(value),
            unit: unit.to_owned(),
            exact: agrees(series),
        })
    }

    /// The figures of a case by the name of a statistic or figure, for one series.
    pub fn of_case(case: &CaseResult, series: Option<&SeriesResult>, name: &str) -> Option<Self> {
        if let Some(figure) = case.figure(name) {
            return Some(Self {
                low: figure.min,
                high: figure.max,
                value: Some(figure.value),
                unit: figure.unit.to_string(),
                exact: true,
            });
        }
        let statistic = Statistic::find(name)?;
        match series {
            Some(series) if statistic.is_of_series() => Self::of_series(series, statistic),
            _ => {
                let value = statistic.of_row(case.slope.as_ref(), series)?;
                let unit = String::new();
                Some(Self { low: value, high: value, value: Some(value), unit, exact: true })
            }
        }
    }

    /// The span of both; `None` if their units differ.
    pub fn and(self, other: &Self) -> Option<Self> {
        (self.unit == other.unit).then(|| Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            value: None,
            exact: self.exact && other.exact,
            unit: self.unit,
        })
    }

    /// The worst end alone: of several worst figures, one is the worst.
    pub fn worst(self, better: &Better) -> Self {
        let worst = match better {
            Better::Less => self.high,
            Better::More => self.low,
        };
        Self { low: worst, high: worst, value: Some(worst), ..self }
    }

    /// The value, or the upper end of several cases.
    pub fn number(&self) -> f64 {
        self.value.unwrap_or(self.high)
    }

    fn middle(&self) -> f64 {
        self.value.unwrap_or(f64::midpoint(self.low, self.high))
    }

    /// Returns whether all is within a tenth of the value, or of the middle of several cases.
    pub fn agrees(&self) -> bool {
        (self.high - self.low) / 2.0 <= AGREED * self.middle().abs()
    }

    /// The value where the repetitions agree on it, else their range: `31 µs`, `20–48 µs`,
    /// `16 ns to 3.4 µs`.
    pub fn words(&self) -> String {
        if self.agrees() {
            return amount(self.middle(), &self.unit, self.exact);
        }
        between(self.low, self.high, &self.unit)
    }
}

/// The units that are words, and stand once for many numbers.
pub const LONG: [&str; 2] = ["instructions", "cycles"];

/// Returns whether a unit is written once for a table or a picture, and not beside each number.
pub fn is_long(unit: &str) -> bool {
    LONG.contains(&unit)
}

/// The number of an amount, without a unit that stands elsewhere.
pub fn bare(amount: &str, unit: &str) -> String {
    let number = amount.strip_suffix(unit).filter(|_| is_long(unit));
    number.map_or(amount, str::trim_end).to_owned()
}

/// A time in ns as a number of µs, with three digits.
pub fn micros(time: f64) -> String {
    let decimals = if time >= 9_995.0 { 1 } else { 2 };
    format!("{:.decimals$}", time / 1e3)
}

/// A range with its unit: `20–48 µs`, `16 ns to 3.4 µs`.
pub fn between(low: f64, high: f64, of: &str) -> String {
    let ((low_unit, low_size), (unit, size)) = (units::scale(low, of), units::scale(high, of));
    if low_unit == unit || low == 0.0 {
        let unit = if unit.is_empty() { String::new() } else { format!("{TIE}{unit}") };
        format!("{}–{}{unit}", few(low / size), few(high / size))
    } else {
        let low = format!("{}{TIE}{low_unit}", few(low / low_size));
        format!("{low} to {}{TIE}{unit}", few(high / size))
    }
}

/// Returns whether the median of a series is one of several values by chance, so that its mean stands
/// in its place: on a deterministic target, start states or samples differ in a few values.
pub fn is_average(case: &CaseResult, series: &SeriesResult) -> bool {
    case.is_deterministic() && series.is_many_valued()
}

/// Returns whether the interval of a series' median is within a tenth of the median. Without an
/// interval, the range of the repetitions' medians is taken.
pub fn agrees(series: &SeriesResult) -> bool {
    let Some(p50) = series.summary.p50 else { return false };
    let (low, high) = match series.p50_interval {
        Some(ends) => (ends.low, ends.high),
        None => series
            .by_repetition
            .iter()
            .fold((p50, p50), |(low, high), one| (low.min(one.p50), high.max(one.p50))),
    };
    p50 - low <= AGREED * p50.abs() && high - p50 <= AGREED * p50.abs()
}

/// A value with its unit: three digits where `exact`, else no decimal beyond two.
pub fn amount(value: f64, unit: &str, exact: bool) -> String {
    let (name, size) = units::scale(value, unit);
    let number = match (exact, name) {
        (_, "instructions" | "cycles") => grouped(value),
        (true, _) => show(value, unit).split(' ').next().unwrap_or_default().to_owned(),
        (false, _) => few(value / size),
    };
    if name.is_empty() { number } else { format!("{number}{TIE}{name}") }
}

/// A value and its bound, each with its unit, in digits that tell them apart.
pub fn both(value: f64, bound: f64, unit: &str) -> [String; 2] {
    let [of_value, of_bound] = units::show_both(value, bound, unit);
    let words = |number: f64, shown: String| match is_long(unit) && !shown.contains('.') {
        true => amount(number, unit, true),
        false => shown.replacen(' ', TIE, 1),
    };
    [words(value, of_value), words(bound, of_bound)]
}

/// A value with its unit, in digits that tell it from `bound`.
pub fn beside(value: f64, bound: f64, unit: &str) -> String {
    let [value, _] = both(value, bound, unit);
    value
}

/// A number with one decimal below ten, and none above.
fn few(value: f64) -> String {
    match value.abs() {
        size if size >= 9.95 || value.fract() == 0.0 => grouped(value.round()),
        size if size >= 0.095 => format!("{value:.1}"),
        _ => digits(value),
    }
}

/// A whole number with thin spaces between thousands; three digits of a fraction below a hundred.
pub fn grouped(value: f64) -> String {
    if value.fract() != 0.0 && value.abs() < 100.0 {
        return digits(value);
    }
    let whole = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// A number of ticks: whole, or in millions.
pub fn short(value: f64) -> String {
    if value < 1e5 { grouped(value.round()) } else { format!("{}{TIE}M", digits(value / 1e6)) }
}

/// A ratio in a cell: `1.02 ×`, `1.2 ×`, `24 ×`, `>99 ×`, and `1/24` below a tenth.
pub fn ratio(ratio: f64) -> String {
    match ratio {
        0.0 => "0".to_owned(),
        ratio if ratio < 0.095 => format!("1/{}", few(1.0 / ratio)),
        ratio if ratio < 1.05 => format!("{ratio:.2}{TIE}×"),
        ratio if ratio < 9.95 => format!("{ratio:.1}{TIE}×"),
        ratio if ratio <= 99.5 => format!("{ratio:.0}{TIE}×"),
        _ => format!(">99{TIE}×"),
    }
}

/// A ratio in a sentence, which has room for all of it: `24 ×`, `113 ×`.
pub fn multiple(of: f64) -> String {
    if of > 99.5 { format!("{}{TIE}×", grouped(of.round())) } else { ratio(of) }
}

/// A part of the samples, as `256 of 20 000 samples`.
pub fn share_of(part: u64, samples: u64) -> String {
    format!("{} of {} samples", grouped(part as f64), grouped(samples as f64))
}

/// A number and its noun, as `1 case` or `2 cases`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(low: f64, high: f64, unit: &str) -> String {
        let span = Span { low, high, value: None, unit: unit.to_owned(), exact: false };
        span.words().replace('\u{a0}', " ")
    }

    #[test]
    fn a_range_replaces_a_value_that_repetitions_do_not_agree_on() {
        assert_eq!(span(19.7e3, 48.1e3, "ns"), "20–48 µs");
        assert_eq!(span(28e3, 31e3, "ns"), "30 µs");
        assert_eq!(span(15.9, 3420.0, "ns"), "16 ns to 3.4 µs");
        assert_eq!(span(0.0, 3420.0, "ns"), "0–3.4 µs");
        assert_eq!(span(1.9, 2.0, ""), "1.9");
        assert_eq!(span(45.0, 45.0, "instructions"), "45 instructions");
    }

    #[test]
    fn numbers_have_the_digits_that_they_deserve() {
        let plain = |text: String| text.replace(['\u{a0}', '\u{202f}'], " ");
        assert_eq!(plain(amount(27_712.0, "ns", true)), "27.7 µs");
        assert_eq!(plain(amount(185_400.0, "ns", false)), "185 µs");
        assert_eq!(plain(amount(3_121.0, "ns", false)), "3.1 µs");
        assert_eq!(plain(amount(204_159.0, "instructions", true)), "204 159 instructions");
        assert_eq!(
            [0.004, 0.5, 1.024, 1.049, 1.2, 9.94, 24.4, 99.5, 101.0].map(|one| plain(ratio(one))),
            ["1/250", "0.50 ×", "1.02 ×", "1.05 ×", "1.2 ×", "9.9 ×", "24 ×", "100 ×", ">99 ×"]
        );
        assert_eq!([24.4, 101.0].map(|one| plain(multiple(one))), ["24 ×", "101 ×"]);
    }

    #[test]
    fn a_value_and_its_bound_are_told_apart() {
        let plain = |text: String| text.replace(['\u{a0}', '\u{202f}'], " ");
        for (value, bound, unit, expected) in [
            (1_646.0, 1_645.25, "ns", ["1.646 µs", "1.645 µs"]),
            (184.3, 184.0, "cycles", ["184.3 cycles", "184 cycles"]),
            (12_344.6, 20_000.0, "cycles", ["12 345 cycles", "20 000 cycles"]),
        ] {
            assert_eq!(both(value, bound, unit).map(plain), expected);
        }
    }
}
