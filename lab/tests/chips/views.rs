//! `chronoscope observe --view`: a kernel's tasks by their names. A program with a known number of
//! instructions between its events must show exactly that number; figures of a real kernel must be the
//! marks' and the kernel's own.

use std::{fs, path::PathBuf, process::Command};

use serde_json::Value;

use crate::{
    common::{
        Answer, Folder, chronoscope, documented::root, gives_the_same_bytes_twice, run, samples,
    },
    observe::figures,
    ordinary::{built, freertos},
    plugin::target as target_folder,
    watch_board::sent,
};

/// The options of a command that shall answer with JSON alone.
const QUIET: [&str; 4] = ["-q", "--no-store", "--format", "json"];

/// A record of two tasks, and the stores of a kernel: `a` becomes ready, runs 5 instructions later, and
/// waits for the object 10 after that; then it waits for the object while `b` holds it.
const KERNEL: &str = "
    .syntax unified
    .cpu cortex-m4
    .thumb
    .text
    .word 0x20001000
    .word reset
    .macro set field, value
    ldr r1, =\\value
    str r1, [r0, #\\field]
    .endm
    .thumb_func
    .globl reset, place, other
reset:
    ldr r5, =current
    ldr r0, =b
    set 0, ready
    set 4, 0
    set 8, b
    set 12, 0x62
    set 16, b_name
    ldr r0, =a
    set 0, waiting
    set 4, 0
    set 8, a
    set 12, 0x61
    set 16, a_name
    ldr r0, =object
    set 0, 0x1234
    set 8, b
    ldr r1, =b
    str r1, [r5]
    ldr r0, =a
    str r0, [r5]
    str r1, [r5]
    movs r7, #20
place:
    set 0, ready
    nop
    nop
    nop
    nop
    str r0, [r5]
other:
    nop
    nop
    movs r1, #0
    str r1, [r0]
    nop
    nop
    nop
    nop
    ldr r1, =waiting
    str r1, [r0]
    ldr r1, =b
    str r1, [r5]
    ldr r1, =ready
    str r1, [r0]
    ldr r1, =object + 4
    str r1, [r0, #4]
    ldr r1, =waiting
    str r1, [r0]
    nop
    ldr r1, =ready
    str r1, [r0]
    movs r1, #0
    str r1, [r0, #4]
    str r0, [r5]
    ldr r1, =waiting
    str r1, [r0]
    ldr r1, =b
    str r1, [r5]
    subs r7, #1
    bne place
    movs r0, #0x18
    ldr r1, =0x20026
    bkpt 0xab
    b .
    .ltorg
a_name: .asciz \"a\"
b_name: .asciz \"b\"
    .bss
    .macro variable name, bytes
    .balign 4
    .globl \\name
    .type \\name, %object
    .size \\name, \\bytes
\\name: .space \\bytes
    .endm
    variable current, 4
    variable a, 20
    variable b, 20
    variable object, 12
    variable ready, 4
    variable waiting, 4
";

const VIEW: &str = r#"
kernel = "two"
offsets-of = "two"
[running]
variable = "current"
[task]
state = { at = { offset = 0 }, ready-in = "ready" }
wait = { at = { offset = 4 } }
name = { at = { offset = 12 }, bytes = 4 }
[[task.check]]
at = { offset = 8 }
is = "task"
[[object]]
list = { offset = 4 }
check = { at = { offset = 0 }, is = 0x1234 }
held-if = { at = { offset = 0 }, is = 0x1234 }
holder = { offset = 8 }
[[sequence]]
name = ["odd turns", "even turns"]
from = "place"
to = "other"
published = "6 in nobody's report"
[[sequence]]
name = "never"
from = "reset"
to = "nowhere"
[[sequence]]
name = "once"
from = "other"
to = "reset"
"#;

/// The image of the kernel of two tasks.
fn two(folder: &Folder) -> String {
    let (source, object) = (folder.file("two.s", KERNEL), folder.path("two.o"));
    let image = folder.path("two.elf");
    let triple = ["--triple", "thumbv7em-none-eabi", "--filetype=obj", "-o"];
    run(Command::new("llvm-mc").args(triple).args([&object, &source])).exits(0);
    let places = ["-Ttext=0x08000000", "-Tbss=0x20000000", "-e", "reset", "-o"];
    run(Command::new("arm-none-eabi-ld").args(places).args([&image, &object])).exits(0);
    image
}

#[test]
fn each_figure_of_a_task_is_counted_to_the_instruction() {
    let folder = Folder::new("view-exact");
    let image = two(&folder);
    // Ready tasks by a number, an object by the state of who waits for it, and a name by its address.
    let by_number = VIEW
        .replace("ready-in = \"ready\"", "ready-is = 0x20000038")
        .replace("list = { offset = 4 }", "list = { offset = 4 }\nstate = 0x2000003c")
        .replace("offset = 12 }, bytes = 4", "offset = 16 }, to-zero = 4");
    for view in [VIEW, &by_number] {
        each_figure_is_exact(&image, &folder.file("two.toml", view));
    }
}

fn each_figure_is_exact(image: &str, view: &str) {
    let observe = ["observe", image, "--machine", "netduinoplus2", "--view", view];
    let json = chronoscope(&[&observe[..], &QUIET].concat()).exits(0).json();
    let case = &json["cases"][0];
    // A round has 37 instructions and two jobs. The second one waits for the object meanwhile.
    for (name, expected) in [
        ("a response", [40, 9, 12]),
        ("a ready to running", [40, 5, 10]),
        ("a release to release", [39, 18, 19]),
        ("a blocked", [39, 6, 10]),
        ("a blocked on object, held by b", [20, 3, 3]),
        ("odd turns", [10, 7, 7]),
        ("even turns", [10, 7, 7]),
    ] {
        assert_eq!(figures(case, name), expected, "{name}");
    }
    let log = case["log"].to_string();
    for line in [
        "`never` is left out: ",
        "has no symbol `nowhere`",
        "`once` is left out: `other` was executed 20 times, `reset` 1 times",
        "`odd turns`, published: 6 in nobody's report",
    ] {
        assert!(log.contains(line), "{line}: {log}");
    }
    gives_the_same_bytes_twice(&[&observe[..], &["-q", "--no-store"]].concat(), 4);
}

/// The application of `views/main.c`, with FreeRTOS from its source.
fn application(folder: &Folder, options: &[&str]) -> String {
    let sources = root().join("lab/tests/chips/views");
    let kernel = PathBuf::from(freertos());
    let image = folder.path(&format!("app{}.elf", options.concat()));
    let mut compiler = Command::new("arm-none-eabi-gcc");
    compiler.args(["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-O2"]);
    compiler.args(["-std=gnu99", "-ffreestanding", "-nostdlib", "-Wl,--gc-sections"]);
    compiler.args(["-ffunction-sections", "-fdata-sections"]).args(options);
    for folder in
        [&sources, &root().join("mark/include"), &root().join("ports/c/freestanding")].into_iter()
    {
        compiler.arg("-I").arg(folder);
    }
    let port = "portable/GCC/ARM_CM4F";
    compiler.arg("-I").arg(kernel.join("include")).arg("-I").arg(kernel.join(port));
    compiler.arg("-T").arg(sources.join("link.ld"));
    compiler.args(["main.c", "marks.c"].map(|file| sources.join(file)));
    let port = format!("{port}/port.c");
    for file in ["tasks.c", "queue.c", "list.c", &port, "portable/MemMang/heap_4.c"] {
        compiler.arg(kernel.join(file));
    }
    run(compiler.args(["-lgcc", "-o", &image])).exits(0);
    image
}

/// Observes an application by a view.
fn by_view(image: &str, view: &str, more: &[&str]) -> Answer {
    let observe = ["observe", image, "--machine", "netduinoplus2", "--view", view];
    chronoscope(&[&observe[..], more, &QUIET].concat())
}

/// A figure of a case.
#[track_caller]
fn figure(case: &Value, name: &str) -> f64 {
    let mut all = case["figures"].as_array().expect("a case has figures").iter();
    let found = all.find(|figure| figure["name"] == name);
    found.unwrap_or_else(|| panic!("no figure {name} in {case:#}"))["value"].as_f64().unwrap()
}

#[test]
fn an_application_of_freertos_is_shown_by_its_tasks_names() {
    let folder = Folder::new("view-freertos");
    let image = application(&folder, &["-g", "-DSTACK"]);
    let answer = by_view(&image, "freertos", &["--bound", "control response <= 2000"]);
    let json = answer.exits(2).json();
    let case = &json["cases"][0];
    // The task's own marks are within its jobs, the last of which does not end.
    let ([rounds, shortest, longest], work) =
        (figures(case, "control response"), figures(case, "work"));
    assert_eq!((rounds, work[0]), (59, 60));
    assert!(shortest > work[1] && longest > work[2], "{case:#}");
    assert!(longest > 100_000 && shortest < 1000, "{case:#}");
    let blocked = figures(case, "control blocked on state_lock, held by logger");
    assert!(blocked[0] > 3 && blocked[2] > 100_000 && blocked[2] < longest, "{case:#}");
    assert_eq!(figures(case, "control blocked on samples")[0], 60);
    for task in ["net", "logger"] {
        figures(case, &format!("{task} blocked"));
        figures(case, &format!("in task {task}"));
    }
    // The kernel's own count of the stack.
    let left = figures(case, "left");
    assert_eq!(figure(case, "logger stack left"), left[1] as f64);
    assert_eq!(
        ["control", "net", "logger", "IDLE"]
            .map(|task| { figure(case, &format!("{task} priority")) }),
        [5.0, 3.0, 1.0, 0.0]
    );
    let shares = ["control", "net", "logger", "IDLE", "handlers"];
    let shares: f64 =
        shares.iter().map(|name| figure(case, &format!("{name} processor share"))).sum();
    // The rest is the start.
    assert!(shares > 99.0 && shares < 100.0, "{shares}");
    // Everybody's instructions are the longest response.
    let log = case["log"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
    let line = log.clone().find(|line| line.starts_with("control: its longest response took"));
    let (_, parts) = line.unwrap().rsplit_once(": ").unwrap();
    let spent: u64 =
        parts.split(", ").map(|part| part.split(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(spent, longest, "{line:?}");
    assert!(parts.contains("by logger") && line.unwrap().contains("state_lock"), "{line:?}");
    // Without types, the offsets are the view's: all figures are the same.
    let untyped = application(&folder, &["-g1", "-DSTACK"]);
    let untyped = by_view(&untyped, "freertos", &[]).exits(0).json();
    assert_eq!(untyped["cases"][0]["series"], case["series"]);
}

/// The kernel's hooks, and the observer, in the same image: each instruction takes a nanosecond.
#[test]
fn tasks_of_freertos_by_its_hooks_are_those_of_the_view() {
    let folder = Folder::new("hooks-freertos");
    let image = application(&folder, &["-DCHRONO_MARK_BOARD", "-DCHRONO_MARK_SLOTS=1024"]);
    let own = by_hooks(&folder, &image);
    let seen = by_view(&image, "freertos", &[]).exits(0).json()["cases"][0].clone();
    for task in ["control", "net", "logger", "IDLE"] {
        let by_hooks = on_the_processor(&own, task);
        let by_view = samples(&seen, &format!("in task {task}"));
        // The view counts the start of the kernel to its first task. The last ones were never sent.
        assert!(by_hooks.len() > 10 && by_hooks.len() <= by_view.len(), "{task}: {own:#}");
        let pairs = by_hooks.iter().zip(&by_view).skip(1);
        assert!(pairs.clone().all(|(own, seen)| own == seen), "{task}: {by_hooks:?} {by_view:?}");
        samples(&own, &format!("{task}, ready to running"));
    }
}

/// The case of the marks that an image sends.
fn by_hooks(folder: &Folder, image: &str) -> Value {
    let stream = sent(folder, "netduinoplus2", image);
    let watch = ["watch", image, "--stream", &stream];
    chronoscope(&[&watch[..], &QUIET].concat()).exits(0).json()["cases"][0].clone()
}

/// A task's times on the processor by the kernel's hooks.
fn on_the_processor(case: &Value, task: &str) -> Vec<f64> {
    samples(case, &format!("{task}, on the processor"))
}

#[test]
fn tasks_of_tandem_by_its_hooks_are_those_of_the_view() {
    let folder = Folder::new("hooks-tandem");
    let image = built("tandem-hooks");
    let own = by_hooks(&folder, &image);
    let seen = by_view(&image, "tandem", &[]).exits(0).json()["cases"][0].clone();
    for task in ["control", "logger"] {
        let by_hooks = on_the_processor(&own, task);
        assert_eq!(by_hooks.len(), 21, "20 turns, and the end: {own:#}");
        assert_eq!(by_hooks, samples(&seen, &format!("in task {task}")), "{task}");
    }
    samples(&own, "control, ready to running");
}

/// embassy calls its hooks as functions, so the observer sees the same polls from the first instruction
/// of one to the first of the other.
#[test]
fn tasks_of_embassy_by_its_hooks_are_its_polls() {
    /// The second hook has that many instructions more before its mark than the first.
    const MORE: f64 = 1.0;
    let folder = Folder::new("hooks-embassy");
    let image = built("embassy-hooks");
    let own = by_hooks(&folder, &image);
    let [from, to] = ["begin", "end"].map(|end| format!("_embassy_trace_task_exec_{end}"));
    let observe = ["observe", &image, "--machine", "netduinoplus2", "--from", &from, "--to", &to];
    let seen = chronoscope(&[&observe[..], &QUIET].concat()).exits(0).json()["cases"][0].clone();
    let polls = samples(&seen, &format!("{from} to {to}"));
    for task in ["control", "logger"] {
        let by_hooks = on_the_processor(&own, task);
        assert_eq!(by_hooks.len(), 21, "20 turns, and the end: {own:#}");
        let is_seen = |length: &f64| polls.contains(&(length - MORE));
        assert!(by_hooks.iter().all(is_seen), "{task}: {by_hooks:?} {polls:?}");
    }
}

#[test]
fn switches_by_a_view_are_those_of_the_marks() {
    for (target, view, image) in [
        ("freertos@cortex-m4", "freertos", "chronoscope-freertos"),
        ("tandem@cortex-m4", "tandem", "chronoscope-tandem"),
    ] {
        let set = ["--set", "loops=500", "--set", "tasks=2", "--repeat", "1"];
        // Builds the image, too.
        let marked = ["run", "switch", "--target", target];
        let marked = chronoscope(&[&marked[..], &set, &QUIET].concat()).exits(0).json();
        let median = |json: &Value, name: &str| {
            let mut series = json["cases"][0]["series"].as_array().unwrap().iter();
            let found = series.find(|series| series["name"] == name);
            found.unwrap_or_else(|| panic!("no {name} in {json:#}"))["p50"].as_f64().unwrap()
        };
        let folder = target_folder().join("firmware/thumbv7em-none-eabihf/release");
        let image = folder.join(image).display().to_string();
        let request = ["--append", "switch loops=500 tasks=2"];
        let seen = by_view(&image, view, &request).exits(0).json();
        let expected = median(&marked, "switch");
        assert_eq!(median(&seen, "from switch to switch"), expected, "{target}");
    }
}

#[test]
fn an_image_that_is_not_the_view_s_is_one_line() {
    let folder = Folder::new("view-refused");
    let image = application(&folder, &["-g1"]);
    let shipped = fs::read_to_string(root().join("views/freertos.toml")).unwrap();
    let refused = |from: &str, to: &str, text: &str| {
        assert!(shipped.contains(from), "{from}");
        let view = folder.file("own.toml", shipped.replace(from, to));
        by_view(&image, &view, &[]).complains(text);
    };
    refused("offset = 52", "offset = 56", "has no printable name: the image has another kernel");
    refused("offset = 16 }", "offset = 12 }", "not the expected value: the image has another");
    refused("offset = 44 }", "offset = 45 }", "only words of 4 bytes are read");
    refused("\"pxCurrentTCB\"", "\"pxTopOfHeap\"", "has no symbol `pxTopOfHeap`");
    refused("fill =", "filling =", "unknown field `filling`");
    refused("[running]", "[gunning]", "unknown field `gunning`");
    refused("is = \"task\"", "", "needs `is` or `at-most`");
    refused("kernel = \"FreeRTOS\"", "kernel = ", "line 2: ");
    by_view(&image, "freertox", &[]).complains("did you mean freertos");
    by_view(&image, "/dev/null", &[]).complains("there is no view");
    by_view(&image, "tandem", &[]).complains("has no symbol `tandem::records::kernel::KERNEL`");
    by_view(&image, "freertos", &["--bound", "control response <= 5us"])
        .complains("an emulator counts instructions");
    let stripped = folder.path("stripped.elf");
    run(Command::new("arm-none-eabi-strip").args(["-o", &stripped, &image])).exits(0);
    by_view(&stripped, "freertos", &[]).complains("has no symbols");
    // Types of another release: a member is missing.
    let typed = application(&folder, &["-g"]);
    let view = folder.file("old.toml", shipped.replace("uxPriority", "uxUrgency"));
    by_view(&typed, &view, &[]).complains("has no member `uxUrgency`");
}
