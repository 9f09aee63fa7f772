//! Another account than the one that built: it may not write to the checkout, has no Rust in PATH and
//! no permission for real-time scheduling.

use std::{
    env,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
};

use crate::{
    common::{Answer, Folder, documented::Desk, program_path, run},
    observe,
};

/// A number that no account of a test machine has.
const STRANGER: &str = "65534";

/// The folder of this account's cache, which the other one may read.
pub fn cache() -> String {
    let own = env::var("XDG_CACHE_HOME").ok();
    own.unwrap_or_else(|| format!("{}/.cache", env::var("HOME").expect("an account has a home")))
}

/// The program as the other account starts it. Only root can become another account; any other stays
/// itself, without Rust in PATH.
fn stranger(home: &Folder, words: &[&str]) -> Command {
    let mut command = become_stranger(&program_path());
    command.args(words).env_clear().env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
    command.env("HOME", &home.0).env("COLUMNS", "1000").env("XDG_CACHE_HOME", cache());
    command.current_dir(&home.0);
    command
}

/// A program as the other account starts it.
fn become_stranger(program: &Path) -> Command {
    if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        // The folders above the checkout may be closed: reading is permitted, writing is not.
        command.args(["--securebits", "+no_setuid_fixup", "--clear-groups"]).args([
            "--inh-caps=-all,+dac_read_search",
            "--ambient-caps=+dac_read_search",
            &format!("--reuid={STRANGER}"),
            &format!("--regid={STRANGER}"),
        ]);
        command.arg(program);
        command
    } else {
        Command::new(program)
    }
}

fn home(name: &str) -> Folder {
    let home = Folder::new(name);
    fs::set_permissions(&home.0, Permissions::from_mode(0o777)).unwrap();
    home
}

/// Measures as this account, which builds what is not fresh, and then as the other one.
#[track_caller]
fn measured(home: &Folder, words: &[&str]) -> Answer {
    let own = [words, &["--no-store"]].concat();
    run(Command::new(program_path()).args(own)).exits(0);
    let answer = run(&mut stranger(home, words));
    assert!(!answer.stderr.contains("building"), "{answer:#?}");
    answer.exits(0);
    answer
}

/// A line of a shell in the folder of a desk, as the other account types it at 80 columns.
pub fn stranger_shell(desk: &Desk, line: &str) -> Command {
    let mut command = become_stranger(Path::new("/bin/sh"));
    command.args(["-c", line]).env_clear();
    let path = format!("{}:/usr/bin:/bin:/usr/sbin:/sbin", desk.0.0.display());
    command.env("PATH", path).env("HOME", &desk.0.0).env("COLUMNS", "80");
    command.env("XDG_CACHE_HOME", cache()).env("XDG_DATA_HOME", desk.0.path("data"));
    command.current_dir(&desk.0.0);
    command
}

#[test]
fn an_account_that_may_not_write_to_the_checkout_measures_every_kind_of_target() {
    let home = home("accounts");
    let short = ["--repeat", "1", "--set", "loops=100"];
    measured(&home, &[&["run", "switch", "--target", "tandem@cortex-m4"][..], &short].concat());
    measured(&home, &[&["run", "switch", "--target", "linux-rt@vm"][..], &short].concat());
    let image = observe::image(&home);
    let places = ["--machine", "virt", "--from", observe::FROM, "--to", observe::TO];
    measured(&home, &[&["observe", &image][..], &places].concat());
    let ask = |words: &[&str]| run(&mut stranger(&home, words));
    ask(&["compare", "1", "1"]).exits(0);
    ask(&["report", "1"]).exits(0).shows("switch");
    assert!(Path::new(&home.path(".local/share/chronoscope")).is_dir());
}

/// Without SCHED_FIFO the ordinary class is measured, and named. Limits are not moved to other tasks.
#[test]
fn an_account_without_real_time_scheduling_measures_ordinary_tasks() {
    if !rustix::process::geteuid().is_root() {
        // Any other account has the permissions that it has.
        return;
    }
    let home = home("accounts-ordinary");
    let switch = ["run", "switch", "--repeat", "1", "--set", "loops=100"];
    let case = |answer: &Answer| answer.json()["cases"][0].clone();
    let measured = run(stranger(&home, &switch).args(["--format", "json"]));
    let measured = case(measured.exits(0));
    assert_eq!(measured["label"], "loops=100 policy=other");
    assert!(measured["log"].to_string().contains("this account may not use SCHED_FIFO"));
    let answer = run(&mut stranger(&home, &["report", "last"]));
    answer.exits(0).shows("run as root, give the port cap_sys_nice with setcap");
    // Asked for by name, it is refused; such a run is not stored.
    let asked = run(stranger(&home, &switch).args(["--set", "policy=fifo"]));
    assert!(asked.exits(4).stderr.contains("not stored: nothing was measured"), "{asked:#?}");
    let limit = "name = \"own\"\ntitle = \"own\"\n[[case]]\nexperiment = \"switch\"\n\
                 limit = [{ statistic = \"p50\", at-most = \"1 s\" }]\n";
    let study = home.file("own.toml", limit);
    let limited = run(stranger(&home, &["run", "--study", &study, "--format", "json"]).arg("-q"));
    let limited = case(limited.exits(4));
    assert_eq!(limited["verdict"]["status"], "inconclusive", "{limited}");
    let runs = run(&mut stranger(&home, &["history"]));
    assert!(!runs.stdout.contains("run 2"), "{runs:#?}");
}
