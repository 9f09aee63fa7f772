//! The lengths of the rounds of a program under watch, in characters.

use super::{Line, Style, TRACK, length, pad};
use crate::answer::{span::grouped, spread::Spread};

/// The lines below which nothing is shown.
pub(super) const SHORTEST: usize = 4;

/// A head, and a line for each rung. If the lines are more than `most`, the shortest rounds share one.
pub(super) fn lines(spread: &Spread, width: usize, most: usize) -> Vec<Line> {
    let froms: Vec<String> = spread.rungs.iter().map(|rung| spread.from(rung)).collect();
    let label = froms.iter().map(|from| length(from)).max().unwrap_or(0);
    let counts: Vec<String> = spread.rungs.iter().map(|rung| grouped(rung.count as f64)).collect();
    let count = counts.iter().map(|count| length(count)).max().unwrap_or(0).max("rounds".len());
    let cells = width.saturating_sub(label + 3 + 2 + count).min(TRACK.1);
    let over = spread.bound.as_ref().map(|bound| format!("; ┃ over {bound}")).unwrap_or_default();
    let wide = label + 3 + cells;
    let row = |text: &str, number: &str| format!("{}  {number:>count$}", pad(text, wide));
    let head = row(&format!("{}, each round from{over}", spread.name), "rounds");
    let mut lines = vec![Line::styled(Style::Dim, head)];
    let hidden = (spread.rungs.len() + 1).saturating_sub(most.max(SHORTEST));
    if hidden > 0 {
        let shorter = spread.rungs[..hidden + 1].iter().map(|rung| rung.count);
        let left_out = shorter.fold(0, u64::saturating_add);
        let before = format!("before {}", froms[hidden + 1]);
        lines.push(Line::plain(row(&before, &grouped(left_out as f64))));
    }
    let shown = if hidden > 0 { hidden + 1 } else { 0 };
    for ((rung, from), number) in spread.rungs.iter().zip(&froms).zip(&counts).skip(shown) {
        let (side, sign) = rung.signs();
        let style = if rung.is_over { Style::Contrast } else { Style::Subject };
        let bar = sign.repeat(rung.bar(spread.most(), cells));
        let number = if rung.count == 0 { "–" } else { number };
        lines.push(
            Line::plain(format!("{from:>label$} {side} "))
                .with(style, format!("{bar:cells$}"))
                .with(Style::Plain, format!("  {number:>count$}")),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::{names::WATCH, sample};

    /// A file may hold any number.
    #[test]
    fn the_greatest_number_of_rounds_is_never_exceeded() {
        let mut run = sample::run();
        run.cases = vec![sample::case(WATCH, "")];
        let rounds = (0..6).map(|power| (10_f64.powi(power), u64::MAX));
        run.cases[0].series[0].histogram = rounds.collect();
        let spread = Spread::from_run(&run).unwrap();
        assert_eq!(lines(&spread, 80, SHORTEST).len(), SHORTEST);
    }
}
