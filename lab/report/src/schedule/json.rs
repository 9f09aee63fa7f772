//! The answer about a set of tasks as JSON, for programs. docs/schedule.md has its keys.

use chronoscope_statistics::schedule::{Costs, analysis::Response};
use serde_json::{Value, json};

use super::{Row, Schedule};

/// The answers about all targets, an element each. Times are in ns.
pub fn json(schedules: &[Schedule]) -> Value {
    schedules.iter().map(Schedule::json).collect()
}

impl Schedule {
    fn json(&self) -> Value {
        let tasks = self.rows.iter().enumerate().map(|(place, row)| self.row_json(place, row));
        json!({
            "file": self.file,
            "kernel": self.kernel,
            "clock": self.clock,
            "hertz": self.hertz,
            "verdict": self.status().words(),
            "finding": self.title(),
            "phases": self.phases,
            "scale": self.scale as f64 / 1000.0,
            "tasks": tasks.collect::<Vec<_>>(),
            "costs": self.costs_json(),
        })
    }

    fn row_json(&self, place: usize, row: &Row) -> Value {
        let ns = |ticks: u64| self.ns(ticks as f64);
        let bound = |response: Response| response.ticks().map(ns);
        let at_most = self.at_most.as_ref().and_then(|all| all.get(place).copied());
        let lock = row.task.lock;
        json!({
            "name": row.name,
            "period": ns(row.task.period),
            "deadline": ns(row.task.deadline),
            "execution": ns(row.task.work),
            "jitter": ns(row.task.jitter),
            "lock": lock.map(|lock| lock.number),
            "hold": lock.map(|lock| ns(lock.hold)),
            "meets": row.response.meets(),
            "analysed": bound(row.response),
            "analysed_at_most": at_most.and_then(bound),
            "observed": self.ns(row.observed),
            "jobs": row.jobs,
            "room": row.room.map(|room| ns(room.ticks)),
            "room_misses": row.room.and_then(|room| Some(&*self.rows.get(room.misses)?.name)),
        })
    }

    fn costs_json(&self) -> Value {
        let ns = |ticks: u64| self.ns(ticks as f64);
        let Costs { wake, switch, release, job, tick, tick_period, masked, lock } = self.costs;
        json!({
            "wake": ns(wake),
            "switch": ns(switch),
            "release": ns(release),
            "job": job.map(ns),
            "tick": ns(tick),
            "tick_period": ns(tick_period),
            "interrupts_off": ns(masked),
            "lock": ns(lock),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{super::tests::schedule, *};

    /// The keys of a value and of all values in it.
    fn keys(value: &Value, into: &mut BTreeSet<String>) {
        match value {
            Value::Array(all) => all.iter().for_each(|one| keys(one, into)),
            Value::Object(map) => map.iter().for_each(|(key, one)| {
                into.insert(key.clone());
                keys(one, into);
            }),
            _ => {}
        }
    }

    #[test]
    fn every_key_is_in_the_document() {
        let value = json(&[schedule([300, 400], [310.0, 720.0])]);
        let mut all = BTreeSet::new();
        keys(&value, &mut all);
        let document = include_str!("../../../../docs/schedule.md");
        let table = document.split("## As JSON").nth(1).and_then(|rest| rest.split("\n## ").next());
        let table = table.expect("the document has the chapter");
        let written: BTreeSet<String> = table
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|word| !word.contains(' ') && !word.starts_with('-'))
            .map(str::to_owned)
            .collect();
        assert_eq!(all, written);
    }

    /// 10 + 400 of its own, 315 of the more urgent one, in ticks of a µs.
    #[test]
    fn times_are_in_ns() {
        let value = json(&[schedule([300, 400], [310.0, 720.0]), schedule([900, 300], [9.0, 9.0])]);
        let ui = &value[0]["tasks"][1];
        assert_eq!(
            (&ui["name"], &ui["analysed"], &ui["observed"]),
            (&json!("ui"), &json!(725_000.0), &json!(720_000.0))
        );
        assert_eq!(
            (&value[0]["verdict"], &ui["meets"], &ui["room_misses"]),
            (&json!("pass"), &json!(true), &json!("ui"))
        );
        assert_eq!(
            (&value[1]["verdict"], &value[1]["tasks"][1]["room"]),
            (&json!("limit missed"), &Value::Null)
        );
    }
}
