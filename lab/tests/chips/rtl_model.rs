//! The rules for Ibex and CV32E40P (`cycles/src/riscv`), against the cores' own logic on the bench
//! board. The figures are exact on both sides, so every interval is held.

use std::{fs, process::Command};

use chronoscope_cycles::{
    Sum,
    riscv::{CV32E40P, Class, Core, IBEX, IBEX_MAXPERF, Instruction, Model, Next, Step},
};
use serde_json::Value;

use crate::{
    common::{Folder, builder, cases, run},
    plugin::target,
};

/// The cores by their names on the bench board.
const CORES: [(&str, &Core); 3] =
    [("ibex", &IBEX), ("ibex-wb", &IBEX_MAXPERF), ("cv32e40p", &CV32E40P)];

/// The number of the control register that marks read.
const MCYCLE: u16 = 0xb00;

/// A retired instruction of the board's trace.
struct Retired {
    /// The cycle in which the instruction left the stage that decodes.
    cycle: u64,
    at: u32,
    instruction: Instruction,
    /// The first one of an interrupt's handler.
    is_entry: bool,
    /// The core has slept before it.
    has_slept: bool,
}

impl Retired {
    fn parse(line: &str) -> Self {
        let fields: Vec<&str> = line.split(' ').collect();
        let number = |field: usize| u32::from_str_radix(fields[field], 16).unwrap();
        Self {
            cycle: fields[0].parse().unwrap(),
            at: number(1),
            instruction: Instruction::decode(number(2)).unwrap_or_else(|_| panic!("{line}")),
            is_entry: fields[3..].contains(&"i"),
            has_slept: fields[3..].iter().any(|field| field.starts_with('w')),
        }
    }
}

/// An interval between two reads of the clock, and its cycles by the model.
struct Interval {
    cycles: u64,
    model: Sum,
    /// A quotient takes 2 cycles if the divisor is 0, which the model cannot tell: wide bounds.
    divides: bool,
}

impl Interval {
    fn is_within_bounds(&self) -> bool {
        (self.model.least..=self.model.most).contains(&self.cycles)
    }

    /// The distance of the bounds from their middle, as a part of it.
    fn half_width(&self) -> f64 {
        let Sum { least, most, .. } = self.model;
        (most - least) as f64 / (most + least) as f64
    }

    /// The error of the estimate, as a part of the cycles.
    fn error(&self) -> f64 {
        (self.model.estimate() / self.cycles as f64 - 1.0).abs()
    }
}

/// All intervals between two reads of the clock in which the core neither sleeps nor calls its debugger.
fn intervals(trace: &str, core: &'static Core) -> Vec<Interval> {
    let retired: Vec<Retired> = trace.lines().map(Retired::parse).collect();
    let mut model = Model::new(core);
    let mut last: Option<(u64, Sum)> = None;
    let mut divides = false;
    let mut intervals = Vec::new();
    for pair in retired.windows(2) {
        let [now, next] = pair else { unreachable!() };
        let Retired { cycle, at, instruction, .. } = *now;
        if matches!(instruction.class, Class::Control { register: MCYCLE, .. }) {
            let sum = *model.sum();
            if let Some((start, before)) = last.replace((cycle, sum)) {
                intervals.push(Interval { cycles: cycle - start, model: sum - before, divides });
            }
            divides = false;
        }
        divides |= instruction.class == Class::Divide;
        let goes_on = instruction.leads_to(at, next.at);
        let is_call = instruction.class == Class::Call || !goes_on && !next.is_entry;
        if is_call || next.has_slept {
            last = None;
        }
        let is_trap = next.is_entry || !goes_on;
        let next = Next { at: next.at, instruction: next.instruction, is_trap };
        model.step(&Step { at, instruction, address: None, next });
    }
    intervals
}

/// The board's trace of a case of tandem, from its first mark on.
fn trace(core: &str, request: &str, folder: &Folder) -> String {
    let built = target()
        .join("firmware/pins/firmware/riscv32imc-unknown-none-elf/release/chronoscope-tandem");
    let file = |name: &str| folder.path(&format!("{core}-{name}"));
    let bench = target().join("bench").join(core).join("release/chronoscope-bench");
    let mut bench = Command::new(bench);
    bench.arg(built).args(["--request", request, "--pins", &file("pins")]);
    run(bench.args(["--retired", &file("retired")]).stdout(fs::File::create(file("out")).unwrap()));
    fs::read_to_string(file("retired")).unwrap()
}

