//! The longest wait of an interrupt, by every arrival (`docs/worst.md`).

use std::{
    collections::BTreeMap,
    fs,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    common::{Folder, builder, chronoscope, effort, gives_the_same_bytes_twice, run},
    plugin::{plugin, target},
};

/// The waits that the lab finds, in the order of the arrivals.
fn waits(case: &Value) -> Vec<u64> {
    assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
    let series = &case["series"][0];
    let samples = series["samples"].as_array().unwrap();
    samples.iter().map(|sample| sample[1].as_f64().unwrap() as u64).collect()
}

fn worst(of: &str, target: &str) -> Vec<u64> {
    let case = ["worst", of, "--target", target, "--set", "tasks=2", "--format", "json"];
    waits(&chronoscope(&case).json()["cases"][0])
}

/// The waits in a round without a number of tasks.
fn worst_of_one(of: &str, target: &str) -> Vec<u64> {
    waits(&chronoscope(&["worst", of, "--target", target, "--format", "json"]).json()["cases"][0])
}

/// A chip, and how QEMU is started for it.
pub struct Chip {
    name: &'static str,
    triple: &'static str,
    qemu: &'static [&'static str],
}

/// The clock of `virt` counts from when the processor's counter does.
const CLOCK: &str = "base=1970-01-01T00:00:00,clock=vm";

pub const CORTEX_M4: Chip = Chip {
    name: "cortex-m4",
    triple: "thumbv7em-none-eabihf",
    qemu: &["qemu-system-arm", "-machine", "netduinoplus2"],
};
pub const RV32: Chip = Chip {
    name: "rv32",
    triple: "riscv32imc-unknown-none-elf",
    qemu: &[
        "qemu-system-riscv32",
        "-machine",
        "virt",
        "-cpu",
        "rv32,a=off,f=off,d=off,h=off,s=off,u=off",
        "-bios",
        "none",
        "-rtc",
        CLOCK,
    ],
};
const RV64: Chip = Chip {
    name: "rv64",
    triple: "riscv64imac-unknown-none-elf",
    qemu: &[
        "qemu-system-riscv64",
        "-machine",
        "virt",
        "-cpu",
        "rv64,f=off,d=off,h=off,sstc=off",
        "-bios",
        "none",
        "-rtc",
        CLOCK,
    ],
};

impl Chip {
    /// The image of a kernel, which the lab has built.
    pub fn image(&self, kernel: &str) -> String {
        let folder = target().join("firmware").join(self.triple).join("release");
        folder.join(format!("chronoscope-{kernel}")).display().to_string()
    }
}

/// QEMU with this image and these options of the plugin, until it ends.
fn qemu(chip: &Chip, image: &str, more: &[&str], options: &str) {
    let mut qemu = Command::new("timeout");
    qemu.arg("60")
        .args(chip.qemu)
        .args(["-icount", "shift=0,sleep=off,align=off", "-display", "none", "-monitor", "none"])
        .args(["-serial", "null", "-parallel", "null", "-kernel", image])
        .args(["-semihosting-config", "enable=on,target=native,arg=switch,arg=tasks=2"])
        .args(more)
        .args(["-plugin", &format!("{},{options}", plugin())])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    assert!(qemu.status().unwrap().success(), "{qemu:?}");
}

/// How often the instruction at which the samples of a switch start executes, by the loops of the case.
const STARTS: usize = 20_002;

/// The address of that instruction. On a RISC-V, the marks of the control are as many: they follow each
/// other sooner.
pub fn mark(chip: &Chip, image: &str, folder: &Folder) -> String {
    let loads = folder.path("loads");
    qemu(chip, image, &[], &format!("loads={loads}"));
    farthest_reads(&loads, STARTS)
}

/// The address that reads a clock this number of times, over the longest time.
fn farthest_reads(file: &str, count: usize) -> String {
    let mut times: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for line in fs::read_to_string(file).unwrap().lines() {
        let (time, at) = line.split_once(' ').unwrap();
        times.entry(at.to_owned()).or_default().push(time.parse().unwrap());
    }
    times.retain(|_, times| times.len() == count);
    let span = |times: &[u64]| times[times.len() - 1] - times[0];
    times.into_iter().max_by_key(|(_, times)| span(times)).expect("the samples start at a read").0
}

