//! The answer to a run's question. It stands first on the terminal and on the page. A study's
//! rules choose its form; a run without rules is answered by its cases. `docs/report.md` has the
//! words and the thresholds.

pub mod arrivals;
pub mod asked;
pub mod builds;
pub mod claims;
pub mod compared;
pub mod decision;
pub mod elsewhere;
pub mod explain;
pub mod headline;
pub mod lanes;
pub mod late;
pub mod latency;
pub mod list;
pub mod matrix;
pub mod picture;
pub mod ranking;
pub mod reading;
pub mod rounds;
pub mod rule;
pub mod sentence;
pub mod span;
pub mod spread;
pub mod terminal;
pub mod trust;
pub mod watched;

use std::{borrow::Cow, fmt};

use self::{
    arrivals::Strip,
    decision::Decision,
    late::TimeLine,
    latency::Latency,
    list::{List, Missed},
    matrix::Matrix,
    ranking::{Ranking, Wins},
    rounds::Picture,
    rule::Ruled,
    spread::Spread,
    trust::{Trust, Verdict},
};
use crate::cause;
use chronoscope_run::{Answering, CaseResult, Run, Status, answer::Layout};
use chronoscope_units::digits;

/// The longest title in characters that is put together from several sentences.
pub(crate) const TITLE: usize = 100;

/// The answer to a run's question.
pub struct Answer<'a> {
    /// The question, the targets, the machine and the size of the run, the most important first.
    pub context: Vec<String>,
    /// The finding, in one sentence.
    pub title: String,
    /// The decision, where the question asks for one.
    pub decision: Option<Decision>,
    /// How far the figures can be trusted.
    pub trust: Trust,
    /// The rows below the title.
    pub body: Body<'a>,
    /// The late starts of a decision over time; `None` without times.
    pub late: Option<TimeLine>,
    /// The lengths of the rounds of a program under watch.
    pub spread: Option<Spread>,
    /// Sentences below the rows.
    pub also: Vec<String>,
    /// Limits that were missed and cases without a measurement, each with its reason.
    pub problems: Vec<Problem>,
    /// Commands and settings that would tell more, the most useful first.
    pub next: Vec<Step>,
}

/// A next step for the reader.
pub struct Step {
    /// The gain, as `better digits`; may be empty.
    pub gain: String,
    /// The command, setting or choice.
    pub action: String,
}

impl Step {
    fn new(gain: &str, action: impl Into<String>) -> Self {
        Self { gain: gain.to_owned(), action: action.into() }
    }

    /// A step in the words of a study: those before the first colon name the gain.
    fn from_words(words: &str) -> Self {
        let (gain, action) = words.split_once(": ").unwrap_or(("", words));
        Self::new(gain, action)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.gain.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.gain, self.action)
    }
}

/// The rows of an answer.
pub enum Body<'a> {
    /// One row for each latency.
    Latencies(Vec<Latency<'a>>),
    /// Kernels against operations.
    Ranking(Ranking),
    /// A table of text.
    List(List),
    /// The waits of an interrupt over the moment of its arrival.
    Arrivals(Vec<Strip>),
    /// Medians on processors and between them.
    Matrix(Matrix),
    /// A round of each of several traced cases, on one time line.
    Rounds(Picture),
    /// No case has evidence.
    Nothing,
}

/// A reason of verdicts, or a note of a target, with the cases that have it.
pub struct Problem {
    /// `None` for a note.
    pub status: Option<Status>,
    /// The reason or the note, as one sentence.
    pub reason: String,
    /// The labels of the cases.
    pub cases: Vec<String>,
    /// A note that every one of several cases has.
    pub is_common: bool,
}

impl Problem {
    /// The reason with its first case and the number of further ones.
    pub fn words(&self) -> String {
        let status = self.status.map_or("note", Status::words);
        let cases = match self.cases.as_slice() {
            [] => String::new(),
            _ if self.is_common => " (all cases)".to_owned(),
            [one] => format!(" ({one})"),
            [first, rest @ ..] => format!(" ({first} and {} more)", rest.len()),
        };
        format!("{status}: {}{cases}", self.reason)
    }
}

