//! Images of targets are the same in every checkout.

use std::{env, fs, path::Path};

use crate::common::{cases, documented::root};

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