/// The place and the wait of the first arrival of a file.
fn first_arrival(file: &str) -> [u64; 2] {
    let text = fs::read_to_string(file).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("arrival ")).unwrap();
    let mut words = line.split(' ').map(|word| word.parse().unwrap());
    [words.next().unwrap(), words.next().unwrap()]
}

/// A process for each arrival: the image starts anew, and one interrupt comes. The full test takes a
/// few dozen arrivals of each kernel and the longest wait, the long one all arrivals.
#[test]
fn one_process_an_arrival_finds_the_same_waits() {
    for (chip, kernel, step) in [
        (CORTEX_M4, "tandem", 5),
        (CORTEX_M4, "freertos", 19),
        (RV32, "tandem", 5),
        (RV32, "freertos", 19),
        (RV64, "tandem", 19),
    ] {
        let step = if effort(1) > 1 { 1 } else { step };
        let folder = Folder::new(&format!("worst-{kernel}-{}", chip.name));
        let found = worst("switch", &format!("{kernel}@{}", chip.name));
        let image = chip.image(kernel);
        let (mark, arrivals) = (mark(&chip, &image, &folder), folder.path("arrivals"));
        let longest = (0..found.len()).max_by_key(|arrival| found[*arrival]);
        for arrival in (0..found.len()).step_by(step).chain(longest) {
            let options = format!("arrivals={arrivals},mark={mark},skip=40,first={arrival}");
            qemu(&chip, &image, &["-singlestep"], &options);
            let on = chip.name;
            assert_eq!(first_arrival(&arrivals), [arrival as u64, found[arrival]], "{kernel}@{on}");
        }
    }
}

/// The bench board around Ibex with this image of `rv32` and these options, until it ends.
fn bench(kernel: &str, options: &[&str]) {
    let mut bench = Command::new(target().join("bench/ibex/release/chronoscope-bench"));
    bench.arg(RV32.image(kernel)).args(["--request", "switch tasks=2 loops=1000"]).args(options);
    assert!(bench.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap().success());
}

/// The alarm of a core's own logic at every cycle of a round, and a start of the board for some of them.
#[test]
fn a_start_of_the_board_an_arrival_finds_the_same_waits() {
    for (kernel, step) in [("tandem", 13), ("freertos", 131)] {
        let step = if effort(1) > 1 { 1 } else { step };
        let folder = Folder::new(&format!("worst-{kernel}-ibex"));
        let found = worst("switch", &format!("{kernel}@ibex"));
        let (reads, arrivals) = (folder.path("reads"), folder.path("arrivals"));
        bench(kernel, &["--reads", &reads]);
        let mark = farthest_reads(&reads, 1002);
        let longest = (0..found.len()).max_by_key(|arrival| found[*arrival]);
        for arrival in (0..found.len()).step_by(step).chain(longest) {
            let first = arrival.to_string();
            let options = ["--mark", &mark, "--skip", "40", "--first", &first];
            bench(kernel, &[&["--arrivals", &arrivals], &options[..]].concat());
            assert_eq!(first_arrival(&arrivals), [arrival as u64, found[arrival]], "{kernel}@ibex");
        }
    }
}

/// A core needs some cycles to enter a handler. tandem masks interrupts for a hundred cycles, FreeRTOS for
/// twice as many; asleep, a core is in one state.
#[test]
fn a_real_core_has_its_longest_wait() {
    let case = ["worst", "switch", "--target", "tandem@ibex,freertos@ibex", "--set", "tasks=2"];
    let answer = chronoscope(&case);
    answer
        .exits(0)
        .shows(" arrivals tried: an interrupt waits at most ")
        .shows(" cycles in FreeRTOS, ");
    answer.shows("Exhaustive: every arrival in this round").shows(" cycles: arrival at cycle ");
    for (target, rounds, longest) in [
        ("tandem@ibex", 180..=230, 120..=160),
        ("freertos@ibex", 900..=1200, 250..=320),
        ("tandem@cv32e40p", 130..=230, 80..=160),
    ] {
        let waits = worst("switch", target);
        let found = waits.iter().copied().max().unwrap();
        assert!(rounds.contains(&waits.len()) && longest.contains(&found), "{target}: {found}");
        assert!(waits.iter().all(|wait| *wait == 0 || *wait >= 4), "{target}: {waits:?}");
    }
    let waits = worst_of_one("wakeup", "tandem@ibex");
    assert!((1000..2000).contains(&waits.len()), "{}", waits.len());
}