/// The rules of a run; the default rules if it has no study.
pub fn rules(run: &Run) -> Cow<'_, Answering> {
    run.answering.as_ref().map_or_else(Cow::default, Cow::Borrowed)
}

impl<'a> Answer<'a> {
    /// Answers the question of a run.
    pub fn from_run(run: &'a Run) -> Self {
        let rules = rules(run);
        let ruled = Ruled { run, rules: &rules };
        let body = body(run, &rules);
        let title = ruled.first(&rules.title);
        let decision = Decision::on(run, &rules);
        let decided = decision.as_ref().map(|decision| decision.title(run));
        let title = decided.or(title).unwrap_or_else(|| own_title(run, &rules, &body));
        let problems = problems(run, &rules, &body);
        let late = if rules.decides { TimeLine::from_run(run) } else { None };
        let remedy = decision.as_ref().and_then(|decision| decision.next(run));
        let mut next: Vec<Step> = remedy.into_iter().chain(own_next(run)).collect();
        next.extend(ruled.all(&rules.next).iter().map(|words| Step::from_words(words)));
        Self {
            context: context(run, &rules),
            title,
            trust: trust(run, decision.as_ref(), &body),
            decision,
            also: [
                late.as_ref()
                    .filter(|line| !line.is_timed())
                    .map_or_else(Vec::new, TimeLine::sentences),
                cause_of_worst(run, &body),
                like_for_like(&rules, &body),
                under_builds(run, &rules, &body),
                ruled.all(&rules.also),
            ]
            .concat(),
            spread: Spread::from_run(run),
            late: late.filter(TimeLine::is_timed),
            body,
            problems,
            next,
        }
    }
}

/// The trust in a run. A ranking without limits says in their place how far it holds under other
/// builds of the kernels. A decision against the machine needs no trust in it.
fn trust(run: &Run, decision: Option<&Decision>, body: &Body<'_>) -> Trust {
    let mut found = Trust::from_run(run);
    if decision == Some(&Decision::No) {
        found.verdicts.insert(0, Verdict::enough());
    }
    if let Body::Ranking(ranking) = body
        && let Some(builds) = ranking.under_builds(run)
    {
        found.rest.retain(|sentence| !sentence.starts_with(trust::NO_LIMITS));
        found.rest.push(builds);
    }
    found
}

/// The figures of a published report under other builds of the kernels.
fn under_builds(run: &Run, rules: &Answering, body: &Body<'_>) -> Vec<String> {
    match body {
        Body::List(_) if rules.layout == Layout::Published => builds::of_published(run, rules),
        _ => Vec::new(),
    }
}

/// The cause of the worst sample of all traced cases, as far as the trace shows one; empty without a
/// trace.
fn cause_of_worst(run: &Run, body: &Body<'_>) -> Vec<String> {
    // The picture is the trace.
    if matches!(body, Body::Rounds(_)) {
        return Vec::new();
    }
    let Some((case, series)) = decision::worst_traced(run) else { return Vec::new() };
    let causes = cause::traced(case, series);
    match causes.is_empty() {
        true => cause::unknown(case).into_iter().collect(),
        false => causes.into_iter().take(2).collect(),
    }
}

/// The question, then the targets, the machine, and the number of cases.
fn context(run: &Run, rules: &Answering) -> Vec<String> {
    let question = if rules.question.is_empty() { &run.title } else { &rules.question };
    let mut parts = vec![question.to_string()];
    let mut targets: Vec<&str> = run.cases.iter().map(|case| &*case.target).collect();
    targets.extend(run.peers.iter().map(|peer| &*peer.target));
    targets.sort_unstable();
    targets.dedup();
    match targets.as_slice() {
        [] => {}
        [one] => parts.push((*one).to_owned()),
        several => parts.push(span::count(several.len(), "target")),
    }
    if targets.iter().any(|target| target.ends_with("@host")) {
        let words = |text: &str| text.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let system = words(&run.context.system);
        let release = system.split('-').next().unwrap_or_default();
        parts.extend([release.to_owned(), words(&run.context.processor)]);
    }
    let size = span::count(run.cases.len() + run.peers.len(), "case");
    // The duration of an imported run is unknown.
    parts.push(match run.context.imported.is_some() {
        true => size,
        false => format!("{size} in {} s", digits(run.context.seconds.round())),
    });
    parts.retain(|part| !part.is_empty());
    parts
}

