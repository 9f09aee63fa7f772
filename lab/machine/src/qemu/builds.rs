//! The builds of a kernel's image: the same source with other options of its compilers, so that a
//! ranking can say whether it holds under them. The builds themselves are in `xtask images`.

use chronoscope_run::names::{BUILDS, BUILDS_OF_RUST, COMPILED};
use chronoscope_suite::{Parameter, Values};

use super::{Source, Variant};
use crate::Request;

/// The parameter of kernels in Rust.
static RUST: Parameter = Parameter {
    name: COMPILED,
    unit: "",
    default: BUILDS[0],
    values: Values::Extra(BUILDS.split_at(BUILDS_OF_RUST).0),
    help: "the image's compiler options: fat: -O3, fat LTO; cargo: cargo's defaults for a release, no LTO; size: -Os",
};

/// The parameter of kernels in C.
static C: Parameter = Parameter {
    name: COMPILED,
    unit: "",
    default: BUILDS[0],
    values: Values::Extra(&BUILDS),
    help: "the options of the image's compilers, the kernel's -O2 by default: fat: the suite with fat LTO; cargo: without; size: -Os; c-o3: the kernel at -O3; c-lto: its files together, too",
};

/// The parameter of an image, if it has other builds.
pub(super) fn parameter(image: &Source<'_>) -> Option<&'static Parameter> {
    let has = |builds: &[&'static str]| builds.iter().all(|name| image.has(Variant::Built(name)));
    match () {
        () if has(&BUILDS[1..]) => Some(&C),
        () if has(&BUILDS[1..BUILDS_OF_RUST]) => Some(&RUST),
        () => None,
    }
}

/// The image's variant that a request asks for; `None` for the usual build.
pub(super) fn asked(request: &Request) -> Option<Variant> {
    let word = request.get(COMPILED)?;
    BUILDS[1..].iter().find(|name| **name == word).map(|name| Variant::Built(name))
}
