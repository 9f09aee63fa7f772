//! Tests the built program with an image of a few instructions, on the core with which it was
//! built.

mod program;

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use program::interrupted_once;

/// The output and the files of a run.
struct Run {
    output: Output,
    pins: String,
    profile: String,
    retired: String,
}

/// Runs an image with all instruments, in a directory of the test's own.
fn run(test: &str, image: &[u8], options: &[&str]) -> Run {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&directory).unwrap();
    let file = |name: &str| directory.join(name);
    fs::write(file("image"), image).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_chronoscope-bench"))
        .arg(file("image"))
        .args(["--limit", "100000000000"])
        .args(options)
        .arg("--pins")
        .arg(file("pins"))
        .arg("--profile")
        .arg(file("profile"))
        .arg("--retired")
        .arg(file("retired"))
        .output()
        .unwrap();
    let read = |name: &str| fs::read_to_string(file(name)).unwrap_or_default();
    Run { output, pins: read("pins"), profile: read("profile"), retired: read("retired") }
}

/// The edges of each channel: (tick, level).
fn edges(pins: &str) -> BTreeMap<String, Vec<(u64, char)>> {
    let mut names = BTreeMap::new();
    let mut edges = BTreeMap::<String, Vec<_>>::new();
    let mut tick = 0;
    for line in pins.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match (words.as_slice(), line.split_at_checked(1)) {
            (["$var", "wire", "1", identifier, name, "$end"], _) => {
                names.insert(identifier.to_string(), name.to_string());
            }
            (_, Some(("#", time))) => tick = time.parse().unwrap(),
            (_, Some((level @ ("0" | "1"), identifier))) if tick > 0 => {
                edges
                    .entry(names[identifier].clone())
                    .or_default()
                    .push((tick, level.chars().next().unwrap()));
            }
            _ => (),
        }
    }
    edges
}

fn rise(run: &Run, channel: &str) -> u64 {
    let edges = edges(&run.pins);
    edges[channel].iter().find(|(_, level)| *level == '1').expect("it rises").0
}

fn fall(run: &Run, channel: &str) -> u64 {
    let edges = edges(&run.pins);
    edges[channel].iter().find(|(_, level)| *level == '0').expect("it falls").0
}

/// The cycles from the rise of the interrupt line to the retirement of the handler's first
/// instruction.
fn latency(run: &Run) -> u64 {
    let first = run.retired.lines().find(|line| line.contains(" i")).expect("a handler ran");
    first.split(' ').next().unwrap().parse::<u64>().unwrap() - rise(run, "irq")
}

#[test]
fn equal_runs_leave_equal_bytes() {
    let image = interrupted_once(true, 0);
    let [one, two] = ["equal-1", "equal-2"].map(|test| run(test, &image, &["--seed", "7"]));
    assert!(one.output.status.success(), "{:?}", one.output);
    assert_eq!((one.pins, one.profile, one.retired), (two.pins, two.profile, two.retired));
}

#[test]
fn the_seed_moves_the_interrupt() {
    let image = interrupted_once(false, 0);
    let rises: Vec<u64> = (1..5)
        .map(|seed| {
            rise(&run(&format!("seed-{seed}"), &image, &["--seed", &seed.to_string()]), "irq")
        })
        .collect();
    let (first, last) = (*rises.iter().min().unwrap(), *rises.iter().max().unwrap());
    assert!(first < last && last - first < 256, "{rises:?}");
}

#[test]
fn the_first_instruction_of_a_handler_comes_in_a_few_cycles() {
    for seed in 1..5 {
        let seed = seed.to_string();
        let busy =
            latency(&run(&format!("busy-{seed}"), &interrupted_once(false, 0), &["--seed", &seed]));
        let asleep = latency(&run(
            &format!("asleep-{seed}"),
            &interrupted_once(true, 0),
            &["--seed", &seed],
        ));
        println!("seed {seed}: {busy} cycles from a loop, {asleep} from sleep");
        assert!((4..=9).contains(&busy), "{busy}");
        assert!((4..=9).contains(&asleep), "{asleep}");
    }
}

#[test]
fn idle_time_is_skipped_and_counted() {
    let far = run("far", &interrupted_once(true, 1), &[]);
    assert!(far.output.status.success(), "mcycle and the board's time agree: {:?}", far.output);
    let near = run("near", &interrupted_once(true, 0), &[]);
    assert_eq!(rise(&far, "irq") - rise(&near, "irq"), 1 << 32);
    assert_eq!(latency(&far), latency(&near));
}

#[test]
fn the_profile_adds_up_to_the_window() {
    for wait_states in ["0", "5"] {
        let run = run(
            &format!("profile-{wait_states}"),
            &interrupted_once(true, 0),
            &["--wait-states", wait_states],
        );
        let (head, rest) = run.profile.split_once('\n').unwrap();
        let window = fall(&run, "D0") - rise(&run, "D0");
        let head: Vec<&str> = head.split(' ').collect();
        let ["windows", "1", "cycles", awake, "asleep", asleep] = head[..] else {
            panic!("{head:?}")
        };
        let [awake, asleep]: [u64; 2] = [awake, asleep].map(|count| count.parse().unwrap());
        assert_eq!(awake + asleep, window);
        assert_eq!(asleep, fall(&run, "sleep") - rise(&run, "sleep"));
        let rows: Vec<Vec<u64>> = rest
            .lines()
            .map(|line| {
                let (pc, counts) = line.split_once(' ').unwrap();
                let counts = counts.split(' ').map(|count| count.parse::<u64>().unwrap());
                [u64::from_str_radix(pc, 16).unwrap()].into_iter().chain(counts).collect()
            })
            .collect();
        assert_eq!(rows.iter().map(|row| row[1]).sum::<u64>(), awake);
        assert!(rows.is_sorted_by_key(|row| row[0]));
        let entered: Vec<u64> = rows.iter().filter(|row| row[3] != 0).map(|row| row[0]).collect();
        assert_eq!(entered, [0x8000_012c], "the vector of the external interrupt");
    }
}

#[test]
fn wait_states_take_time() {
    let cycles = |states| {
        let run =
            run(&format!("wait-{states}"), &interrupted_once(true, 0), &["--wait-states", states]);
        fall(&run, "D0") - rise(&run, "irq")
    };
    assert!(cycles("0") < cycles("1") && cycles("1") < cycles("5"));
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    let complaint = |run: Run| {
        assert_eq!(run.output.status.code(), Some(1));
        let text = String::from_utf8(run.output.stderr).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    };
    assert!(complaint(run("bad-elf", b"no program", &[])).contains("not a 32-bit ELF file"));
    let image = interrupted_once(false, 1);
    assert!(
        complaint(run("bad-number", &image, &["--wait-states", "6"])).contains("at most 5, not 6")
    );
    assert!(
        complaint(run("limit", &image, &["--limit", "5000"]))
            .contains("not over after 5000 cycles")
    );
    let mut early = interrupted_once(false, 0);
    early[52 + 32..][..4].copy_from_slice(&0x0010_0073u32.to_le_bytes());
    assert!(complaint(run("breakpoint", &early, &[])).contains("breakpoint at 0x80000000"));
}
