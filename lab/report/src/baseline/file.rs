//! Reads and writes a baseline as TOML: sorted, a line for each series, without a date, so that a
//! changed figure is a changed line. The meaning of the figures is the parent module's.

use std::{collections::BTreeMap, io::Read as _, path::Path};

use serde::Deserialize;

use super::{Baseline, Key, Machine, Series};
use crate::error::{Error, Result, refuse};
use chronoscope_base::toml_text::from_toml;
use chronoscope_run::{Domain, Unit};
use chronoscope_units::{OneLine, file};

/// The schema version of the file. A file of version 1 holds medians only, and version 2 names no
/// kernels.
const SCHEMA: u32 = 3;

/// The most bytes of a baseline; a larger file is something else.
const MAX_BYTES: u64 = 8 << 20;

const HEAD: &str = "# Figures that later runs are held against: `chronoscope baseline check` reads it, `baseline write` makes it anew.\n";

/// The fields that every schema version has.
#[derive(Deserialize)]
struct Head {
    schema: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "schema")]
    _schema: u32,
    host: Option<OneLine>,
    processor: Option<OneLine>,
    series: Vec<Entry>,
    #[serde(default)]
    kernels: BTreeMap<OneLine, OneLine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    case: OneLine,
    series: OneLine,
    domain: Option<Domain>,
    unit: Unit,
    #[serde(default)]
    min: Vec<f64>,
    #[serde(default)]
    p50: Vec<f64>,
    #[serde(default)]
    mean: Vec<f64>,
    #[serde(default)]
    p99: Vec<f64>,
    #[serde(default)]
    p999: Vec<f64>,
    #[serde(default)]
    max: Vec<f64>,
    #[serde(default)]
    nominal: f64,
    #[serde(default)]
    step: f64,
    reference: Option<f64>,
}

/// Formats the file. Numbers are written in full, so that they read back exactly.
pub fn render(baseline: &Baseline) -> String {
    let mut text = format!("{HEAD}schema = {SCHEMA}\n");
    if let Some(Machine { host, processor }) = &baseline.machine {
        text.push_str(&format!("host = {}\nprocessor = {}\n", quoted(host), quoted(processor)));
    }
    text.push_str("series = [\n");
    for (Key { case, series: name }, series) in &baseline.series {
        let mut fields = vec![("case", quoted(case)), ("series", quoted(name))];
        fields.extend(series.domain.as_ref().map(|domain| ("domain", quoted(domain.name()))));
        fields.push(("unit", quoted(series.unit.name())));
        fields.extend(series.values.iter().map(|(name, values)| {
            let values: Vec<String> = values.iter().map(|value| number(*value)).collect();
            (key(name), format!("[{}]", values.join(", ")))
        }));
        let some = [("nominal", series.nominal), ("step", series.step)]
            .into_iter()
            .filter(|(_, value)| *value != 0.0);
        fields.extend(
            some.chain(series.reference.map(|loops| ("reference", loops)))
                .map(|(name, value)| (name, number(value))),
        );
        let fields: Vec<String> =
            fields.into_iter().map(|(name, value)| format!("{name} = {value}")).collect();
        text.push_str(&format!("  {{ {} }},\n", fields.join(", ")));
    }
    text.push_str("]\n");
    if !baseline.kernels.is_empty() {
        text.push_str("\n[kernels]\n");
        for (target, kernel) in &baseline.kernels {
            text.push_str(&format!("{} = {}\n", quoted(target), quoted(kernel)));
        }
    }
    text
}

/// The key of a statistic. A dot in a bare key would make it two.
fn key(statistic: &'static str) -> &'static str {
    if statistic == "p99.9" { "p999" } else { statistic }
}

/// Quotes a text on one line. TOML reads JSON's escapes alike, but requires one more character,
/// U+007F, to be escaped.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        format!("{value:?}")
    }
}

/// Reads a file that [`render`] made.
///
/// # Errors
/// If the file cannot be read or is malformed; the message gives the file and the line.
pub fn load(path: &Path) -> Result<Baseline> {
    let read = || {
        let mut text = String::new();
        file::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
        Ok::<_, std::io::Error>(text)
    };
    let text =
        read().map_err(file::within(format!("cannot read the baseline {}", path.display())))?;
    if text.len() as u64 > MAX_BYTES {
        refuse!("{}: a file of more than {MAX_BYTES} bytes is not a baseline", path.display());
    }
    parse(&text).map_err(|error| Error::Refused(format!("{}: {error}", path.display())))
}

/// Parses the text of a baseline.
///
/// # Errors
/// If the text is malformed; the message gives the line, or the series.
pub fn parse(text: &str) -> Result<Baseline> {
    let Head { schema } = from_toml(text)?;
    if !(1..=SCHEMA).contains(&schema) {
        refuse!(
            "this baseline has schema {schema}; this program reads up to {SCHEMA}: make it anew with `chronoscope baseline write`"
        );
    }
    let document: Document = from_toml(text)?;
    if document.series.is_empty() {
        refuse!("this baseline holds nothing: make it anew with `chronoscope baseline write`");
    }
    let mut series: BTreeMap<Key, Series> = BTreeMap::new();
    for entry in document.series {
        let (key, kept) = checked(entry)?;
        if let Some((key, _)) = series.get_key_value(&key) {
            refuse!("`{}` of `{}` is there twice: leave one out", key.series, key.case);
        }
        series.insert(key, kept);
    }
    let machine =
        document.host.zip(document.processor).map(|(host, processor)| Machine { host, processor });
    Ok(Baseline { machine, kernels: document.kernels, series })
}

