//! The answer about a set of tasks on kernels: response times by analysis, and as they were
//! observed when the same set ran. The module analyses nothing.

mod json;

pub use json::json;

use chronoscope_run::Status;
use chronoscope_statistics::schedule::{
    Costs, Task,
    analysis::{GREATEST_SCALE, Response, Room},
};
use chronoscope_units::{show, words::listed};

use crate::{
    answer::{rule::proper, span::grouped, terminal::plain},
    screen::{SIZE, Screen},
    text_table::{Side, TextTable, fold},
};

/// An analysis above this multiple of the observation is called pessimistic.
const PESSIMISTIC: f64 = 1.25;

/// A set of tasks on one target.
pub struct Schedule {
    /// The name of the set's file, if there are several.
    pub file: String,
    /// The kernel, as in the name of its target.
    pub kernel: String,
    /// The meaning of the analysis' ticks, in words.
    pub clock: String,
    /// Ticks a second.
    pub hertz: u64,
    /// By falling priority.
    pub rows: Vec<Row>,
    /// The kernel's costs, in ticks.
    pub costs: Costs,
    /// The largest multiple of all execution times with which all deadlines are met, in
    /// thousandths.
    pub scale: u64,
    /// The phases that ran; the first releases all tasks together.
    pub phases: usize,
    /// The bounds of the response times by the upper bound of a model, of whose estimate all else is;
    /// `None` without a model.
    pub at_most: Option<Vec<Response>>,
}

/// A task of the set.
pub struct Row {
    /// The name in the file.
    pub name: String,
    /// The task in ticks.
    pub task: Task,
    /// The bound of its response time.
    pub response: Response,
    /// How much longer it may execute; `None` where a deadline is missed already.
    pub room: Option<Room>,
    /// The longest response time when the set ran, in ticks.
    pub observed: f64,
    /// The jobs that ran.
    pub jobs: u64,
}

impl Row {
    /// The observation is above the bound, so the analysis or a cost is wrong.
    fn is_violated(&self) -> bool {
        self.response
            .ticks()
            .is_some_and(|bound| self.response.meets() && self.observed > bound as f64)
    }

    /// The running task was late.
    fn is_late(&self) -> bool {
        self.observed > self.task.deadline as f64
    }

    /// The bound as a multiple of the observation.
    fn ratio(&self) -> Option<f64> {
        Some(self.response.ticks()? as f64 / self.observed).filter(|ratio| ratio.is_finite())
    }

    /// The share of the deadline that is left, in percent.
    fn left(&self) -> Option<f64> {
        let bound = self.response.ticks().filter(|_| self.response.meets())?;
        Some(100.0 * (self.task.deadline - bound) as f64 / self.task.deadline as f64)
    }
}

impl Schedule {
    /// The verdict on the deadlines: a miss, or a response above its analysis, is a missed limit; where
    /// all are met by a model's estimate, but not by its upper bound, nothing is decided.
    pub fn status(&self) -> Status {
        let holds = self.rows.iter().all(|row| row.response.meets() && !row.is_violated());
        match (holds, self.late_at_most()) {
            (false, _) => Status::LimitMissed,
            (true, Some(_)) => Status::Inconclusive,
            (true, None) => Status::Pass,
        }
    }

    /// The first task that misses by the model's upper bound, and its response then.
    fn late_at_most(&self) -> Option<(&Row, Response)> {
        let mut all = self.rows.iter().zip(self.at_most.iter().flatten().copied());
        all.find(|(_, response)| !response.meets())
    }

    /// The part of the finding that the model's bounds leave open; empty where a deadline is missed.
    fn doubt(&self) -> String {
        match self.late_at_most() {
            _ if self.at_most.is_none() || self.status() == Status::LimitMissed => String::new(),
            None => "✓ Whatever the model's bounds: by its upper bound, too.\n".to_owned(),
            Some((row, response)) => format!(
                "! Not decided by the model: by its upper bound {} misses: {}.\n",
                row.name,
                self.against(row, response)
            ),
        }
    }

