//! Images of targets are the same in every checkout; images of the user's need a port.

use std::{
    env, fs,
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    common::{Folder, cases, documented::root, program, run},
    observe::{MEMORY, RV32, elf},
    plugin::assembled,
};

/// The folder of a checkout in an image would be another in each checkout, and so would the image's
/// bytes: names of symbols and texts of panics decide where functions are.
#[test]
fn an_image_does_not_name_the_checkout_s_folder() {
    for (target, triple) in [
        ("tandem@cortex-m4", "thumbv7em-none-eabihf"),
        ("bare@rv32", "riscv32imc-unknown-none-elf"),
    ] {
        cases(&["switch", "--repeat", "1", "--set", "loops=10", "--target", target]);
        let kernel = target.split('@').next().expect("a target has a kernel");
        let file = format!("firmware/{triple}/release/chronoscope-{kernel}");
        let own = || root().join("target");
        let folder = env::var_os("CARGO_TARGET_DIR")
            .map_or_else(own, |folder| Path::new(&folder).to_owned());
        let image = fs::read(folder.join(file)).expect("the lab has built the image");
        let name = root().display().to_string();
        let found = image.windows(name.len()).any(|bytes| bytes == name.as_bytes());
        assert!(!found, "{target} names {name}");
    }
}

/// A busy image and a sleeping one: the answer tells both from a port that hangs, and neither run is
/// stored.
#[test]
fn an_image_without_a_port_says_so_and_names_observe() {
    let folder = Folder::new("images-silent");
    for (name, code) in [("busy", "here: j here\n"), ("asleep", "here: wfi\n j here\n")] {
        let code = fs::read(assembled(&folder, "riscv32", code)).unwrap();
        let image = folder.file(&format!("{name}.elf"), elf(RV32, MEMORY, &code));
        let target = format!("mine={image}@rv32");
        let begin = Instant::now();
        let store = ["--store", &folder.path("own.sqlite")];
        let words = ["run", "switch", "--target", &target, "--repeat", "1"];
        let answer = run(program().args(words).args(store));
        // It takes two seconds, and as many as a busy machine needs; the watchdog has 60.
        assert!(begin.elapsed() < Duration::from_secs(30), "{answer:#?}");
        answer.exits(4).shows(
            "mine sends no stream of Chronoscope's: `chronoscope observe` measures any image as it is",
        );
        assert!(answer.stderr.contains("not stored: nothing was measured"), "{answer:#?}");
    }
}
