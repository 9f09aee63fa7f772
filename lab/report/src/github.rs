//! GitHub's workflow commands: lines on standard output that a workflow's page shows as
//! annotations.
//!
//! A missed limit, a regression, a mixed case and a case that was not set up are errors, an inconclusive case is a warning, and a case that
//! its kernel does not offer is a notice. GitHub shows ten annotations of each kind for a step, so
//! the first notice is the summary; the log holds all of them.

use super::outcomes::{Outcome, Outcomes};
use chronoscope_run::Status;

/// Renders the workflow commands of all verdicts that are no pass, below a summary.
pub fn render(outcomes: &Outcomes) -> String {
    let summary =
        command("notice", &format!("chronoscope: {}", outcomes.name), &outcomes.summary());
    let annotations = outcomes.all.iter().filter_map(annotation);
    summary + &annotations.collect::<String>()
}

fn annotation(outcome: &Outcome) -> Option<String> {
    let level = match outcome.status {
        Status::Pass => return None,
        Status::NotOffered => "notice",
        Status::Inconclusive => "warning",
        Status::Mixed | Status::Regression | Status::LimitMissed | Status::Error => "error",
    };
    let title = format!("{} {}", outcome.experiment, outcome.name);
    let words = outcome.status.words();
    Some(command(
        level,
        title.trim_end(),
        &[&[words.into()], outcome.reasons.as_slice()].concat().join("\n"),
    ))
}

/// Formats a workflow command. Text is escaped as by GitHub's toolkit
/// (`packages/core/src/command.ts` of <https://github.com/actions/toolkit>), so that no text can
/// end the line and start another command.
fn command(level: &str, title: &str, message: &str) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    format!(
        "::{level} title={}::{}\n",
        data(title).replace(':', "%3A").replace(',', "%2C"),
        data(message)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    #[test]
    fn each_verdict_has_its_level() {
        let text = render(&Outcomes::of_run(&sample::full()));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "::notice title=chronoscope%3A sample::1 limit missed · 1 inconclusive · 1 not offered · 4 pass",
                "::error title=switch linux@host pair=thread-thread tasks=2::limit missed%0Aa reason",
                "::warning title=inversion linux@host protocol=ceiling::inconclusive%0Arounds of high: 11, not 12",
                "::notice title=interrupt linux@host::not offered%0Acoroutines are not offered by this kernel",
            ]
        );
    }

    #[test]
    fn no_text_breaks_out_of_its_command() {
        let hostile = "100 %,\r\n::error title=a:b,c::%0A";
        assert_eq!(
            command("error", hostile, hostile),
            "::error title=100 %25%2C%0D%0A%3A%3Aerror title=a%3Ab%2Cc%3A%3A%250A::100 %25,%0D%0A::error title=a:b,c::%250A\n"
        );
    }
}