    /// A response time beside its deadline.
    fn against(&self, row: &Row, response: Response) -> String {
        let time = response.ticks().map_or_else(|| "no bound".to_owned(), |ticks| self.time(ticks));
        format!("{time} of {}", self.time(row.task.deadline))
    }

    fn ns(&self, ticks: f64) -> f64 {
        ticks * 1e9 / self.hertz as f64
    }

    fn time(&self, ticks: u64) -> String {
        show(self.ns(ticks as f64), "ns")
    }

    /// The finding in one sentence.
    fn title(&self) -> String {
        let kernel = proper(&self.kernel);
        let late: Vec<String> = self
            .rows
            .iter()
            .filter(|row| !row.response.meets())
            .map(|row| {
                let against = self.against(row, row.response);
                format!("{} misses on {kernel}: {against}", row.name)
            })
            .collect();
        if let [first, rest @ ..] = late.as_slice() {
            let more = match rest.len() {
                0 => String::new(),
                1 => "; 1 task more misses".to_owned(),
                count => format!("; {count} tasks more miss"),
            };
            return format!("{first}{more}");
        }
        let violated = || self.rows.iter().filter(|row| row.is_violated());
        if let Some(row) = violated().find(|row| row.is_late()).or_else(|| violated().next()) {
            let took = show(self.ns(row.observed), "ns");
            let deadline = self.time(row.task.deadline);
            let end = if row.is_late() { "missed its deadline of" } else { "has a deadline of" };
            return format!(
                "{} took {took} on {kernel}, longer than analysed, and {end} {deadline}",
                row.name
            );
        }
        let lefts = self.rows.iter().filter_map(|row| Some((row.left()?, &row.name)));
        let tightest = lefts.min_by(|(one, _), (other, _)| one.total_cmp(other));
        let tightest = tightest.map_or_else(String::new, |(left, name)| {
            format!("; the tightest is {name} with {:.0} % left", left.floor())
        });
        let count = self.rows.len();
        let all = if count == 1 {
            "The task meets its deadline".to_owned()
        } else {
            format!("All {count} tasks meet their deadlines")
        };
        format!("{all} on {kernel}{tightest}")
    }

    /// The verdict of the run on the analysis.
    fn confirmation(&self) -> String {
        let jobs: u64 = self.rows.iter().map(|row| row.jobs).sum();
        let ran = format!("{} jobs in {} phases ran", grouped(jobs as f64), self.phases);
        let names = |of: &dyn Fn(&&Row) -> bool| -> Vec<&str> {
            self.rows.iter().filter(of).map(|row| &*row.name).collect()
        };
        let violated = names(&|row| row.is_violated());
        if !violated.is_empty() {
            return format!(
                "! {ran}: {} took longer than analysed. The analysis does not hold here: a cost of \
                 the kernel is longer than measured",
                listed(&violated, "and")
            );
        }
        let late = names(&|row| row.is_late());
        let analysed_late = names(&|row| !row.response.meets());
        let mut text = match (late.is_empty(), analysed_late.is_empty()) {
            (true, true) => format!("✓ {ran}: none was late, none took longer than analysed"),
            (true, false) => format!(
                "! {ran}: none was late in these phases; the analysis allows for later ones"
            ),
            (false, _) => format!("✓ {ran}: confirmed, {} came late", listed(&late, "and")),
        };
        let far: Vec<String> = self
            .rows
            .iter()
            .filter_map(|row| Some((row, row.ratio().filter(|ratio| *ratio > PESSIMISTIC)?)))
            .filter(|(row, _)| row.response.meets())
            .map(|(row, ratio)| format!("{} by {ratio:.2} ×", row.name))
            .collect();
        if !far.is_empty() {
            let far: Vec<&str> = far.iter().map(|text| &**text).collect();
            text += &format!(". Pessimistic, above the longest seen: {}", listed(&far, "and"));
        }
        text
    }

