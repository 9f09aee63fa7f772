//! Late starts on a time line, in characters: a line for each case, each repetition a stretch of it.

use super::{Line, NAME, Style, cut, length, pad};
use crate::answer::late::{Place, TimeLine};

/// The fewest characters of a repetition that stands apart from the next.
const APART: usize = 4;

/// The lines of the time line: a key, then a line for each case. A narrow screen has a shorter track.
pub(super) fn lines(line: &TimeLine, width: usize) -> Vec<Line> {
    let late = |place: &Place| place.late.to_string();
    let count = line.places.iter().map(|place| length(&late(place))).max().unwrap_or(0).max(4);
    let worst = line.places.iter().map(|place| length(&place.worst)).max().unwrap_or(0).max(5);
    let left = width.saturating_sub(2 + count + 2 + worst + 2);
    let names = line.places.iter().map(|place| length(&place.name)).max().unwrap_or(0);
    let names = names.min(NAME).min(left.saturating_sub(APART));
    let cells = left.saturating_sub(names);
    let key = format!("● {}; each stretch a repetition", line.late);
    let key = pad(&key, names + 2 + cells);
    let head = format!("{key}  {:>count$}  {:>worst$}", "late", "worst");
    let mut lines = vec![Line::styled(Style::Dim, cut(&head, width))];
    lines.extend(line.places.iter().map(|place| {
        Line::plain(format!("{}  ", pad(&place.name, names)))
            .with(Style::Contrast, pad(&track(place, cells), cells))
            .with(Style::Plain, format!("  {:>count$}  {:>worst$}", late(place), place.worst))
    }));
    lines.extend(line.rest().map(Line::plain));
    lines
}

/// The repetitions of a case in `cells` characters; without gaps where each would be too short to show
/// a time.
fn track(place: &Place, cells: usize) -> String {
    let repetitions = place.repetitions.len().max(1);
    let gap = usize::from((cells + 1) / repetitions > APART);
    let wide = (cells + gap) / repetitions - gap;
    if wide == 0 {
        // More repetitions than characters: each character has several.
        let is_late = |cell: usize| {
            let of = cell * repetitions / cells..(cell + 1) * repetitions / cells;
            place.repetitions[of].iter().any(|repetition| !repetition.late.is_empty())
        };
        return (0..cells).map(|cell| if is_late(cell) { '●' } else { '─' }).collect();
    }
    let stretches = place.repetitions.iter().map(|repetition| {
        let mut stretch = vec!['─'; wide];
        for (at, _) in &repetition.late {
            stretch[((at * wide as f64) as usize).min(wide - 1)] = '●';
        }
        stretch.into_iter().collect::<String>()
    });
    stretches.collect::<Vec<_>>().join(&" ".repeat(gap))
}
