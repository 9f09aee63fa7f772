//! For any content of a run, its timeline is well formed.

use crate::common::effort;
use crate::timeline::{FTRACE, case, perfetto_of, read, series, wall};
use chronoscope_report::{timeline::Timeline, vcd};
use chronoscope_run::CaseResult;
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::json;

/// Lines of a trace: whole, cut or invented.
fn lines() -> impl Strategy<Value = String> {
    let known: Vec<&str> = FTRACE.lines().chain(["CPU:1 [LOST 9 EVENTS]"]).collect();
    let cut = (select(known.clone()), any::<prop::sample::Index>())
        .prop_map(|(line, at)| line[..at.index(line.len() + 1)].to_owned());
    let made = (0..3_u32, 0..4_u32, 0..50_u64, 0..4_u32, select(vec!["R", "R+", "S", "D", "X"]), 0..6_usize).prop_map(
        |(cpu, id, at, other, state, which)| {
            let event = match which {
                0 | 1 => format!(
                    "sched_switch: prev_comm=a prev_pid={id} prev_prio=1 prev_state={state} ==> next_comm=b next_pid={other} \
                     next_prio=1"
                ),
                2 => format!("sched_waking: comm=b pid={other} prio=1 target_cpu=000"),
                3 => format!("sched_wakeup: comm=b pid={other} prio=1 target_cpu=000"),
                4 => format!(
                    "binder_transaction: transaction={other} dest_node=1 dest_proc={other} dest_thread=0 reply=0 flags=0x0 \
                     code=0x0"
                ),
                _ => format!("binder_transaction_received: transaction={other}"),
            };
            format!(" a-{id} [{cpu:03}] d.h2. 1.{at:06}: {event}")
        },
    );
    prop_oneof![2 => select(known).prop_map(str::to_owned), 2 => cut, 8 => made, 1 => ".{0,80}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(effort(300)))]

    #[test]
    fn whatever_the_trace_the_timeline_is_sound(lines in vec(lines(), 0..80)) {
        let case: CaseResult = serde_json::from_value(case("", &wall(), &[], Some(&lines.join("\n")))).unwrap();
        read(&perfetto_of(&case));
        let mut bytes = Vec::new();
        vcd::write(&mut Timeline::new(&[&case]), &mut bytes).unwrap();
        prop_assert!(::vcd::Parser::new(bytes.as_slice()).all(|command| command.is_ok()));
    }

    #[test]
    fn whatever_tandem_tells_the_timeline_is_sound(
        events in vec((any::<u32>(), 0..14_u8, 0..4_u32, select(vec!["a", "idle"])), 0..100),
    ) {
        let line = |(clock, event, task, name): (u32, u8, u32, &str)| format!("{clock} {event} {task} {name}\n");
        let mut case = case("", &wall(), &[], None);
        case["attachments"] = json!({"tandem": events.into_iter().map(line).collect::<String>()});
        read(&perfetto_of(&serde_json::from_value(case).unwrap()));
    }

    #[test]
    fn whatever_the_samples_the_timeline_is_sound(
        first in vec((-50.0..50.0, -5.0..60.0), 0..200),
        second in vec((any::<f64>(), any::<f64>()), 0..20),
    ) {
        let samples = series("s", "ns", &[&first, &second]);
        // A file cannot contain samples that are not numbers.
        if let Ok(case) = serde_json::from_value::<CaseResult>(case("", &wall(), &[samples], None)) {
            read(&perfetto_of(&case));
        }
    }
}