    /// How much longer tasks may execute.
    fn sensitivity(&self) -> Option<String> {
        let rooms = self.rows.iter().filter_map(|row| Some((row, row.room?)));
        let (row, room) = rooms.min_by_key(|(_, room)| room.ticks)?;
        let misses = &self.rows.get(room.misses)?.name;
        Some(format!(
            "room: {} more in {} and {misses} misses; all execution times × {}",
            self.time(room.ticks + 1),
            row.name,
            match self.scale {
                GREATEST_SCALE => format!("{} or more", GREATEST_SCALE / 1000),
                scale => format!("{:.2}", (scale as f64 / 10.0).floor() / 100.0),
            },
        ))
    }

    fn table(&self, columns: usize) -> String {
        let right = Side::Right;
        let mut table = TextTable::new(&[
            ("task", Side::Left),
            ("period", right),
            ("deadline", right),
            ("executes", right),
            ("analysed", right),
            ("observed", right),
            ("ratio", right),
            ("", Side::Left),
        ]);
        for row in &self.rows {
            let remark = match row.response {
                _ if row.is_violated() => "above its analysis",
                Response::Within(_) => "",
                _ if row.is_late() => "misses, seen late",
                _ => "misses",
            };
            table.row(vec![
                row.name.clone(),
                self.time(row.task.period),
                self.time(row.task.deadline),
                self.time(row.task.work),
                row.response
                    .ticks()
                    .map_or_else(|| "no bound".to_owned(), |ticks| self.time(ticks)),
                show(self.ns(row.observed), "ns"),
                row.ratio().map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                remark.to_owned(),
            ]);
        }
        table.render_within(Some(columns), &["period", "executes"])
    }

    /// The costs of the kernel that the analysis has.
    fn costs(&self) -> String {
        let Costs { wake, switch, release, job, tick, masked, lock, .. } = self.costs;
        let uses_locks = self.rows.iter().any(|row| row.task.lock.is_some());
        let parts: Vec<String> = [
            ("wake", wake),
            ("switch", switch),
            ("release", release),
            ("all of a job", job.unwrap_or(0)),
            ("tick", tick),
            ("interrupts off", masked),
            ("lock", if uses_locks { lock } else { 0 }),
        ]
        .into_iter()
        .filter(|(_, ticks)| *ticks > 0)
        .map(|(name, ticks)| format!("{name} {}", self.time(ticks)))
        .collect();
        format!("kernel, at worst: {}; {}", parts.join(", "), self.clock)
    }

    fn render(&self, columns: usize) -> String {
        let of = if self.file.is_empty() { String::new() } else { format!("{}: ", self.file) };
        let mut text = fold(&format!("{of}{}.\n", self.title()), Some(columns));
        text += &fold(&self.doubt(), Some(columns));
        text += &fold(&format!("{}.\n", self.confirmation()), Some(columns));
        text += &self.table(columns);
        if let Some(sensitivity) = self.sensitivity() {
            text += &fold(&format!("{sensitivity}\n"), Some(columns));
        }
        text + &fold(&format!("{}\n", self.costs()), Some(columns))
    }
}

/// The answers about all targets, on a screen.
pub fn render(schedules: &[Schedule], screen: &Screen) -> String {
    let columns = screen.columns.unwrap_or(SIZE.0);
    let texts: Vec<String> = schedules.iter().map(|schedule| schedule.render(columns)).collect();
    plain(&texts.join("\n"), screen.dumb)
}

#[cfg(test)]
mod tests {
    use chronoscope_statistics::schedule::analysis::{responses, room, scale};

    use super::*;

    pub(super) fn schedule(work: [u64; 2], observed: [f64; 2]) -> Schedule {
        let task = |period, work| Task { period, deadline: period, work, ..Task::default() };
        let tasks = [task(1000, work[0]), task(2000, work[1])];
        let costs = Costs { wake: 10, switch: 5, ..Costs::default() };
        let bounds = responses(&tasks, &costs);
        let rows = tasks.iter().enumerate().map(|(place, task)| Row {
            name: ["control", "ui"][place].to_owned(),
            task: task.clone(),
            response: bounds[place],
            room: room(&tasks, &costs, place),
            observed: observed[place],
            jobs: 600,
        });
        Schedule {
            file: String::new(),
            kernel: "freertos".to_owned(),
            clock: "instructions at 1 MHz".to_owned(),
            hertz: 1_000_000,
            rows: rows.collect(),
            costs,
            scale: scale(&tasks, &costs),
            phases: 3,
            at_most: None,
        }
    }

