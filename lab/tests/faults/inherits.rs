//! A driver that passes on its caller's priority, as the one in Android's kernels does; Debian's
//! does not. A script in the port's place has the port give the service the caller's priority
//! before each call, with SCHED_RESET_ON_FORK as such a driver sets it, and the lab does not know.

use crate::{common, played::Lab};

#[test]
fn inheritance_is_judged_by_the_priority() {
    let port = common::program_path().with_file_name("chronoscope-linux");
    let play = "s/transport=hwbinder/transport=unix/; s/boost=no/boost=yes/";
    let lab = Lab::new("inherits").with_program(&format!(
        "#!/bin/sh\nexec {} $(printf '%s ' \"$@\" | sed '{play}')\n",
        port.display()
    ));
    let answer = lab.run(&["hwbinder-latency", "-i", "10", "-v", "--target", "linux@host"]);
    assert_eq!(answer.exits(0).json()["inheritance"], "PASS");
    // The policy is none of the original's three, as on Android.
    let lines: Vec<&str> = answer.stderr.lines().collect();
    assert!(lines.contains(&"???         99"), "{answer:#?}");
}