/// The title has the number of arrivals and the waits, the longest first, and a note says where. tandem
/// masks interrupts for a few dozen instructions, FreeRTOS for a hundred.
#[test]
fn the_answer_says_how_long_and_where() {
    let answer = chronoscope(&["worst", "switch", "--set", "tasks=2"]);
    answer.exits(0).shows(" arrivals tried: an interrupt waits at most ").shows(" in FreeRTOS, ");
    answer.shows("Exhaustive: every arrival in this round").shows("tandem, at most ");
    answer.shows("longest wait: ").shows("vPortRaiseBASEPRI, portmacro.h:");
    let [tandem, freertos] =
        ["tandem@cortex-m4", "freertos@cortex-m4"].map(|on| worst("switch", on));
    let longest = |waits: &[u64]| waits.iter().copied().max().unwrap();
    assert!((40..=50).contains(&longest(&tandem)), "{}", longest(&tandem));
    assert!((95..=110).contains(&longest(&freertos)), "{}", longest(&freertos));
    assert!((90..110).contains(&tandem.len()) && (550..580).contains(&freertos.len()));
}

/// `why` names the role that outlasts the other kernel's whole round; its rows add up to the last one,
/// which has as many instructions as `worst` has arrivals.
#[test]
fn the_parts_of_a_difference_add_up() {
    let case = ["why", "freertos@cortex-m4", "tandem@cortex-m4", "--set", "tasks=2"];
    let answer = chronoscope(&case);
    answer.exits(0).shows("FreeRTOS takes 5.7 × as many instructions: its ");
    answer.shows(" outlast tandem's whole round (");
    let number = |word: &str| word.replace('–', "0").replace('−', "-").parse::<i64>().ok();
    let numbers = |line: &str| line.split_whitespace().filter_map(number).collect::<Vec<i64>>();
    let rows = answer.stdout.lines().skip_while(|line| !line.starts_with("instructions")).skip(1);
    let rows: Vec<Vec<i64>> = rows.map(numbers).filter(|row| row.len() == 3).collect();
    let (all, parts) = rows.split_last().unwrap();
    for column in 0..3 {
        assert_eq!(parts.iter().map(|row| row[column]).sum::<i64>(), all[column], "{answer:#?}");
    }
    let arrivals =
        ["freertos@cortex-m4", "tandem@cortex-m4"].map(|on| worst("switch", on).len() as i64);
    assert_eq!(arrivals, [all[0], all[1]]);
}

/// In the time of a chip, each wait has the instruction of the arrival, the entry into the handler and the
/// bounds of the model.
#[test]
fn waits_in_the_time_of_a_chip_contain_the_instructions() {
    let chip = ["--chip", "stm32f405", "--clock", "10MHz"];
    let case = ["worst", "switch", "--target", "tandem@cortex-m4", "--set", "tasks=2"];
    let run = chronoscope(&[&case[..], &chip, &["--format", "json"]].concat()).json();
    let case = &run["cases"][0];
    assert_eq!(case["clock"]["domain"], "modelled", "{case:#}");
    let cycles = |series: usize| -> Vec<f64> {
        let samples = case["series"][series]["samples"].as_array().unwrap();
        samples.iter().map(|sample| sample[1].as_f64().unwrap() / 100.0).collect()
    };
    // An entry takes 12 cycles, and an instruction one at least.
    let instructions = worst("switch", "tandem@cortex-m4");
    assert_eq!(instructions.len(), cycles(0).len());
    let bounds = cycles(1).into_iter().zip(cycles(0)).zip(cycles(2));
    for (wait, ((least, estimate), most)) in instructions.iter().zip(bounds) {
        assert!(least >= 12.0 + 0.8 * *wait as f64, "{wait}: {least}");
        assert!(least <= estimate && estimate <= most && most <= 40.0 + 4.0 * *wait as f64);
    }
    let answer = chronoscope(&[&["worst", "switch", "--set", "tasks=2"], &chip[..]].concat());
    answer.exits(0).shows("Exhaustive: ").shows("; modelled cycles").shows(" µs in FreeRTOS, ");
}