    /// The text with single spaces.
    fn text(schedule: Schedule) -> String {
        let text = render(&[schedule], &Screen { columns: Some(80), ..Screen::plain() });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_finding_names_the_tightest_task() {
        let schedule = schedule([300, 400], [310.0, 720.0]);
        assert_eq!(schedule.status(), Status::Pass);
        let text = text(schedule);
        // 10 + 400 of its own, 315 of the more urgent one, of 2000.
        assert!(
            text.starts_with(
                "All 2 tasks meet their deadlines on FreeRTOS; the tightest is ui with 63 % left."
            ),
            "{text}"
        );
        assert!(text.contains("200 jobs in 3 phases ran: none was late"), "{text}");
        assert!(text.contains("ui 2 ms 2 ms 400 µs 725 µs 720 µs 1.01"), "{text}");
        assert!(text.contains("more in control and ui misses; all execution times ×"), "{text}");
        assert!(text.contains("kernel, at worst: wake 10 µs, switch 5 µs;"), "{text}");
    }

    #[test]
    fn the_factor_of_all_times_has_an_end() {
        let text = text(schedule([1, 1], [11.0, 15.0]));
        assert!(text.contains("all execution times × 100 or more"), "{text}");
    }

    #[test]
    fn a_missed_deadline_says_by_how_much_and_whether_it_was_seen() {
        let late = schedule([900, 300], [910.0, 3000.0]);
        assert_eq!(late.status(), Status::LimitMissed);
        let late = text(late);
        assert!(late.starts_with("ui misses on FreeRTOS: "), "{late}");
        assert!(late.contains("of 2 ms.") && late.contains("confirmed, ui came late"), "{late}");
        assert!(!late.contains("room:"), "{late}");
        let unseen = text(schedule([900, 300], [910.0, 1900.0]));
        assert!(unseen.contains("none was late in these phases"), "{unseen}");
    }

    #[test]
    fn a_response_above_its_analysis_is_a_finding() {
        let schedule = schedule([300, 400], [311.0, 800.0]);
        assert_eq!(schedule.status(), Status::LimitMissed);
        let text = text(schedule);
        assert!(
            text.starts_with(
                "ui took 800 µs on FreeRTOS, longer than analysed, and has a deadline of 2 ms."
            ),
            "{text}"
        );
        assert!(text.contains("ran: ui took longer than analysed"), "{text}");
        assert!(text.contains("above its analysis"), "{text}");
        let late = self::text(self::schedule([300, 400], [311.0, 2500.0]));
        let end = "longer than analysed, and missed its deadline of 2 ms.";
        assert!(late.contains(end) && !late.contains("meet their deadlines"), "{late}");
    }

    #[test]
    fn an_estimate_alone_decides_nothing() {
        let modelled = |late: Option<u64>| {
            let mut schedule = schedule([300, 400], [310.0, 720.0]);
            let ui = late.map_or(Response::Within(900), Response::Misses);
            schedule.at_most = Some(vec![Response::Within(320), ui]);
            schedule
        };
        assert_eq!(modelled(None).status(), Status::Pass);
        assert!(text(modelled(None)).contains("left. ✓ Whatever the model's bounds"));
        assert_eq!(modelled(Some(2100)).status(), Status::Inconclusive);
        let open = text(modelled(Some(2100)));
        let doubt = "! Not decided by the model: by its upper bound ui misses: 2.10 ms of 2 ms.";
        assert!(open.contains(doubt), "{open}");
        let all = [Status::Pass, Status::Inconclusive, Status::LimitMissed];
        assert_eq!(all.map(Status::exit_code), [0, 4, 2]);
    }

    #[test]
    fn an_analysis_far_above_the_observation_is_called_pessimistic() {
        let text = text(schedule([300, 400], [310.0, 500.0]));
        assert!(text.contains("Pessimistic, above the longest seen: ui by 1.45 ×."), "{text}");
    }
}
