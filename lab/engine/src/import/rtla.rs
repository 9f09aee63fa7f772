//! The histograms that `rtla timerlat hist` and `rtla osnoise hist` print: a case with a series for
//! each column. Times are whole µs, and their order is unknown.

use anyhow::{Context as _, Result, bail, ensure};
use chronoscope_units::printable;

use super::{Measured, Recording, Samples, Series};

/// The clock of the samples: µs.
const HERTZ: u64 = 1_000_000;

/// The most samples of all columns together: eleven days of one per ms.
const MOST: u64 = 1_000_000_000;

/// The first words of the output, and the name of the case.
const HEADS: [(&str, &str); 2] =
    [("# RTLA timerlat histogram", "timerlat"), ("# RTLA osnoise histogram", "osnoise")];

/// Returns whether the text begins as a histogram does.
pub fn is_its(head: &[u8]) -> bool {
    head.starts_with(b"# RTLA ")
}

/// A column of the histogram.
struct Column {
    name: String,
    /// The buckets: their lower ends in µs, and their counts.
    counts: Vec<(u64, u64)>,
    /// The samples beyond the last bucket.
    over: u64,
    /// The number of all samples, as rtla counts them.
    count: Option<u64>,
    max: Option<u64>,
}

/// Reads a histogram.
///
/// # Errors
/// The text is cut, a line has another form, or the counts do not add up.
pub fn read(bytes: &[u8]) -> Result<Recording> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().enumerate().map(|(place, line)| (place + 1, line));
    let head = lines.next().map_or("", |(_, line)| line.trim_end());
    let Some((_, name)) = HEADS.iter().find(|(known, _)| *known == head) else {
        bail!("line 1: `{}` is no histogram: give the output of rtla … hist", printable(head));
    };
    let mut measured = Measured::new(name, HERTZ);
    let mut columns: Vec<Column> = Vec::new();
    for (place, line) in lines.by_ref() {
        let trimmed = line.trim();
        if let Some(names) = trimmed.strip_prefix("Index") {
            columns = names.split_whitespace().map(column).collect::<Result<_>>()?;
            ensure!(!columns.is_empty(), "line {place}: no column");
            break;
        }
        if let Some(duration) = trimmed.strip_prefix("# Duration:") {
            let words = duration.split_whitespace().collect::<Vec<_>>().join(" ");
            measured.log.push(format!("it lasted (days, hours:minutes:seconds): {words}"));
        } else if trimmed.starts_with("# Time unit is") {
            ensure!(trimmed.ends_with("microseconds (us)"), "line {place}: only µs are read");
        }
    }
    ensure!(!columns.is_empty(), "it has no line `Index`: it is cut off");
    let mut has_count = false;
    for (place, line) in lines {
        // After `count:`, only avg, min and max are of the histogram.
        if has_count && !line.starts_with(['a', 'm']) {
            break;
        }
        has_count |= row(line, &mut columns).with_context(|| format!("line {place}"))?;
    }
    ensure!(has_count, "it has no line `count:`: it is cut off");
    let all = columns.iter().try_fold(0_u64, |sum, one| sum.checked_add(one.count.unwrap_or(0)));
    ensure!(
        all.is_some_and(|all| all <= MOST),
        "more than {MOST} samples: run rtla on fewer processors, or shorter"
    );
    for column in columns {
        column.add_to(&mut measured)?;
    }
    let mut recording = Recording::new("rtla");
    recording.add(measured)?;
    Ok(recording)
}

/// A column by its name: the kind and the processor, as `Thr-003`.
fn column(name: &str) -> Result<Column> {
    let parts = name.split_once('-').and_then(|(kind, cpu)| Some((kind, cpu.parse::<u32>().ok()?)));
    let Some((kind, cpu)) = parts else {
        bail!("`{}` is no column of a histogram", printable(name));
    };
    let kind = match kind {
        "IRQ" => "interrupt",
        "Thr" => "thread",
        "Usr" => "return to user",
        "CPU" => "noise",
        other => bail!("column `{}`: `{}` is unknown", printable(name), printable(other)),
    };
    let name = format!("{kind}, CPU {cpu}");
    Ok(Column { name, counts: Vec::new(), over: 0, count: None, max: None })
}

/// Takes in a line below the names. Returns whether it is `count:`, the last one with counts.
fn row(line: &str, columns: &mut [Column]) -> Result<bool> {
    let mut words = line.split_whitespace();
    let Some(first) = words.next().filter(|first| !["min:", "avg:"].contains(first)) else {
        return Ok(false);
    };
    let numbers: Vec<Option<u64>> = words
        .map(|word| match word {
            "-" => Ok(None),
            _ => {
                word.parse().map(Some).with_context(|| format!("`{}` is no count", printable(word)))
            }
        })
        .collect::<Result<_>>()?;
    ensure!(
        numbers.len() == columns.len(),
        "{} numbers for {} columns: it is cut off",
        numbers.len(),
        columns.len()
    );
    let name = first.strip_suffix(':');
    let index: Option<u64> = first.parse().ok();
    ensure!(index.is_some() || name.is_some(), "`{}` is no row of a histogram", printable(first));
    for (column, number) in columns.iter_mut().zip(numbers) {
        match (index, name, number) {
            (Some(index), _, Some(count)) => {
                let is_next = column.counts.last().is_none_or(|(last, _)| *last < index);
                ensure!(is_next, "the times do not rise");
                column.counts.push((index, count));
            }
            (_, Some("over"), Some(count)) => column.over = count,
            (_, Some("count"), Some(count)) => column.count = Some(count),
            (_, Some("max"), max) => column.max = max,
            _ => {}
        }
    }
    Ok(name == Some("count"))
}

impl Column {
    /// Adds the column's series, and the evidence on its samples.
    fn add_to(mut self, measured: &mut Measured) -> Result<()> {
        let name = &self.name;
        let sum = |counts: &[(u64, u64)]| {
            counts.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count))
        };
        let seen = sum(&self.counts).and_then(|sum| sum.checked_add(self.over));
        let count = self.count.unwrap_or(0);
        ensure!(
            seen == Some(count),
            "{name}: its rows do not add up to its count of {count}: the text was cut or changed"
        );
        // A single sample beyond the buckets is the longest, whose length is known.
        if let (1, Some(max)) = (self.over, self.max) {
            self.counts.push((max, 1));
            self.over = 0;
        }
        if self.over > 0 {
            measured.log.push(format!(
                "{name}: {} samples are beyond the last bucket, and the longest is {} us: run rtla with \
                 more buckets, as -E 1024",
                self.over,
                self.max.map_or("unknown".to_owned(), |max| max.to_string())
            ));
        }
        let evidence = &mut measured.evidence;
        for (name, value, high) in [
            ("samples in the file", count, f64::INFINITY),
            ("samples beyond the last bucket", self.over, 0.0),
        ] {
            let low = if high > 0.0 { 1.0 } else { 0.0 };
            match evidence.iter_mut().find(|known| known.0 == name) {
                Some(known) => known.1 += value as f64,
                None => evidence.push((name, value as f64, low, high)),
            }
        }
        if count > 0 {
            let repetitions = vec![Samples::Counted(self.counts)];
            measured.series.push(Series { repetitions, ..Series::measured(self.name) });
        }
        Ok(())
    }
}
