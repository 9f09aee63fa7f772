use super::*;

const TWO: &str = "clock = \"84MHz\"
[[task]]
name = \"ui\"
priority = 1
period = \"20ms\"
deadline = \"10ms\"
execution = \"8400 instructions\"
lock = \"bus\"
hold = \"10us\"
[[task]]
name = \"can_rx\"
priority = 7
distance = \"1ms\"
execution = \"120us\"
jitter = \"5us\"
";

const CYCLES: Scale = Scale { hertz: 84_000_000, rate: 0.5 };

#[test]
fn a_set_is_read_and_sorted_by_priority() {
    let set = TaskSet::parse(TWO).unwrap();
    assert_eq!(set.clock, Some(84_000_000));
    let names: Vec<_> = set.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["can_rx", "ui"]);
    let tasks = set.tasks(&CYCLES).unwrap();
    assert_eq!((tasks[0].period, tasks[0].deadline, tasks[0].jitter), (84_000, 84_000, 420));
    assert_eq!((tasks[0].work, tasks[1].deadline), (10_080, 840_000));
    // Two cycles an instruction.
    assert_eq!((tasks[1].work, tasks[1].lock), (16_800, Some(Lock { number: 1, hold: 840 })));
}

/// An instruction takes 1 ns of the emulator, and half a cycle's time: a second is 42 million of
/// them.
#[test]
fn the_request_is_in_the_time_of_the_emulator() {
    let set = TaskSet::parse(TWO).unwrap();
    assert_eq!(set.request(&CYCLES, 1.0), "42000.5040.0.0+840000.8400.1.420");
    assert_eq!(set.request(&CYCLES, 64.0), "2688000.322560.0.0+53760000.537600.1.26880");
}

#[test]
fn impossible_sets_are_refused_in_one_line() {
    for (from, to, why) in [
        ("\"1ms\"", "\"0ms\"", "task `can_rx`: its period is zero"),
        ("\"10ms\"", "\"30ms\"", "deadline is above its period"),
        ("priority = 7", "priority = 1", "`ui` and `can_rx` have priority 1"),
        ("can_rx", "ui", "two tasks are called `ui`"),
        ("\"120us\"", "\"1100us\"", "111 % of the processor"),
        ("distance", "distanse", "did you mean"),
        ("distance = \"1ms\"\n", "", "give either `period` or `distance`"),
        ("hold = \"10us\"\n", "", "say with `hold`"),
        ("lock = \"bus\"\n", "", "name the `lock`"),
        ("8400 instructions", "some instructions", "write a whole number"),
        ("120us", "120", "execution = 120"),
        ("84MHz", "fast", "clock"),
        ("\"20ms\"", "\"20s\"", "above 500 ms"),
        ("\"5us\"", "\"2ms\"", "jitter is not below"),
        ("can_rx", "\\u001b[2J", "a name has up to"),
        (TWO, "", "no task"),
    ] {
        let error = TaskSet::parse(&TWO.replace(from, to)).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains(why) && !text.contains('\n'), "{to}: {text}");
    }
    let many = (0..8).map(|number| {
        format!("[[task]]\nname = \"t{number}\"\npriority = {number}\nperiod = \"1ms\"\nexecution = \"1us\"\n")
    });
    let error = TaskSet::parse(&many.collect::<String>()).unwrap_err().to_string();
    assert!(error.contains("8 tasks"), "{error}");
}

#[test]
fn what_does_not_fit_on_the_target_is_refused_there() {
    let long = TWO.replace("8400 instructions", "600000 instructions");
    let error = TaskSet::parse(&long).unwrap().tasks(&CYCLES).unwrap_err().to_string();
    assert!(error.contains("`ui`: it executes for 14.3 ms and its deadline is 10 ms"), "{error}");
    let held = TWO.replace("\"10us\"", "\"300us\"");
    let error = TaskSet::parse(&held).unwrap().tasks(&CYCLES).unwrap_err().to_string();
    assert!(error.contains("lock for longer"), "{error}");
}