/// A sample of a hundred switches: one of them is the round.
#[test]
fn a_round_is_one_of_many_equal_operations() {
    let found = worst("switch", "embassy@cortex-m4");
    assert!((300..450).contains(&found.len()), "{}", found.len());
}

/// On a RISC-V, a trap of another cause keeps an interrupt waiting. A kernel's timer comes by PLIC's line
/// 11, and the software interrupt of machine mode waits as long.
#[test]
fn a_risc_v_has_its_longest_wait() {
    let case = ["worst", "switch", "--target", "tandem@rv32,freertos@rv32", "--set", "tasks=2"];
    let answer = chronoscope(&case);
    answer.exits(0).shows(" arrivals tried: an interrupt waits at most ").shows(" in FreeRTOS, ");
    answer.shows("Exhaustive: every arrival in this round");
    let longest = |of, on| worst(of, on).into_iter().max().unwrap();
    let (tandem, freertos) = (longest("switch", "tandem@rv32"), longest("switch", "freertos@rv32"));
    assert!((60..=80).contains(&tandem), "{tandem}");
    assert!((155..=180).contains(&freertos), "{freertos}");
    assert_eq!(longest("switch", "bare@rv32"), 0);
    assert!((300..900).contains(&worst("switch", "embassy@rv32").len()));
    // The round has the timer's own interrupt, whose handler takes an arrival while it has not cleared the
    // device. Without that, an arrival would wait for the next round; 200 instructions are a handler.
    let sleeps = ["worst", "wakeup", "--target", "tandem@rv32", "--format", "json"];
    let sleeps = waits(&chronoscope(&sleeps).json()["cases"][0]);
    assert!(sleeps.len() > 500 && sleeps.iter().all(|wait| *wait < 200), "{sleeps:?}");
    let software = [&case[..], &["--set", "interrupt=3", "--format", "json"]].concat();
    let run = chronoscope(&software).json();
    assert_eq!(waits(&run["cases"][0]), worst("switch", "tandem@rv32"));
}

/// The longest stretch with interrupts off, which `masked` finds in samples.
fn sampled(target: &str, tasks: &str) -> u64 {
    let case = ["run", "masked", "--target", target, "--set", tasks, "--format", "json"];
    let run = chronoscope(&case).json();
    let case = &run["cases"][0];
    let mut figures = case["figures"].as_array().unwrap().iter();
    let masked = figures.find(|figure| figure["name"] == "masked");
    masked.unwrap_or_else(|| panic!("{target} {tasks}: {:#}", case["verdict"]))["value"]
        .as_f64()
        .unwrap() as u64
}

/// Each arrival in a round of `masked` waits at most as long as the longest, and no sample of `masked`
/// more, but for what meets work that is `beyond` the round. Returns the longest wait, and the number of arrivals.
fn holds_every_sample(target: &str, tasks: &str) -> (u64, usize) {
    // tandem's timers are handed to the task that files them in some rounds alone.
    let beyond = if target.starts_with("tandem") { 10 } else { 0 };
    let case = ["worst", "masked", "--target", target, "--set", tasks, "--format", "json"];
    let found = waits(&chronoscope(&case).json()["cases"][0]);
    let (longest, sampled) = (found.iter().copied().max().unwrap(), sampled(target, tasks));
    // Samples are spread over the round: in a longer one, they are farther apart.
    let apart = 20 + found.len() as u64 / 1000;
    let is_near = sampled <= longest + beyond && longest <= sampled + apart;
    assert!(is_near, "{target} {tasks}: {sampled} {longest}");
    (longest, found.len())
}

/// The experiment's own interrupt comes in each round, too, and its handler is no part of the round.
#[test]
fn the_longest_stretch_with_interrupts_off_is_exhaustive() {
    let (tandem, arrivals) = holds_every_sample("tandem@cortex-m4", "tasks=2");
    assert!((70..=95).contains(&tandem) && arrivals > 1000, "{tandem} of {arrivals}");
    let (freertos, arrivals) = holds_every_sample("freertos@cortex-m4", "tasks=2");
    assert!((140..=165).contains(&freertos) && arrivals > 2000, "{freertos} of {arrivals}");
}