fn body<'a>(run: &'a Run, rules: &Answering) -> Body<'a> {
    let list = |list: List| if list.rows.is_empty() { None } else { Some(Body::List(list)) };
    let latencies = || {
        let rows = latency::rows(run, rules);
        if rows.is_empty() { Body::Nothing } else { Body::Latencies(rows) }
    };
    let ranking = || Ranking::from_run(run, rules).map(Body::Ranking);
    let arrivals = || arrivals::strips(run).map(Body::Arrivals);
    if rules.decides
        && let Some(list) = decision::figures(run)
    {
        return Body::List(list);
    }
    if let Some(picture) = rules.rounds.as_ref().and_then(|rounds| Picture::from_run(run, rounds)) {
        return Body::Rounds(picture);
    }
    if rules.layout == Layout::Auto
        && let Some(matrix) = Matrix::from_run(run)
    {
        return Body::Matrix(matrix);
    }
    let found = match rules.layout {
        Layout::Latencies => None,
        Layout::Auto if !run.peers.is_empty() && run.cases.is_empty() => list(list::peers(run)),
        Layout::Auto | Layout::Ranking => arrivals().or_else(ranking),
        Layout::Limits => list(list::limits(run)),
        Layout::Published => list(list::published(run, rules)),
        Layout::Peers => list(list::peers(run)),
    };
    found.unwrap_or_else(latencies)
}

/// The title of a run whose rules have none that holds.
fn own_title(run: &Run, rules: &Answering, body: &Body<'_>) -> String {
    match (rules.layout, body) {
        (_, Body::Nothing) => nothing(run),
        (_, Body::Ranking(ranking)) => of_ranking(run, rules, ranking),
        (_, Body::Arrivals(strips)) => arrivals::title(strips),
        (_, Body::Matrix(matrix)) => matrix.title(),
        (Layout::Limits, Body::List(_)) => of_limits(run),
        (Layout::Published, Body::List(list)) => of_published(list),
        (_, Body::List(_)) if !run.peers.is_empty() => {
            let (agree, judged) = list::agreeing(run);
            format!("{agree} of {} agree with the tools", span::count(judged, "judged figure"))
        }
        _ => of_experiments(run),
    }
}

fn nothing(run: &Run) -> String {
    let count = |status| run.cases.iter().filter(|case| case.verdict.status == status).count();
    let of = |status: Status| {
        (count(status) > 0).then(|| format!("{} {}", count(status), status.words()))
    };
    let worst = [Status::Error, Status::Inconclusive, Status::NotOffered];
    let why: Vec<String> = worst.into_iter().filter_map(of).collect();
    let cases = span::count(run.cases.len(), "case");
    match (run.cases.len(), why.as_slice()) {
        (_, []) => "Nothing was measured".to_owned(),
        (1, [_]) => {
            let words = run.cases[0].verdict.status.words();
            format!("Nothing was measured: {words}")
        }
        (_, why) => format!("Nothing was measured in {cases}: {}", why.join(", ")),
    }
}

/// The title of a ranking: the limits and the wins of the kernel that the study names; without
/// one, the findings of the experiments.
fn of_ranking(run: &Run, rules: &Answering, ranking: &Ranking) -> String {
    let wins = ranking.wins(&rules.subject, None);
    let (Some(Wins { won, rows }), false) = (wins, rules.subject.is_empty()) else {
        let leaders = of_leaders(ranking).filter(|_| !rules.rows.is_empty());
        return leaders.unwrap_or_else(|| of_experiments(run));
    };
    let name = rule::proper(&rules.subject);
    let winner = ranking.winner();
    let wins = format!("{winner} in {won} of {} of its kind", span::count(rows, "timing"));
    let cost = ranking.cost(&rules.subject).filter(|(ratio, _)| *ratio > 1.05);
    let cost = cost
        .map_or_else(String::new, |(ratio, words)| format!(", at {} {words}", span::ratio(ratio)));
    let limits = list::limited(run);
    let Missed { told: missed, are_of_speed, others } = Missed::of_limits(&limits);
    let verb = if are_of_speed { "got slower in" } else { "misses" };
    let unchecked = list::all_limits(run).saturating_sub(limits.len());
    match missed.first() {
        _ if limits.is_empty() => format!("{name} is {wins}{cost}"),
        None if unchecked > 0 => format!(
            "{name} is {wins}{cost}; {unchecked} of {} not checked",
            span::count(limits.len() + unchecked, "limit")
        ),
        None => format!("{name} did not get slower; it is {wins}{cost}"),
        Some(worst) => {
            let others = match others {
                0 => String::new(),
                others => format!("; {others} more missed"),
            };
            format!(
                "{name} {verb} {} of {}: {} is {}, limit {}{others}",
                missed.len(),
                span::count(limits.len(), "limit"),
                worst.name(run),
                worst.value_words(),
                worst.bound_words()
            )
        }
    }
}

