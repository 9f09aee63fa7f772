//! Sets of tasks, by analysis and by running (`docs/schedule.md`).

use std::path::Path;

use chronoscope_suite::random::Random;

use crate::common::{Answer, Folder, chronoscope};

const BOTH: &str = "tandem@cortex-m4,freertos@cortex-m4";
const ON_CHIP: [&str; 4] = ["--chip", "stm32f405", "--clock", "84MHz"];

/// The set of the document.
fn example() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("docs/examples/tasks.toml").display().to_string()
}

fn schedule(arguments: &[&str]) -> Answer {
    chronoscope(&[&["schedule", "-q", "--no-store"], arguments].concat())
}

/// The analysed and the observed response times of an answer's tables, in ns, of tasks that meet
/// their deadlines.
fn responses(text: &str) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // name, then four times and the observed one, each with its unit, and the ratio.
        let [_, .., ratio] = words.as_slice() else { continue };
        if words.len() != 12 || ratio.parse::<f64>().is_err() {
            continue;
        }
        let time = |place: usize| {
            let unit =
                ["ns", "µs", "ms"].iter().position(|unit| *unit == words[place + 1]).unwrap();
            words[place].parse::<f64>().unwrap() * 1000_f64.powi(unit as i32)
        };
        found.push((time(7), time(9)));
    }
    found
}

#[test]
fn tandem_holds_a_set_on_a_chip_that_freertos_misses_and_running_confirms_both() {
    let answer = schedule(&[&[&*example(), "--target", BOTH], &ON_CHIP[..]].concat());
    answer.exits(2);
    let (tandem, freertos) = answer.stdout.split_once("\n\n").expect("an answer for each kernel");
    assert!(
        tandem.starts_with("All 4 tasks meet their deadlines on tandem; the tightest is "),
        "{tandem}"
    );
    assert!(tandem.contains("none was late, none took longer"), "{tandem}");
    assert!(
        tandem.contains("room: ") && tandem.contains(" misses; all execution times × "),
        "{tandem}"
    );
    assert!(freertos.contains(" misses on FreeRTOS: "), "{freertos}");
    assert!(freertos.contains("confirmed, ") && freertos.contains(" came late"), "{freertos}");
}

#[test]
fn impossible_sets_are_one_line() {
    let folder = Folder::new("schedule-bad");
    let set = "[[task]]\nname = \"a\"\npriority = 1\nperiod = \"1ms\"\nexecution = \"0.9ms\"\n";
    let more = set.replace("\"a\"", "\"b\"").replace("priority = 1", "priority = 2");
    let full = folder.file("full.toml", format!("{set}{more}"));
    let one = folder.file("one.toml", set);
    let clock = ["--clock", "84MHz"];
    schedule(&[&[&*full], &clock[..]].concat()).complains("180 % of the processor");
    schedule(&[&one]).complains("give --clock 84MHz, or `clock`");
    for (target, why) in [
        ("linux@host", "a set runs on emulated chips"),
        ("nemo@cortex-m4", "nemo"),
        ("tandem@cortex-m9", "cortex-m9"),
    ] {
        schedule(&[&[&*one, "--target", target], &clock[..]].concat()).complains(why);
    }
    schedule(&[&[&*one, "--chip", "stm32f999"], &clock[..]].concat()).complains("stm32f999");
    let embassy = schedule(&[&[&*one, "--target", "embassy@cortex-m4"], &clock[..]].concat());
    embassy.complains("`taskset` has no figures");
}

/// A set of up to six tasks with a use of 30 to 70 % and some locks, as a file.
fn drawn(seed: u64) -> String {
    let mut random = Random::new(seed);
    let count = 2 + random.below(5);
    let share = 30 + random.below(41);
    let mut periods: Vec<u32> = (0..count).map(|_| 100 + random.below(1900)).collect();
    periods.sort_unstable();
    let mut text = "clock = \"100MHz\"\n".to_owned();
    for (place, period) in periods.iter().enumerate() {
        let work = period * share * (50 + random.below(100)) / 10_000 / count;
        let priority = count as usize - place;
        text += &format!(
            "[[task]]\nname = \"t{place}\"\npriority = {priority}\nperiod = \"{period}us\"\nexecution = \"{work}us\"\n"
        );
        if random.below(2) == 0 {
            let hold = work * random.below(60) / 100;
            text += &format!("lock = \"l{}\"\nhold = \"{hold}us\"\n", random.below(2));
        }
    }
    text
}

/// Runs random sets on both kernels; no task that meets its deadlines may take longer than
/// analysed.
fn run_random(sets: u64, seed: u64) {
    let folder = Folder::new(&format!("schedule-random-{seed}"));
    let files: Vec<String> =
        (0..sets).map(|set| folder.file(&format!("{set}.toml"), drawn(seed + set))).collect();
    let mut arguments = vec!["--target", BOTH];
    arguments.extend(files.iter().map(|file| &**file));
    let answer = schedule(&arguments);
    assert!(matches!(answer.status, Some(0 | 2)), "{answer:#?}");
    assert!(!answer.stdout.contains("longer than analysed. The analysis"), "{}", answer.stdout);
    let found = responses(&answer.stdout);
    assert!(found.len() as u64 > 2 * sets, "{}", answer.stdout);
    for (analysed, observed) in &found {
        // Both are shown with three digits.
        assert!(*observed <= analysed * 1.006, "{}", answer.stdout);
    }
    let near = found.iter().filter(|(analysed, observed)| *analysed <= 1.25 * observed).count();
    assert!(2 * near > found.len(), "{near} of {}: {}", found.len(), answer.stdout);
}

/// In two of the sets, a task of FreeRTOS once ended, which takes long, amid the last job of another.
#[test]
fn random_sets_respond_within_their_analysis() {
    run_random(4, 101);
}

#[test]
#[ignore = "50 sets on two kernels: ./chronoscope test long"]
fn fifty_random_sets_respond_within_their_analysis() {
    run_random(50, 100);
}