#[test]
#[ignore = "takes minutes: ./chronoscope test long"]
fn the_longest_stretches_of_five_kernels_are_exhaustive() {
    for kernel in ["tandem", "freertos", "embassy", "rtic", "lilos"] {
        for tasks in ["tasks=2", "tasks=10"] {
            holds_every_sample(&format!("{kernel}@cortex-m4"), tasks);
        }
    }
    holds_every_sample("tandem@cortex-m4", "tasks=30");
    holds_every_sample("freertos@cortex-m4", "tasks=30");
}

/// A row of the table of `docs/tandem.md`: the question, its states, and the longest wait on each target.
type Row = (Vec<&'static str>, &'static str, Vec<(&'static str, u64)>);

fn rows_of_tandem() -> Vec<Row> {
    let page = include_str!("../../../docs/tandem.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `worst "));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (question, _) = cells[0].split_once('`').expect("a command");
        let question = question.split(' ').collect();
        let targets = ["tandem@cortex-m4", "tandem@rv32", "tandem@ibex"].into_iter();
        let waits =
            targets.zip(&cells[2..5]).filter_map(|(on, wait)| Some((on, wait.parse().ok()?)));
        (question, cells[1], waits.collect())
    })
    .collect()
}

/// The page has the longest wait of all states. The full test asks for the first state, on a Cortex-M4.
#[test]
fn the_page_of_tandem_has_its_longest_waits() {
    let is_long = effort(1) > 1;
    let rows = rows_of_tandem();
    assert!(rows.len() > 10, "{rows:?}");
    for (question, states, known) in rows {
        let states = states.replace(", ", ",");
        let asked = if is_long { &states } else { states.split(',').next().unwrap() };
        let asked = format!("tasks={asked}");
        for (on, expected) in known.into_iter().take(if is_long { 3 } else { 1 }) {
            let mut case = vec!["worst", question[0], "--target", on, "--format", "json"];
            let tasks = Some(&*asked).filter(|_| states != "–");
            let sets = question[1..].iter().copied().chain(tasks);
            sets.for_each(|set| case.extend(["--set", set]));
            let run = chronoscope(&case).json();
            let longest = run["cases"].as_array().unwrap().iter().flat_map(waits).max().unwrap();
            let holds = longest == expected || !is_long && longest < expected;
            assert!(holds, "{case:?}: {longest}, and docs/tandem.md has {expected}");
        }
    }
}

/// The rounds of `tandem/firmware/src/bin/rounds.rs`, each with its arrivals and its longest wait. The full
/// test asks on a Cortex-M4 alone.
#[test]
fn the_page_of_tandem_has_the_longest_waits_of_its_other_calls() {
    const BOARDS: [(&str, &str); 2] =
        [("thumbv7em-none-eabihf", "netduinoplus2"), ("riscv32imc-unknown-none-elf", "virt")];
    let page = include_str!("../../../docs/tandem.md");
    let rows: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("| `--from ")).collect();
    assert!(rows.len() > 20, "{rows:?}");
    for (board, (triple, machine)) in
        BOARDS.into_iter().take(1 + usize::from(effort(1) > 1)).enumerate()
    {
        let build = ["firmware", triple, "build", "--release", "--locked"];
        let program = ["--package", "tandem-firmware", "--bin", "rounds"];
        run(builder().args([&build[..], &program].concat())).exits(0);
        let image = target().join("firmware").join(triple).join("release/rounds");
        for row in &rows {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [arrivals, longest] = [2, 3].map(|cell| cells[cell + 2 * board]);
            let place = cells[0].trim_end_matches('`');
            let observe = ["observe", image.to_str().unwrap(), "--machine", machine, "--no-store"];
            let arrivals_of = ["--from", place, "--arrivals", "timer"];
            chronoscope(&[&observe[..], &arrivals_of].concat()).exits(0).shows(&format!(
                "All {arrivals} arrivals tried: an interrupt waits at most {longest} instructions"
            ));
        }
    }
}

/// A tick more than there should be delays the rounds of FreeRTOS for long: an image starts anew for
/// each arrival of them.
#[test]
#[ignore = "takes minutes: ./chronoscope test long"]
fn rounds_that_do_not_come_back_are_tried_by_restarts() {
    let found = worst_of_one("wakeup", "freertos@cortex-m4");
    assert!(found.len() > 1000, "{}", found.len());
}