/// The instructions that the board retired, with the board's own cycles: nothing but the rules is
/// compared. The estimate's error is printed for `docs/cycles.md`.
#[test]
fn every_interval_of_the_board_is_within_the_bounds() {
    let folder = Folder::new("rtl-model");
    run(builder().args(["images", "build", "tandem@ibex", "pins"])).exits(0);
    for (name, core) in CORES {
        run(builder().args(["bench", name, "build"])).exits(0);
        for request in ["switch", "wakeup", "message", "interrupt", "masked"] {
            let trace = trace(name, &format!("{request} loops=100"), &folder);
            let intervals = intervals(&trace, core);
            assert!(intervals.len() > 50, "{name} {request}: {}", intervals.len());
            let outside = intervals.iter().filter(|interval| !interval.is_within_bounds());
            let outside: Vec<(u64, Sum)> =
                outside.map(|interval| (interval.cycles, interval.model)).collect();
            assert!(outside.is_empty(), "{name} {request}: {outside:?}");
            // Between two samples `masked` may divide a number of 64 bits.
            let (dividing, others): (Vec<_>, Vec<_>) =
                intervals.iter().partition(|interval| interval.divides);
            assert!(dividing.len() * 20 < others.len(), "{name} {request}: {}", dividing.len());
            let widest = others.into_iter().map(Interval::half_width).fold(0.0, f64::max);
            assert!(widest < 0.05, "{name} {request}: {widest}");
            let errors = intervals.iter().map(Interval::error);
            let mean = errors.sum::<f64>() / intervals.len() as f64;
            println!(
                "{name} {request}: {} intervals, bounds ± {:.1} % at most, error {:.2} %",
                intervals.len(),
                100.0 * widest,
                100.0 * mean
            );
            assert!(mean < 0.02, "{name} {request}: {mean}");
        }
    }
}

/// A statistic of a series in cycles of a clock of 100 MHz.
fn statistic(case: &Value, bound: &str, statistic: &str) -> f64 {
    let series = case["series"].as_array().unwrap();
    let is_measured = |series: &&Value| series["role"] == "measured";
    let name = series.iter().find(is_measured).unwrap()["name"].as_str().unwrap();
    let name = format!("{name}{bound}");
    let found = series.iter().find(|series| series["name"] == *name).unwrap();
    found[statistic].as_f64().unwrap()
}

/// An image in QEMU with `--chip`, and the same image on the board. The image is FreeRTOS' for CV32E40P, on
/// which tandem has no stack guards.
#[test]
fn modelled_cases_hold_the_cycles_of_the_board() {
    let few = ["--repeat", "1", "--set", "loops=100"];
    for (core, _) in CORES {
        let experiments = ["switch", "wakeup", "message", "interrupt"];
        let kernel = if core == "cv32e40p" { "freertos" } else { "tandem" };
        let (emulated, simulated) = (format!("{kernel}@rv32"), format!("{kernel}@{core}"));
        let chip = ["--target", &emulated, "--chip", core];
        let modelled = cases(&[&experiments[..], &chip, &few].concat());
        let real = cases(&[&experiments[..], &["--target", &simulated], &few].concat());
        assert_eq!(modelled.len(), 4);
        for (model, real) in modelled.iter().zip(&real) {
            assert_eq!(model["experiment"], real["experiment"]);
            assert_eq!(model["clock"]["domain"], "modelled");
            assert_eq!(real["clock"]["domain"], "cycles");
            let ns = |bound, name| statistic(model, bound, name);
            let cycles = |name| statistic(real, "", name);
            let what = format!("{core} {} {}", real["target"], real["experiment"]);
            for name in ["min", "p50", "max"] {
                let [least, estimate, most] =
                    [", at least", "", ", at most"].map(|bound| ns(bound, name) / 10.0);
                println!("{what} {name}: {} in {least}..{most}, {estimate}", cycles(name));
                assert!(least <= cycles(name) && cycles(name) <= most, "{what} {name}");
                assert!((most - least) / (most + least) < 0.15, "{what} {name}");
            }
        }
    }
}
