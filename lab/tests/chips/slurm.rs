//! `run --on slurm` on a real Slurm with two nodes, which the test starts on this machine.

use std::{
    fs,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    common::{Folder, chronoscope, copy_program, program, run},
    shards::results,
    victim::{Random, rounds, until},
};

/// The environment variable that marks the daemons of a node.
const MARK: &str = "CHRONOSCOPE_TEST_NODE";

/// A Slurm of this user: a controller and the nodes n1 and n2, each for one job at a time.
struct Slurm {
    folder: Folder,
    daemons: Vec<Child>,
}

impl Slurm {
    fn start(name: &str) -> Self {
        let folder = Folder::new(name);
        let place = &folder.0.display();
        for folder in
            ["munge", "state", "log", "spool/n1", "spool/n2"].map(|name| folder.path(name))
        {
            fs::create_dir_all(folder).unwrap();
        }
        let word = |program: &str, argument: &str| {
            let answer = run(Command::new(program).arg(argument));
            answer.exits(0).stdout.trim().to_owned()
        };
        let (user, host) = (word("id", "-un"), word("hostname", "-s"));
        let ports: Vec<TcpListener> =
            (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let [control, n1, n2] =
            [0, 1, 2].map(|index: usize| ports[index].local_addr().unwrap().port());
        drop(ports);
        let node = |name: &str, port| {
            format!("NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1\n")
        };
        let nodes = node("n1", n1) + &node("n2", n2);
        let config = format!(
            "ClusterName=chronoscope\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={control}\n\
             SlurmUser={user}\nSlurmdUser={user}\nAuthType=auth/munge\nCredType=cred/munge\n\
             AuthInfo=socket={place}/munge/socket\nStateSaveLocation={place}/state\n\
             SlurmdSpoolDir={place}/spool/%n\nSlurmctldPidFile={place}/slurmctld.pid\n\
             SlurmdPidFile={place}/%n.pid\nSlurmctldLogFile={place}/log/slurmctld\n\
             SlurmdLogFile={place}/log/%n\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             SwitchType=switch/none\nMpiDefault=none\nSelectType=select/linear\nReturnToService=2\n\
             SlurmdTimeout=5\nMessageTimeout=5\nKillWait=1\n\
             SchedulerParameters=sched_interval=1,sched_min_interval=100000\n\
             PropagateResourceLimits=NONE\n{nodes}PartitionName=all Nodes=n[1-2] Default=YES \
             MaxTime=INFINITE State=UP\n"
        );
        folder.file("slurm.conf", config);
        let key = folder.file("munge.key", [7; 128]);
        run(Command::new("chmod").args(["400", &key])).exits(0);
        let mut slurm = Self { folder, daemons: Vec::new() };
        let of = |name: &str| slurm.folder.path(name);
        let munge = ["--foreground", "--force", "--num-threads=2"].map(str::to_owned);
        let files = [("key", "munge.key"), ("socket", "munge/socket"), ("pid", "munge/pid")];
        let files = files.iter().chain(&[("log", "log/munged"), ("seed", "munge/seed")]);
        let files = files.map(|(option, name)| {
            let option =
                if *option == "socket" { "socket".into() } else { format!("{option}-file") };
            format!("--{option}={}", of(name))
        });
        let munge: Vec<String> = munge.into_iter().chain(files).collect();
        let socket = of("munge/socket");
        slurm.daemon("munged", &munge, "");
        until("munged listens", || fs::exists(&socket).unwrap());
        slurm.daemon("slurmctld", &["-D".to_owned()], "");
        for node in ["n1", "n2"] {
            slurm.daemon("slurmd", &["-D", "-N", node].map(str::to_owned), node);
        }
        until("two nodes are idle", || {
            slurm.ask("sinfo", &["-h", "-N", "-o", "%T"]) == "idle\nidle\n"
        });
        slurm
    }

    /// Starts a daemon, in the folder of programs that only root usually starts.
    fn daemon(&mut self, name: &str, arguments: &[String], node: &str) {
        let output = fs::File::create(self.folder.path(&format!("log/{name}{node}.out"))).unwrap();
        let child = Command::new(PathBuf::from("/usr/sbin").join(name))
            .args(arguments)
            .env("SLURM_CONF", self.folder.path("slurm.conf"))
            .env(MARK, format!("{}/{node}", self.folder.0.display()))
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        self.daemons.push(child);
    }

    /// The output of one of Slurm's programs; empty if it fails.
    fn ask(&self, program: &str, arguments: &[&str]) -> String {
        let conf = self.folder.path("slurm.conf");
        run(Command::new(program).args(arguments).env("SLURM_CONF", conf)).stdout
    }

    /// The lab, which submits jobs from a folder of its own.
    fn lab(&self, arguments: &[&str]) -> Command {
        let mut lab = program();
        lab.env("SLURM_CONF", self.folder.path("slurm.conf"));
        lab.current_dir(&self.folder.0).args(arguments);
        lab
    }

    /// Kills each process whose environment has one of these entries.
    fn kill(&self, entries: &[String]) {
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            let conf = format!("SLURM_CONF={}", self.folder.path("slurm.conf"));
            let mut variables = environment.split(|byte| *byte == 0);
            let is_ours = variables.clone().any(|variable| variable == conf.as_bytes());
            let is_meant =
                variables.any(|variable| entries.iter().any(|entry| variable == entry.as_bytes()));
            let number = process.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(pid) = number.and_then(Pid::from_raw).filter(|_| is_ours && is_meant) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    /// Ends a node as if its power failed: its daemon, and all jobs there.
    fn kill_node(&self, node: &str) {
        let daemon = format!("{MARK}={}/{node}", self.folder.0.display());
        self.kill(&[daemon, format!("SLURMD_NODENAME={node}")]);
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for node in ["n1", "n2"] {
            self.kill_node(node);
        }
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Six cases on three emulated kernels, of a second and more.
const CASES: [&str; 8] = [
    "run",
    "switch",
    "period",
    "--target",
    "tandem@cortex-m4,lilos@cortex-m4,bare@cortex-m4",
    "--repeat",
    "10",
    "--format=json",
];

/// A node that dies in the middle costs time, and nothing else.
#[test]
fn a_run_on_slurm_is_the_run_of_one_lab() {
    let slurm = Slurm::start("slurm");
    let whole = slurm.folder.path("whole.json");
    let alone = chronoscope(&[&CASES[..], &["-q", "--no-store", "-o", &whole]].concat());
    assert!(matches!(alone.status, Some(0 | 4)), "{alone:#?}");

    let (merged, store) = (slurm.folder.path("merged.json"), slurm.folder.path("runs.sqlite"));
    let more = ["--on", "slurm", "--shards", "4", "--on-option=--comment=shards"];
    let output = ["-o", &merged, "--store", &store, "--label", "commit=4898"];
    let lab = slurm.lab(&[&CASES[..], &more, &output].concat());
    let lab = thread::spawn(move || run(&mut { lab }));
    let on_n1 = || slurm.ask("squeue", &["-h", "-r", "-w", "n1", "-o", "%T %k"]);
    until("a shard runs on n1", || on_n1().contains("RUNNING shards"));
    slurm.kill_node("n1");
    let answer = lab.join().unwrap();
    assert_eq!(answer.status, alone.status, "{answer:#?}");
    assert!(answer.stderr.contains("4 of 4 shards are complete"), "{answer:#?}");
    assert!(answer.stderr.contains("stored as run 1"), "{answer:#?}");
    assert_eq!(results(&merged), results(&whole));
    let stored =
        chronoscope(&["report", "1", "--store", &store, "--format", "json"]).exits(0).json();
    assert_eq!(stored["context"]["labels"]["commit"], "4898");
    let names = fs::read_dir(&slurm.folder.0).unwrap().map(|entry| entry.unwrap().file_name());
    let left = names.filter(|name| name.to_string_lossy().starts_with("chronoscope-"));
    assert_eq!(left.count(), 0, "the folder of the parts is removed");

    // Interrupted: no job is left.
    let words = ["--on", "slurm", "--repeat", "100000", "--no-store"];
    let cases = [&CASES[..5], &words].concat();
    let mut lab = slurm.lab(&cases).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("a shard runs", || slurm.ask("squeue", &["-h", "-r", "-o", "%T"]).contains("RUNNING"));
    kill_process(Pid::from_child(&lab), Signal::INT).unwrap();
    assert_eq!(lab.wait().unwrap().code(), Some(130));
    until("no job is left", || slurm.ask("squeue", &["-h"]).is_empty());
}

/// A lab that is killed, in a folder whose name sbatch would read otherwise, loses no part: the same command
/// goes on with `--resume`. A shard without a log has Slurm's reason.
#[test]
fn a_killed_lab_is_resumed_and_slurm_gives_its_reasons() {
    let slurm = Slurm::start("slurm-resume");
    let folder = slurm.folder.path("50%a of \\x");
    fs::create_dir(&folder).unwrap();
    let lab = |words: &[&str]| {
        let mut lab = slurm.lab(words);
        lab.current_dir(&folder);
        lab
    };
    let store = slurm.folder.path("runs.sqlite");
    let words = [&CASES[..], &["--on", "slurm", "--shards", "4", "--store", &store]].concat();
    let mut killed = lab(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let parts = || {
        let folders = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path());
        let files = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let is_part = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "json");
        let parts = files.map(|entry| entry.path()).filter(is_part);
        parts.map(|part| (part.clone(), fs::read(part).unwrap())).collect::<Vec<_>>()
    };
    until("a part is there", || !parts().is_empty());
    killed.kill().unwrap();
    killed.wait().unwrap();
    let begun = parts();
    assert!(begun.len() < 4, "the lab was killed too late");
    // Other words are of another run.
    let other = [&words[..], &["--resume", "--label", "x=1"]].concat();
    run(&mut lab(&other)).complains("no run of this command has begun in");
    let answer = run(&mut lab(&[&words[..], &["--resume"]].concat()));
    assert!(matches!(answer.status, Some(0 | 4)), "{answer:#?}");
    assert!(answer.stderr.contains("4 of 4 shards are complete"), "{answer:#?}");
    assert!(answer.stderr.contains("stored as run 1"), "{answer:#?}");
    assert_eq!(answer.json()["cases"].as_array().unwrap().len(), 6);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "the folder of the parts is removed");

    // Shards that are cancelled from outside, again and again.
    let words = [&CASES[..5], &["--on", "slurm", "--shards", "1", "--repeat", "100000"]].concat();
    let lost = lab(&[&words[..], &["--no-store"]].concat());
    let lost = thread::spawn(move || run(&mut { lost }));
    while !lost.is_finished() {
        let running = slurm.ask("squeue", &["-h", "-r", "-t", "RUNNING", "-o", "%i"]);
        if let Some(job) = running.lines().next() {
            slurm.ask("scancel", &["--signal=KILL", job]);
        }
        thread::sleep(Duration::from_millis(300));
    }
    let lost = lost.join().unwrap();
    let told = &lost.exits(1).stderr;
    assert!(told.contains("ended 3 times without its part: Slurm says "), "{told}");
    assert!(told.contains("FAILED, ") || told.contains("CANCELLED"), "{told}");
    assert!(told.contains(", on n"), "{told}");
}

/// Whenever a lab is killed, the same command with `--resume` goes on, and gives the results of one lab.
#[test]
#[ignore = "kills many labs: ./chronoscope test long"]
fn killed_labs_are_resumed_with_all_their_parts() {
    const SHORT: [&str; 8] = [
        "run",
        "switch",
        "delay",
        "--target",
        "bare@cortex-m4,lilos@cortex-m4",
        "--repeat",
        "2",
        "-q",
    ];
    let slurm = Slurm::start("slurm-kills");
    let whole = slurm.folder.path("whole.json");
    let to = |file: &str| ["--no-store", "--format=json", "-o", file].map(str::to_owned);
    let alone = run(program().args(SHORT).args(to(&whole)));
    assert!(matches!(alone.status, Some(0 | 4)), "{alone:#?}");
    let mut random = Random(8);
    let mut kept = 0;
    for round in 0..rounds() {
        let folder = slurm.folder.path(&format!("round-{round}"));
        fs::create_dir(&folder).unwrap();
        let merged = slurm.folder.path("merged.json");
        let lab = |more: &[&str]| {
            let mut lab =
                slurm.lab(&[&SHORT[..], &["--on", "slurm", "--shards", "2"], more].concat());
            lab.args(to(&merged)).current_dir(&folder).stdin(Stdio::null());
            lab
        };
        let mut killed = lab(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(random.below(Duration::from_secs(6)));
        killed.kill().unwrap();
        killed.wait().unwrap();
        let has_begun = fs::read_dir(&folder).unwrap().next().is_some();
        kept += u32::from(has_begun);
        let answer = run(&mut lab(if has_begun { &["--resume"] } else { &[] }));
        assert!(matches!(answer.status, Some(0 | 4)), "{answer:#?}");
        assert_eq!(results(&merged), results(&whole));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "the folder of the parts is removed");
    }
    println!(
        "{} kills of a lab on Slurm, {kept} of them resumed: the results of one lab",
        rounds()
    );
    assert!(kept > 0, "no run had begun");
}

/// The README's run on a cluster gives the bytes of the run on one machine.
#[test]
#[ignore = "takes six minutes: ./chronoscope test long"]
fn a_study_on_slurm_in_eight_shards_is_that_of_one_lab() {
    let slurm = Slurm::start("slurm-study");
    let (whole, merged) = (slurm.folder.path("whole.json"), slurm.folder.path("merged.json"));
    let study = ["run", "microcontrollers", "-q", "--no-store", "--format=json", "-o"];
    let alone = chronoscope(&[&study[..], &[&whole]].concat());
    let shards = ["--on", "slurm", "--shards", "8"];
    let answer = run(&mut slurm.lab(&[&study[..], &[&merged], &shards].concat()));
    assert_eq!(answer.status, alone.status, "{answer:#?}");
    assert!(matches!(answer.status, Some(0 | 4)), "{answer:#?}");
    assert_eq!(results(&merged), results(&whole));
}

/// Runs that Slurm cannot execute are refused before anything is submitted.
#[test]
fn runs_that_slurm_cannot_execute_are_refused() {
    let folder = Folder::new("no-slurm");
    let ask = |words: &[&str]| {
        let mut lab = program();
        run(lab.args(["run", "switch", "--no-store"]).args(words).current_dir(&folder.0))
    };
    let emulated = ["--target", "tandem@cortex-m4"];
    ask(&["--on", "slurm"]).complains("linux@host is measured in wall time");
    ask(&["--on", "slurms"]).complains("there is no engine `slurms`; did you mean `slurm`");
    ask(&[&["--on", "slurm", "--shard", "1/2"], &emulated[..]].concat())
        .complains("leave out --shard");
    // Without Slurm's programs.
    let path = folder.path("bin");
    fs::create_dir(&path).unwrap();
    copy_program("/bin/sh", format!("{path}/sh"));
    let mut lab = program();
    lab.args(["run", "switch", "--no-store", "--on", "slurm"]).args(emulated);
    let answer = run(lab.env("PATH", &path).current_dir(&folder.0));
    answer.complains("sbatch is not installed");
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "no folder is left");
}
