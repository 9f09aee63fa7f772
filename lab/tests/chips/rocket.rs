//! Rocket on the bench board: an address space's price in cycles, and the kernel's promises on a core
//! with caches. Building the board takes minutes, so all but refusals is in the long test.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    common::{
        Answer, builder, cases, chronoscope, gives_the_same_bytes_twice, median, run, series,
    },
    processes::{SCENES, image, target},
};

#[test]
fn identifiers_that_the_core_lacks_are_refused() {
    for target in ["tandem@rocket", "tandem@rocket-small"] {
        let spaces = |asid| {
            let words = ["run", "switch", "--target", target, "--set", "pair=process-process"];
            chronoscope(&[&words[..], &["--set", asid]].concat())
        };
        spaces("asid=on").complains("leave asid out, or set asid=off");
        spaces("asid=on,off").complains("keeps no identifiers of address spaces");
        spaces("asid=maybe").complains("one of on, off");
        chronoscope(&["run", "switch", "--target", target, "--set", "pins=yes"])
            .complains("has a parameter `pins`");
    }
}