/// The longest wait is in one of the states, which the answer names.
#[test]
fn several_states_are_one_answer() {
    let case = ["worst", "switch", "--target", "tandem@cortex-m4", "--set", "tasks=2,10"];
    let answer = chronoscope(&case);
    answer.exits(0).shows(" in 2 states tried: an interrupt waits at most ");
    answer.shows("from 2 states each; nothing is sampled");
    let run = chronoscope(&[&case[..], &["--format", "json"]].concat()).json();
    let longest = |case: usize| waits(&run["cases"][case]).into_iter().max().unwrap();
    let (two, ten) = (longest(0), longest(1));
    let worst = if ten > two { "tasks=10" } else { "tasks=2" };
    answer.shows(&format!("tandem ({worst})"));
}

/// With the interrupt that the experiment raises, at every instruction of the round: 80,000 pairs.
#[test]
#[ignore = "takes half a minute: ./chronoscope test long"]
fn every_pair_of_arrivals_is_tried() {
    let alone = chronoscope(&["worst", "interrupt", "--target", "tandem@cortex-m4"]);
    alone.exits(0).shows("an interrupt waits at most 73 instructions");
    let pair =
        chronoscope(&["worst", "interrupt", "--nested", "56", "--target", "tandem@cortex-m4"]);
    pair.exits(0).shows("pairs of arrivals tried: an interrupt waits at most 99 instructions");
}

/// A repetition tries the same arrivals again.
#[test]
fn repetitions_are_no_more_arrivals() {
    let case = ["worst", "switch", "--target", "tandem@cortex-m4"];
    let title = |more: &[&str]| {
        let answer = chronoscope(&[&case[..], more].concat());
        answer.exits(0).shows("All ").shows(" arrivals tried: ");
        let mut lines = answer.stdout.lines();
        lines.find(|line| line.starts_with("All ")).unwrap().to_owned()
    };
    assert_eq!(title(&["--repeat", "2"]), title(&[]));
}

#[test]
fn a_run_is_the_same_bytes_twice() {
    gives_the_same_bytes_twice(&["worst", "message", "--target", "tandem@cortex-m4"], 2);
}

#[test]
fn impossible_questions_are_one_line() {
    let ask = |more: &[&str]| chronoscope(&[&["worst"], more].concat());
    ask(&["switch", "message"]).complains("one experiment at a time");
    ask(&["switch", "--nested", "3", "--target", "tandem@rv32"]).shows("on a Cortex-M alone");
    ask(&["masked", "--nested", "44"]).shows("one at a time: leave out `nested`");
    ask(&["period"]).complains("it is one of switch, wakeup, message, interrupt, masked");
    ask(&["message", "--set", "tasks=2"]).shows("`message` has no parameter `tasks`");
    ask(&["masked", "--target", "tandem@rv32"])
        .shows("shares its interrupt with the kernel's alarm");
    ask(&["masked", "--target", "tandem@ibex"])
        .complains("the timer of `masked` shares its interrupt with the kernel's alarm");
    ask(&["--target", "tandem@ibex", "--set", "interrupt=7"]).complains("leave out `interrupt`");
    ask(&["--target", "tandem@ibex", "--set", "pins=yes"]).complains("leave out `pins`");
    ask(&["--target", "tandem@cva6"]).complains("does not show its instructions");
    ask(&["switch", "--target", "tandem@cortex-m0"]).shows("cannot be made pending here");
    let why = |more: &[&str]| chronoscope(&[&["why"], more].concat());
    why(&["tandem@cortex-m4", "tandem@cortex-m4"]).complains("twice: name two targets");
    why(&["tandem@cortex-m4", "linux@host"]).complains("does not show the instructions of a round");
    // An image may be built first, which is said above the one line.
    let refused = |other: &str, reason: &str| {
        let answer = why(&["tandem@cortex-m4", other]);
        let last = answer.exits(1).stderr.lines().last().unwrap();
        assert!(last.contains(reason), "{answer:?}");
    };
    refused("tandem@cortex-m0", "cannot be looked at");
    refused("tandem@rv32", "have different instruction sets");
    ask(&["switch", "--set", "interrupt=99"]).shows("has not enabled that exception, but: 44");
}