/// The kernel that wins most timings of each kind of task, and the one with the least cost that a
/// title names: a study without a subject puts no kernel first by itself. `None` without a timing that
/// is won.
fn of_leaders(ranking: &Ranking) -> Option<String> {
    let leaders = rule::KINDS.into_iter().filter_map(|kind| {
        let name = ranking.leader(kind)?;
        Some((kind, name, ranking.wins(name, Some(kind))?))
    });
    let mut kinds: Vec<String> = Vec::new();
    let mut before = "";
    for (kind, name, Wins { won, rows }) in leaders {
        // The same name again, and the word for rows, go without saying.
        let shown = if name == before { String::new() } else { rule::proper(name) + " " };
        let timings = if kinds.is_empty() { " timings" } else { "" };
        kinds.push(format!("{shown}in {won} of {rows}{timings} of {}", rule::kinds(kind)));
        before = name;
    }
    if kinds.is_empty() {
        return None;
    }
    let cheapest =
        ranking.cheapest().map(|(kernel, cost)| format!("; {cost} is {}'s", rule::proper(kernel)));
    let title = format!("{}: {}", sentence::capital(ranking.winner()), kinds.join(", "));
    Some(title + &cheapest.unwrap_or_default())
}

/// How often the study's kernel wins among tasks of one kind, where kernels offer different kinds.
fn like_for_like(rules: &Answering, body: &Body<'_>) -> Vec<String> {
    let Body::Ranking(ranking) = body else { return Vec::new() };
    let mixed = ranking.columns.iter().any(|column| ranking.has_several_kinds(&column.kernel));
    let subject = &*rules.subject;
    let kinds = ["thread", "coroutine", "process"].into_iter().filter_map(|kind| {
        let Wins { won, rows } = ranking.wins(subject, Some(kind))?;
        let winner = ranking.winner();
        let kinds = rule::kinds(kind);
        Some(format!("{kinds} against {kinds}, {subject} is {winner} in {won} of {rows}"))
    });
    let kinds: Vec<String> = kinds.filter(|_| mixed && !subject.is_empty()).collect();
    if kinds.is_empty() { kinds } else { vec![format!("Like for like, {}.", kinds.join("; "))] }
}

fn of_limits(run: &Run) -> String {
    let limits = list::limited(run);
    let Some(first) = limits.first() else { return of_experiments(run) };
    let missed = limits.iter().filter(|one| !one.held).count();
    let value = first.value_words();
    let nearest = format!("{} is {value}, limit {}", first.name(run), first.bound_words());
    let all = list::all_limits(run);
    match (missed, limits.len()) {
        (0, checked) if checked < all => {
            let hold = if checked == 1 { "holds" } else { "hold" };
            format!(
                "{checked} of {all} limits {hold}, the others were not checked; nearest: {nearest}"
            )
        }
        (0, 1) => format!("The only limit holds: {nearest}"),
        (0, checked) => format!("All {checked} limits hold; nearest: {nearest}"),
        (1, 1) if all == 1 => format!("The only limit is missed: {nearest}"),
        (1, 1) => format!("The only checked limit is missed: {nearest}"),
        (1, checked) => format!("1 of {checked} limits is missed: {nearest}"),
        (missed, checked) => {
            format!("{missed} of {checked} limits are missed; farthest: {nearest}")
        }
    }
}

