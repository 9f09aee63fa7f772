//! Mistakes of a command line: each is one line that says what to write instead, with status 1, and none
//! leaves a run, a store or a file behind.

use std::fs;

use crate::common::{Folder, program, run};

/// A command line, and the part of its message that mends it.
const MISTAKES: &[(&str, &str)] = &[
    ("run swich", "did you mean `switch`? `chronoscope list`"),
    ("run quik", "did you mean the study `quick`?"),
    ("run switch --target tandem@cortex-m9", "did you mean tandem@cortex-m0,"),
    ("run switch --target linux", "write kernel@machine, as linux@host"),
    ("run switch --target zephyr@cortex-m4", "given as an image, zephyr=IMAGE@cortex-m4;"),
    ("run switch --target tandem@stm32f4", "`--target tandem@cortex-m4 --chip stm32f401`;"),
    ("rnu", "did you mean `run`?"),
    ("run interrupt --target tandem@cortex-m4 --set tasks=2", "one of delay, period, switch,"),
    ("run period -i 1.5x", "write a whole number of µs, or a time with its"),
    ("run switch --set taks=2", "did you mean `tasks`? `chronoscope list"),
    ("run switch --set tasks=0", "it is a whole number from 2 to 1000"),
    ("run switch --set tasks=two", "it is a whole number from 2 to 1000"),
    ("run switch --set tasks", "write NAME=VALUE"),
    ("run switch --set tasks=2 --set tasks=3", "give all its values at once, as --set"),
    ("run switch -t x", "`chronoscope --help` shows"),
    ("run switch -l 0", "`chronoscope --help` shows"),
    ("run switch -D 5x", "write a number and s, m, h or d, up to a"),
    ("run period -p 98", "it is a whole number from 1 to 91"),
    ("run period -p -1", "`chronoscope --help` shows"),
    ("run period -i 1", "it is a whole number from 10 to 10000000"),
    ("run period -a 3-1", "it is a processor, a list as 0+2, a range"),
    ("run period -a x", "it is a processor, a list as 0+2, a range"),
    ("run period -h400", "`chronoscope cyclictest` takes cyclictest's"),
    ("run period --histogram=4", "`chronoscope cyclictest` takes cyclictest's"),
    ("run switch --repeat 99999999999", "write at most 1000000, or a duration, as -D 1h"),
    ("run switch --repeat 0", "`chronoscope --help` shows"),
    ("run switch --deadline", "'--explain'"),
    ("run switch -b 0", "`chronoscope --help` shows"),
    ("run ./no.toml", "name a study that exists"),
    ("run file.txt.toml", "expected `=`"),
    ("run switch --study quick --study peers", "`chronoscope --help` shows"),
    ("run --study nope", "the studies are isolated, microcontrollers,"),
    ("run switch --format xml", "answer, table, json, google-benchmark,"),
    ("run switch -o /no/such/folder/x.json", "make it first"),
    ("run switch -o d", "name a file in it"),
    ("run switch --chip stm32f405", "`chronoscope list EXPERIMENT` shows all"),
    (
        "run switch --target tandem@cortex-m4 --chip stm32f999",
        "the chips with a model are stm32f401,",
    ),
    (
        "run switch --target tandem@cortex-m4 --chip stm32f405 --clock 999MHz",
        "stm32f405 runs at 1MHz to 168MHz",
    ),
    ("run switch --target tandem@cortex-m4 --clock 84MHz", "`chronoscope --help` shows"),
    ("run switch --target x=none.elf@cortex-m4", "build the image first"),
    ("run switch --kernel-modules d", "add --kernel-image FILE --target linux@vm,"),
    ("run switch --kernel-image none", "add --target linux@vm"),
    ("run switch --shard 3/2", "write I/N, as 1/8 to 8/8, with an N of at"),
    ("run switch --machine serial:", "write its device, as"),
    ("run switch --place", "`chronoscope --help` shows"),
    ("run switch --until-sure", "'--no-store'"),
    ("run switch --vary x", "write their number from 1 to 1000, and a"),
    ("compare", "`chronoscope --help` shows"),
    ("compare a", "`chronoscope --help` shows"),
    ("compare linux@host", "`chronoscope --help` shows"),
    ("report 7", "`chronoscope run` makes it"),
    ("report none.json", "write a number, last, last-1, or the name"),
    ("report file.txt", "is not JSON"),
    ("report last --format xml", "answer, table, json, google-benchmark,"),
    ("explain p98", "did you mean p90, p99 "),
    ("list swich", "did you mean `switch`? `chronoscope list`"),
    ("history swich", "`chronoscope run` makes it"),
    ("history --label", "`chronoscope --help` shows"),
    ("baseline check none.toml", "No such file or directory"),
    ("trace 7", "`chronoscope run` makes it"),
    ("plan", "`chronoscope --help` shows"),
    ("plan 1e-6x", "`chronoscope --help` shows"),
    ("observe", "`chronoscope --help` shows"),
    ("observe none.elf --machine virt", "build it first"),
    ("observe file.txt --machine virt", "name the file that the linker wrote"),
    ("observe file.txt --machine vird", "did you mean virt, microbit or"),
    ("watch", "`chronoscope --help` shows"),
    ("watch none.elf", "a program of this computer stands behind --"),
    ("watch -- ./none", "write its path, as -- ./app"),
    ("watch --pid 4194305", "name another, or start as root"),
    ("watch file.txt --machine virt", "name the file that the linker wrote"),
    ("watch file.txt --stream /dev/ttyUSB0", "name the file that the linker wrote"),
    ("cyclictest -x", "each thread sleeps to absolute times by"),
    ("cyclictest -p 98 -l 5", "write 91 or less"),
    ("cyclictest -a 9-", "write processors as 2, 0-3 or 0,2"),
    ("oslat -b 2", "illegal bucket size (should be: 4-1024)"),
    ("oslat -f 100", "illegal RT priority (should be: 1-99)"),
    ("oslat -f 95", "write 91 or less"),
    ("oslat -m 4X", "write a size up to 1G, as 4K or 1M"),
    ("oslat -w memcpy", "Please choose from: 'no', 'memmove'"),
    ("oslat -D x", "write a number and s, m, h or d"),
    ("oslat -c 1-", "write processors as 2, 0-3 or 0,2"),
    ("timerlat bottom", "possible values: top, hist"),
    ("timerlat -i 50", "the interrupt has no latency of its own here"),
    ("timerlat -e sched", "the trace has the events that the page reads"),
    ("timerlat hist -E 5", "write a number from 10 to 9999999"),
    ("timerlat hist --no-index", "--with-zeros"),
    ("timerlat -P f:95", "write 91 or less"),
    ("timerlat -P d:100us:1ms", "cannot be bound to a processor"),
    ("timerlat -P 80", "write o:PRIO, r:PRIO or f:PRIO, as f:80"),
    ("worst swich", "did you mean `switch`?"),
    ("worst switch --on slurm", "`worst` runs here"),
    ("show inversion --on slurm", "`show` runs here"),
    ("run switch --target tandem@cortex-m4 --on slurm --shards 20000", "write 10000 or fewer"),
    ("why tandem@cortex-m4 tandem@cortex-m4", "name two targets, or two images as"),
    ("why tandem@cortex-m4", "`chronoscope --help` shows"),
    ("schedule", "`chronoscope --help` shows"),
    ("schedule none.toml", "No such file or directory"),
    ("schedule file.txt", "task set file.txt: "),
    ("capture none.vcd --channel D0", "No such file or directory"),
    ("capture file.txt --channel D0", "VCD, sigrok's .sr, and Saleae's CSV and"),
    ("merge none.json", "No such file or directory"),
    ("recover extra", "`chronoscope --help` shows"),
    ("cache --cleer", "'--clear'"),
    ("doctor -z", "`chronoscope --help` shows"),
    ("completions", "`chronoscope --help` shows"),
    ("serve", "`chronoscope report --history -o FOLDER`"),
    ("runn quick", "did you mean `run`?"),
    ("--versio", "a similar argument exists: '--version'"),
];

#[test]
fn each_mistake_is_a_line_with_its_mend_and_nothing_is_stored() {
    let folder = Folder::new("mistakes");
    fs::create_dir(folder.path("d")).unwrap();
    for file in ["file.txt", "file.txt.toml"] {
        folder.file(file, "x");
    }
    let before = fs::read_dir(&folder.0).unwrap().count();
    assert!(MISTAKES.len() >= 60, "{}", MISTAKES.len());
    let mut faults = Vec::new();
    for (words, mend) in MISTAKES {
        let mut command = program();
        command.args(words.split(' ')).current_dir(&folder.0);
        command.env("XDG_DATA_HOME", folder.path("data"));
        let answer = run(&mut command);
        let is_line = answer.stderr.lines().count() == 1 && answer.stdout.is_empty();
        if answer.status != Some(1) || !is_line || !answer.stderr.contains(mend) {
            faults.push(format!("{words}: {answer:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(!fs::exists(folder.path("data")).unwrap());
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), before);
}