fn checked(entry: Entry) -> Result<(Key, Series)> {
    let Entry {
        case,
        series,
        domain,
        unit,
        min,
        p50,
        mean,
        p99,
        p999,
        max,
        nominal,
        step,
        reference,
    } = entry;
    let sound = |value: &f64| value.is_finite() && *value >= 0.0;
    let all =
        [("min", min), ("p50", p50), ("mean", mean), ("p99", p99), ("p99.9", p999), ("max", max)];
    let values: Vec<(&str, Vec<f64>)> =
        all.into_iter().filter(|(_, values)| !values.is_empty()).collect();
    let numbers = values.iter().flat_map(|(_, values)| values).chain([&step]).chain(&reference);
    if values.is_empty() || !numbers.into_iter().all(sound) || !nominal.is_finite() {
        refuse!("`{series}` of `{case}` needs a statistic, and numbers that are not below zero");
    }
    let repetitions = values.iter().map(|(_, values)| values.len()).max().unwrap_or_default();
    if let Some((name, values)) =
        values.iter().find(|(_, values)| ![1, repetitions].contains(&values.len()))
    {
        refuse!(
            "`{series}` of `{case}` has {} values of {name}; it needs {repetitions}, one for each repetition, or 1 for all",
            values.len()
        );
    }
    Ok((Key { case, series }, Series { domain, unit, nominal, values, step, reference }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "schema = 3\nseries = [\n  { case = \"c\", series = \"s\", unit = \"ns\", p50 = [1, 2.5] },\n]\n";

    #[test]
    fn the_least_file_is_read() {
        let baseline = parse(FILE).unwrap();
        let kept = &baseline.series.values().next().unwrap().values;
        assert_eq!(*kept, [("p50", vec![1.0, 2.5])]);
        assert_eq!(render(&baseline), HEAD.to_owned() + FILE);
        // A file of the first version holds medians.
        assert_eq!(parse(&FILE.replace("schema = 3", "schema = 1")).unwrap(), baseline);
        let kernels =
            format!("{FILE}\n[kernels]\n\"linux-rt@vm\" = \"linux-image 1, sha256 00\"\n");
        assert_eq!(render(&parse(&kernels).unwrap()), HEAD.to_owned() + &kernels);
        let more = FILE.replace("[1, 2.5]", "[1, 2.5], p99 = [3], p999 = [4], max = [4, 5]");
        assert_eq!(render(&parse(&more).unwrap()), HEAD.to_owned() + &more);
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let table = [
            ("schema = 3", "schema = 4", "this baseline has schema 4"),
            ("schema = 3", "schema = 0", "this baseline has schema 0"),
            ("schema = 3\n", "", "missing field `schema`"),
            ("p50", "p90", "line 3: unknown field `p90`"),
            ("[1, 2.5]", "[]", "needs a statistic"),
            ("[1, 2.5]", "[-1]", "`s` of `c` needs a statistic"),
            ("[1, 2.5]", "[nan]", "not below zero"),
            ("[1, 2.5]", "[1, 2.5], step = inf", "not below zero"),
            ("[1, 2.5]", "[1, 2], max = [3, 4, 5]", "`s` of `c` has 2 values of p50; it needs 3"),
            ("[1, 2.5]", "[1, 2, 3], max = [4, 5]", "2 values of max; it needs 3"),
            ("2.5", "'2.5'", "line 3: invalid type"),
            ("]\n", "", "line"),
            (
                "\n]",
                "\n  { case = \"c\", series = \"s\", unit = \"ns\", p50 = [3] },\n]",
                "`s` of `c` is there twice",
            ),
        ];
        for (from, to, text) in table {
            let error = parse(&FILE.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(text) && !error.contains('\n'), "{error}");
        }
        assert!(
            parse("schema = 1\nseries = []").unwrap_err().to_string().contains("holds nothing")
        );
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let path =
            std::env::temp_dir().join(format!("chronoscope-test-{}-baseline", std::process::id()));
        let padded = |bytes: u64| {
            let comment = "#".repeat(bytes as usize - FILE.len());
            std::fs::write(&path, format!("{FILE}{comment}")).unwrap();
            load(&path)
        };
        let largest = padded(MAX_BYTES).unwrap();
        assert_eq!(largest, parse(FILE).unwrap());
        let error = padded(MAX_BYTES + 1).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(error.ends_with("a file of more than 8388608 bytes is not a baseline"), "{error}");
        assert!(load(&path).unwrap_err().to_string().starts_with("cannot read the baseline"));
    }

    #[test]
    fn numbers_are_written_in_full() {
        for (value, written) in [
            (0.0, "0"),
            (-3.0, "-3"),
            (2.5, "2.5"),
            (999_999_999_999_999.0, "999999999999999"),
            (1e15, "1000000000000000.0"),
            (1e300, "1e300"),
            (1e6 / 3.0, "333333.3333333333"),
        ] {
            assert_eq!(number(value), written);
            assert_eq!(written.parse::<f64>().unwrap(), value);
        }
    }
}