fn of_published(list: &List) -> String {
    let count = list.rows.len();
    let compared = list.rows.iter().filter(|row| row.ratio.is_some());
    let all = span::count(count, "published figure");
    match compared.count() {
        0 => format!("{all} beside figures of other clocks: compare shapes, not sizes"),
        some if some == count => format!("{all} re-measured by the same clock"),
        some => format!("{all} re-measured, {some} of them by the same clock"),
    }
}

/// The sentences that read the results of the experiments, as many as a title has room for.
fn of_experiments(run: &Run) -> String {
    let mut title = match trust::misses(run) {
        Some((missed @ 1.., samples)) => {
            let (missed, samples) = (missed as f64, samples as f64);
            format!("{} of {} missed the deadline", span::grouped(missed), span::grouped(samples))
        }
        _ => String::new(),
    };
    let mut left_out = 0;
    let experiments = sentence::experiments(run);
    for name in experiments {
        let own = watched::sentence(run, name).or_else(|| headline::sentence(run, name));
        let Some(whole) = own.or_else(|| sentence::sentence(&run.cases, name)) else { continue };
        if title.is_empty() {
            title = whole;
            continue;
        }
        let room = TITLE.saturating_sub(title.chars().count() + 2);
        let mut either = [Some(whole), sentence::short(&run.cases, name)].into_iter().flatten();
        match either.find(|sentence| sentence.chars().count() <= room) {
            Some(sentence) => title = format!("{title}; {sentence}"),
            None => left_out += 1,
        }
    }
    if title.is_empty() {
        return "The cases have evidence, and no figure to read".to_owned();
    }
    let more = if left_out > 0 { format!("; {left_out} more below") } else { String::new() };
    sentence::capital(&(title + &more))
}

/// The notes that all cases have, as of what an account may not do; the reasons of verdicts that are
/// no pass, the worst first; and for a few cases also their own notes. Missed limits are left out
/// where the rows are limits.
fn problems(run: &Run, rules: &Answering, body: &Body<'_>) -> Vec<Problem> {
    let rows_are_limits =
        matches!(body, Body::List(list) if list.rows.iter().any(|row| row.share.is_some()));
    let has_all = |note: &str| run.cases.iter().all(|case| case.log.iter().any(|one| one == note));
    let mut problems: Vec<Problem> = Vec::new();
    let mut add = |status: Option<Status>, reason: &str, case: String| {
        let same = |one: &&mut Problem| one.status == status && one.reason == reason;
        match problems.iter_mut().find(same) {
            Some(known) => known.cases.push(case),
            None => problems.push(Problem {
                status,
                reason: reason.to_owned(),
                cases: vec![case],
                is_common: status.is_none() && run.cases.len() > 1 && has_all(reason),
            }),
        }
    };
    let name = |case: &CaseResult| {
        format!("{} {} {}", case.experiment, case.target, case.label).trim_end().to_owned()
    };
    for case in &run.cases {
        let status = case.verdict.status;
        // A miss decides, also where the hypervisor may be to blame: it is a part of the machine.
        let decided = || case.limits.iter().any(|limit| !limit.missed(case).is_empty());
        let told = rows_are_limits
            && (status == Status::LimitMissed || rules.decides && case.is_proven() && decided());
        for reason in case.verdict.reasons.iter().filter(|_| !told) {
            add(Some(status), reason, name(case));
        }
    }
    for peer in &run.peers {
        for reason in &peer.verdict.reasons {
            add(Some(peer.verdict.status), reason, peer.name.to_string());
        }
    }
    let few = run.cases.len() <= 3;
    for case in &run.cases {
        let notes = case.log.iter().filter(|note| few || has_all(note));
        notes.for_each(|note| add(None, note, name(case)));
    }
    problems.sort_by_key(|problem| (!problem.is_common, std::cmp::Reverse(problem.status)));
    problems
}

/// The next steps that follow from the run itself: what would raise its trust.
fn own_next(run: &Run) -> Vec<Step> {
    let on_this_host = run.cases.iter().any(|case| case.target.ends_with("@host"));
    let measured = run.cases.iter().any(CaseResult::is_proven);
    let trusted = Trust::from_run(run).verdicts.iter().all(|verdict| verdict.good);
    let mut next = Vec::new();
    if on_this_host && measured && !trusted {
        next.push(Step::new("better digits", "chronoscope doctor"));
    }
    next
}
