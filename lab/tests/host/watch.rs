//! `chronoscope watch` of processes, by uprobes: programs in C with marks, compiled here.

use std::{
    fs,
    os::unix::fs::FileExt as _,
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::{
    common::{Answer, Folder, builder, chronoscope, program, run, samples},
    victim::until,
};

/// A loop of 500 rounds that prints, for each, the times of its own clock outside and inside of the
/// marks; with an argument, it goes on for ever and prints nothing.
const ROUNDS: &str = "
    #include <chronoscope_mark.h>
    #include <stdio.h>
    #include <time.h>
    #include <unistd.h>
    static long now(void) {
        struct timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return time.tv_sec * 1000000000L + time.tv_nsec;
    }
    static volatile unsigned state;
    __attribute__((noinline)) void step(void) {
        for (int i = 0; i < 2000; i++) state += i;
    }
    int main(int count, char **arguments) {
        (void)arguments;
        for (int round = 0; count > 1 || round < 500; round++) {
            long before = now();
            CHRONO_BEGIN(round);
            long start = now();
            step();
            long end = now();
            CHRONO_END(round);
            long after = now();
            CHRONO_VALUE(number, round);
            if (count > 1) usleep(500);
            if (count == 1) printf(\"%ld %ld\\n\", after - before, end - start);
        }
    }
";

/// The folder of the examples and the header.
fn marks() -> String {
    format!("{}/../mark", env!("CARGO_MANIFEST_DIR"))
}

/// A program of this source, with further options of the compiler.
fn built(folder: &Folder, name: &str, source: &str, options: &[&str]) -> String {
    let (output, header) = (folder.path(name), format!("{}/include", marks()));
    let mut command = Command::new("gcc");
    command.args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-I", &header, "-o", &output]);
    run(command.args(options).arg(source)).exits(0);
    output
}

fn rounds(folder: &Folder, options: &[&str]) -> String {
    let source = folder.file("rounds.c", ROUNDS);
    built(folder, "rounds", &source, options)
}

/// The only case of a watch, with all samples.
fn watched(arguments: &[&str]) -> Value {
    let rest = ["watch", "-q", "--no-store", "--format", "json"];
    let run = chronoscope(&[&rest[..], arguments].concat()).exits(0).json();
    run["cases"][0].clone()
}

fn note(case: &Value, text: &str) -> bool {
    case["log"].as_array().unwrap().iter().any(|line| line.as_str().unwrap().contains(text))
}

#[test]
fn each_round_is_seen_between_the_program_s_own_two_clocks() {
    let folder = Folder::new("watch-rounds");
    let path = rounds(&folder, &[]);
    // The output of a watched program goes to standard error.
    let output = program()
        .args(["watch", "-q", "--no-store", "--format", "json", "--", &path])
        .output()
        .unwrap();
    let case = &serde_json::from_slice::<Value>(&output.stdout).unwrap()["cases"][0];
    let own = String::from_utf8(output.stderr).unwrap();
    let own: Vec<[f64; 2]> = own
        .lines()
        .map(|line| {
            let (outside, inside) = line.split_once(' ').unwrap();
            [outside, inside].map(|time| time.parse().unwrap())
        })
        .collect();
    let seen = samples(case, "round");
    assert_eq!((seen.len(), own.len()), (500, 500));
    for (seen, [outside, inside]) in seen.iter().zip(own) {
        // The kernel's clock for events may differ from the program's by some ns.
        assert!(inside - 1000.0 <= *seen && *seen <= outside + 1000.0, "{inside} {seen} {outside}");
    }
    let numbers: Vec<f64> = (0..500).map(f64::from).collect();
    assert_eq!(samples(case, "number"), numbers);
    assert_eq!(samples(case, "mark to mark").len(), 500);
}

#[test]
fn a_program_without_marks_is_watched_by_its_functions() {
    let folder = Folder::new("watch-functions");
    let path = rounds(&folder, &["-DCHRONO_MARK_OFF"]);
    let returns = format!("uretprobe:{path}:step");
    let case = watched(&["--from", "step", "--to", &returns, "--", &path]);
    assert_eq!(samples(&case, "step").len(), 500);
    let case = watched(&["--from", &format!("uprobe:{path}:step"), "--", &path]);
    assert_eq!(samples(&case, "step").len(), 499);
    let answer = chronoscope(&["watch", "-q", "--no-store", "--", &path]);
    answer.complains("has no marks: name two functions, as --from step --to uretprobe:FILE:step");
}

#[test]
fn limits_are_judged_and_stand_in_the_title() {
    let folder = Folder::new("watch-limits");
    let path = rounds(&folder, &[]);
    let watch = ["watch", "-q", "--no-store", "--limit"];
    let answer = chronoscope(&[&watch[..], &["round <= 1ns", "--", &path]].concat());
    answer.exits(2).shows("500 of 500 rounds of round took over 1 ns: ");
    let answer = chronoscope(&[&watch[..], &["round p50 <= 1s", "--", &path]].concat());
    answer.exits(0).shows("1 of 1 limit holds");
    for (limit, mend) in [
        ("round <= 5", "give a time, as 200us"),
        ("number <= 5us", "`number` is a number: give one without a unit"),
        ("rund <= 5us", "there is no mark `rund`: did you mean round"),
        ("round < 5us", "write a limit as `loop p99 <= 200us`"),
    ] {
        chronoscope(&[&watch[..], &[limit, "--", &path]].concat()).complains(mend);
    }
}

/// A program that runs until it is dropped.
struct Endless(Child);

impl Endless {
    fn start(path: &str) -> Self {
        Self(Command::new(path).arg("for ever").stdout(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// The byte of an instruction of its program.
    fn byte(&self, address: u64) -> u8 {
        let memory = fs::File::open(format!("/proc/{}/mem", self.0.id())).unwrap();
        let mut byte = [0];
        memory.read_exact_at(&mut byte, address).unwrap();
        byte[0]
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The address of the first mark, which is a `nop`: as in the file, since the program is not moved.
fn first_mark(path: &str) -> u64 {
    let notes = run(Command::new("readelf").args(["-n", "-W", path])).exits(0).stdout.clone();
    let at = notes.split("Location: 0x").nth(1).and_then(|text| text.split(',').next()).unwrap();
    u64::from_str_radix(at, 16).unwrap()
}

#[test]
fn a_running_process_is_watched_and_no_probe_is_left_by_a_killed_lab() {
    const NOP: u8 = 0x90;
    let folder = Folder::new("watch-kill");
    let path = rounds(&folder, &["-no-pie", "-fno-pie"]);
    let endless = Endless::start(&path);
    let mark = first_mark(&path);
    assert_eq!(endless.byte(mark), NOP);
    let case = watched(&["--pid", &endless.pid(), "-D", "1s"]);
    assert!(samples(&case, "round").len() > 100);
    assert_eq!(endless.byte(mark), NOP);
    let own = program().args(["watch", "-q", "--no-store", "--pid", &endless.pid()]).spawn();
    let mut own = own.unwrap();
    until("the probe is set", || endless.byte(mark) != NOP);
    own.kill().unwrap();
    own.wait().unwrap();
    until("the probe is gone", || endless.byte(mark) == NOP);
    let answer = chronoscope(&["watch", "-q", "--no-store", "--", &path]);
    answer.complains(&format!("process {} runs ", endless.pid()));
    // Another file has the process' path now: its own is watched still.
    fs::remove_file(&path).unwrap();
    fs::write(&path, "another").unwrap();
    let case = watched(&["--pid", &endless.pid(), "-D", "1s"]);
    assert!(samples(&case, "round").len() > 100);
}

#[test]
fn processes_that_end_fork_or_do_not_exist() {
    let folder = Folder::new("watch-ends");
    let source = "
        #include <chronoscope_mark.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int main(void) {
            CHRONO_BEGIN(never_ended);
            for (int child = 0; child < 3; child++) {
                if (fork() == 0) {
                    CHRONO_BEGIN(work);
                    usleep(1000);
                    CHRONO_END(work);
                    _exit(0);
                }
                wait(0);
            }
            return 3;
        }
    ";
    let source = folder.file("forks.c", source);
    let path = built(&folder, "forks", &source, &[]);
    let case = watched(&["--", &path]);
    assert_eq!(samples(&case, "work").len(), 3);
    assert!(note(&case, "`never_ended` has no begin or no end in the program"), "{case:#}");
    assert!(note(&case, "4 processes of the program have set marks"), "{case:#}");
    assert!(note(&case, "forks failed"), "{case:#}");
    let watch = ["watch", "-q", "--no-store"];
    chronoscope(&[&watch[..], &["--pid", "4194305"]].concat())
        .complains("there is no process 4194305");
    chronoscope(&[&watch[..], &["--", "./no-such"]].concat())
        .complains("there is no program `./no-such`");
    let damaged = folder.path("damaged");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(8).position(|bytes| bytes == b"stapsdt\0").unwrap();
    bytes[at - 8] = 0xff;
    fs::write(&damaged, bytes).unwrap();
    chronoscope(&[&watch[..], &["--", &damaged]].concat()).complains("marks are damaged");
}

/// `./chronoscope example own NAME`, which prints the commands that it runs.
#[test]
fn the_examples_of_own_programs_are_built_and_watched() {
    let folder = Folder::new("watch-examples");
    let example = |name: &str| {
        let mut command = builder();
        command.args(["example", "own"]).args((!name.is_empty()).then_some(name));
        run(command.env("XDG_DATA_HOME", folder.path("data")))
    };
    let names = example("").exits(0).stdout.clone();
    assert_eq!(names.lines().count(), 9, "{names}");
    for line in names.lines() {
        let name = line.split(' ').next().unwrap();
        let answer = example(name);
        // On a busy machine a round may miss the example's limit.
        let is_missed = answer.stdout.contains(" took over 5 ms: ");
        answer.exits(i32::from(is_missed)).shows("$ ./chronoscope watch ");
        let mark = match name {
            "requests-cpp" => "Request: ",
            "freertos" => "Work: ",
            "embassy" => "logger, on the processor",
            _ => "ontrol",
        };
        answer.shows(mark);
    }
    example("loop-cobol").exits(1);
}

/// Readelf knows the notes of USDT probes, which bpftrace and perf read.
#[test]
fn perf_s_and_bpftrace_s_form_is_kept() {
    let folder = Folder::new("watch-notes");
    let path = rounds(&folder, &[]);
    let notes = run(Command::new("readelf").args(["-n", "-W", &path])).exits(0).stdout.clone();
    let owner = "NT_STAPSDT (SystemTap probe descriptors)";
    assert_eq!(notes.matches(owner).count(), 3, "{notes}");
    for text in ["Provider: chronoscope", "Name: round__begin", "Name: number__value", "8@%r"] {
        assert!(notes.contains(text), "{text} in {notes}");
    }
}

/// A thread that sleeps until 200 times of its own clock and prints how late it came back from each, in
/// ns. For the 100th a thread of a real-time class has its processor, from 5 ms before to 30 ms after.
const SLEEPER: &str = "
    #define _GNU_SOURCE
    #include <pthread.h>
    #include <sched.h>
    #include <stdio.h>
    #include <time.h>
    static struct timespec plus(struct timespec time, long ns) {
        time.tv_nsec += ns;
        time.tv_sec += time.tv_nsec / 1000000000;
        time.tv_nsec %= 1000000000;
        return time;
    }
    static long from(struct timespec start) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec;
    }
    static void *hog(void *due) {
        struct timespec until = *(struct timespec *)due;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
        while (from(until) < 35000000) {}
        return 0;
    }
    int main(void) {
        struct timespec start, due, early;
        struct sched_param urgent = {.sched_priority = 50};
        pthread_t thread;
        cpu_set_t one;
        int round;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        sched_setaffinity(0, sizeof one, &one);
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (round = 1; round <= 200; round++) {
            due = start = plus(start, round == 100 ? 60000000 : 2000000);
            if (round == 100) {
                early = plus(due, -5000000);
                pthread_create(&thread, 0, hog, &early);
                if (pthread_setschedparam(thread, SCHED_FIFO, &urgent)) return 1;
            }
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, 0);
            printf(\"%ld\\n\", from(due));
        }
        return 0;
    }
";

/// The wait of a wake-up ends before the thread is back with its own clock.
#[test]
fn wake_ups_are_within_what_the_program_sees_itself() {
    let folder = Folder::new("watch-wakeups");
    let source = folder.file("sleeper.c", SLEEPER);
    let path = built(&folder, "sleeper", &source, &[]);
    let watch = ["watch", "-q", "--no-store", "--wakeups", "--format", "json", "--", &path];
    // A kernel may record nothing of a processor's idle thread, and perf then sees as little: the run
    // says so. And it may give an ordinary thread some time beside the hog: the program says so.
    let whole = |arguments: &[&str]| {
        let is_late = |line: &str| line.parse::<f64>().is_ok_and(|late| late > 15e6);
        let is_whole = |answer: &Answer| {
            !answer.stdout.contains("lost events: ") && answer.stderr.lines().any(is_late)
        };
        let mut answers = (0..20).map(|_| chronoscope(arguments));
        answers.find(is_whole).expect("a whole recording")
    };
    let answer = whole(&watch);
    let case = answer.exits(0).json()["cases"][0].clone();
    let own: Vec<f64> = answer.stderr.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(own.len(), 200, "{}", answer.stderr);
    let mut waits = samples(&case, "wake-up");
    // A thread that comes back late may find its next time passed, and does not sleep.
    assert!((50..260).contains(&waits.len()), "{}", waits.len());
    waits.sort_by(f64::total_cmp);
    let mut late = own.clone();
    late.sort_by(f64::total_cmp);
    assert!(waits[waits.len() / 2] < late[late.len() / 2], "{case:#}");
    // The timer's interrupt may come late itself, on a host that gives this computer no time.
    let longest = waits[waits.len() - 1];
    assert!((15e6..=late[199]).contains(&longest), "{longest} {own:?}");

    let limited = whole(&[&watch[..4], &["--limit", "wake-up <= 10ms", "--", &path]].concat());
    limited.exits(2).shows("rounds of wake-up took over 10");
    chronoscope(&["watch", "--wakeups", "--limit", "wake <= 1ms", "--", &path])
        .complains("there is no mark `wake`");
    chronoscope(&["watch", "--wakeups", "--marks", &path, "--", &path]).complains("cannot be used");
}

/// System calls of a process, which the kernel counts: 50 sleeps of 2 ms.
#[test]
fn events_of_the_kernel_in_a_process_begin_and_end_intervals() {
    let sleeper = ["-c", "import time\nwhile True: time.sleep(0.002)"];
    let process = Endless(Command::new("python3").args(sleeper).spawn().unwrap());
    let pid = process.pid();
    let calls =
        ["enter", "exit"].map(|end| format!("tracepoint:syscalls:sys_{end}_clock_nanosleep"));
    let watch = ["--from", &calls[0], "--to", &calls[1], "-D", "1s", "--pid", &pid];
    let case = watched(&watch);
    let name = "syscalls:sys_enter_clock_nanosleep to syscalls:sys_exit_clock_nanosleep";
    let sleeps = samples(&case, name);
    assert!(sleeps.len() > 20, "{case:#}");
    assert!(sleeps.iter().all(|sleep| *sleep > 2e6), "{sleeps:?}");
    for (from, reason) in [
        ("tracepoint:sched", "`sched` is no event of the kernel's: write GROUP:EVENT"),
        ("tracepoint:sched:no_such", "this kernel has no event `sched:no_such`"),
        ("tracepoint:../sched:x", "is no event of the kernel's"),
    ] {
        chronoscope(&["watch", "--from", from, "--pid", &pid]).complains(reason);
    }
    chronoscope(&["watch", "--from", &calls[0], "--", "sleep", "1"]).complains("as --pid 812");
}
