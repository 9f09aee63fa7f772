//! A row that the rules of an answer, or a run without rules, ask for: its cases, and their figures.

use chronoscope_run::{CaseResult, answer::Pick};
use chronoscope_suite::spec::{Decides, Figure, MEDIAN};

use super::{reading, rule, span::Span};

/// A row that is asked for: its cases, and the figures of a cell.
pub struct Asked {
    /// The choice of its cases.
    pub pick: Pick,
    /// The figure that ranks, and the one beside it.
    figures: (Figure, Option<Figure>),
    /// The pick names the figure that ranks.
    is_named: bool,
    /// The figure that answers the experiment's question: the usual or the worst one.
    pub decides: Decides,
}

impl Asked {
    /// The same cases by another figure alone.
    pub fn by(self, figure: Figure) -> Self {
        Self { figures: (figure, None), ..self }
    }

    /// A row of the rules. The experiment's reading decides what the rules leave open.
    pub fn for_pick(pick: &Pick) -> Self {
        let reading = reading::find(&pick.experiment).unwrap_or(&MEDIAN);
        let is_named = !pick.statistic.is_empty() || !pick.series.is_empty();
        let decides = if is_named { Decides::Typical } else { reading.decides };
        Self { pick: pick.clone(), figures: reading::figures(reading), is_named, decides }
    }

    /// The figures of a case.
    pub fn cell(&self, case: &CaseResult) -> Option<(Span, Option<Span>)> {
        if self.is_named {
            let named = &*self.pick.statistic;
            let beside = match named {
                "" | "p50" | "mean" => rule::figure(&self.pick, case, "max"),
                _ => None,
            };
            return Some((rule::figure(&self.pick, case, "")?, beside));
        }
        let (value, beside) = self.figures;
        let beside = beside.and_then(|figure| reading::span(case, figure));
        match reading::span(case, value) {
            Some(value) => Some((value, beside)),
            // A case with few samples has no median.
            None => Some((beside?, None)),
        }
    }
}
