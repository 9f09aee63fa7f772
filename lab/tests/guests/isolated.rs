//! A machine of two processors, one of which is isolated: a guest, in which the lab itself runs.

use std::path::Path;

use crate::{
    common::{Folder, chronoscope, program_path},
    fetched_image,
};

/// Runs `isolated.c` in a guest of two processors with PREEMPT_RT that is booted with these arguments; it asks
/// the lab there.
fn asked(word: &str, arguments: &str) {
    let kernel = fetched_image("6.1-rt", "linux-rt@vm");
    let folder = Folder::new(&format!("isolated-{word}"));
    let program = folder.compiled(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/isolated.c"));
    let lab = program_path();
    let port = Path::new(&lab).with_file_name("chronoscope-linux");
    let (lab, port) = (lab.display(), port.display());
    let study = folder.file(
        "study.toml",
        format!(
            r#"
            name = "test"
            title = "The lab in a guest."
            repeat = 1
            [[peer]]
            name = "the lab"
            package = "gcc"
            command = ["{program}", "{word}", "{lab}"]
            starts = ["{lab}", "{port}"]
            reads = "perf-bench-pipe"
            experiment = "switch"
            target = "linux@vm"
            set = {{ mode = "wall", loops = 100 }}
            beside = [{{ ours = "mean", theirs = "operation" }}]
            "#
        ),
    );
    let kernel = ["--kernel-image", kernel.to_str().unwrap(), "--append", arguments];
    let run =
        ["run", "-q", "--allow-programs", "--no-store", "--study", &study, "--format", "json"];
    let json = chronoscope(&[&run[..], &kernel].concat()).exits(0).json();
    let theirs = &json["peers"][0]["statistics"][0]["theirs"][0];
    assert_eq!(theirs.as_f64(), Some(1000.0), "{json:#}");
}

#[test]
fn a_processor_isolated_at_boot_is_found_and_taken() {
    asked("booted", "isolcpus=domain,managed_irq,1 nohz_full=1 rcu_nocbs=1");
}

#[test]
fn a_processor_of_an_isolated_partition_is_found_and_permitted_inside() {
    asked("partitioned", "");
}
