//! Rounds of traced cases on one time line, in characters.

use super::{
    super::rounds::{Panel, Picture, State, Stretch},
    Line, NAME, Style, cut, length, pad,
};
use crate::{answer::span::count, screen::SIZE};

/// The lines that a picture takes in any case.
const SHORTEST: usize = 10;

/// The rounds of a picture: a line for each track, with the wait beside the one that waits. Panels
/// without room are counted. A wider screen would show no more.
pub(super) fn lines(picture: &Picture, width: usize, most: usize) -> Vec<Line> {
    let width = width.min(SIZE.0);
    let tracks = || picture.panels.iter().flat_map(|panel| &panel.tracks);
    let names = tracks().map(|track| length(&track.name)).max().unwrap_or(0).min(NAME) + 3;
    let waits = picture.panels.iter().filter_map(|panel| panel.wait.as_ref().ok());
    let waits = waits.map(|wait| length(wait)).max().unwrap_or(0) + 1;
    let cells = width.saturating_sub(names + waits).max(1);
    let (from, to) = picture.span;
    let place = |at: f64| ((at - from) / (to - from).max(1.0) * cells as f64) as usize;
    let draw = |stretches: &[Stretch]| {
        let mut drawn = vec![' '; cells];
        for stretch in stretches {
            let (first, last) = (place(stretch.from).min(cells - 1), place(stretch.to));
            drawn[first..last.clamp(first + 1, cells)].fill(sign(stretch.state));
        }
        drawn.into_iter().collect::<String>()
    };
    let mut lines = vec![Line::styled(Style::Dim, cut(&signs(picture), width))];
    let mut hidden = 0;
    for Panel { heading, wait, tracks, .. } in &picture.panels {
        if lines.len() + 1 + tracks.len().max(1) + 1 > most.max(SHORTEST) {
            hidden += 1;
            continue;
        }
        lines.push(Line::plain(cut(heading, width)));
        if let Err(reason) = wait {
            lines.push(Line::styled(Style::Dim, cut(&format!("  {reason}"), width)));
        }
        for (index, track) in tracks.iter().enumerate() {
            let name = format!("  {}", track.name);
            let style = if index == 0 { Style::Subject } else { Style::Plain };
            let line = Line::plain(pad(&name, names)).with(style, draw(&track.stretches));
            let wait = wait.as_deref().ok().filter(|_| index == 0);
            lines.push(
                line.with(Style::Bold, wait.map_or_else(String::new, |wait| format!(" {wait}"))),
            );
        }
    }
    let mut axis = String::new();
    for (at, words) in picture.ticks() {
        let at = names + place(at).min(cells - 1);
        if at >= length(&axis) + usize::from(!axis.is_empty()) && at + length(&words) <= width {
            axis = format!("{axis:at$}{words}");
        }
    }
    lines.push(Line::styled(Style::Dim, axis));
    if hidden > 0 {
        let more = format!("{} more on the page", count(hidden, "round"));
        lines.push(Line::styled(Style::Dim, cut(&more, width)));
    }
    lines
}

/// The sign of a state.
fn sign(state: State) -> char {
    match state {
        State::Runs => '█',
        State::Waits => '·',
        State::Other => '▓',
        State::Holds => '░',
        State::Raised => '▒',
    }
}

/// The signs of a picture with their words, and the unit.
fn signs(picture: &Picture) -> String {
    let signs = picture.states().map(|(state, words)| format!("{} {words}", sign(state)));
    let words: Vec<String> = signs.chain([picture.unit().to_owned()]).collect();
    words.join("  ")
}
