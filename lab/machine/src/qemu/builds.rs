//! The builds of a kernel's image: the same source with other options of its compilers, so that a
//! ranking can say whether it holds under them. The builds themselves are in `xtask images`.

use chronoscope_run::names::COMPILED;
use chronoscope_suite::{Parameter, Values};

use super::{Source, Variant};
use crate::Request;

/// The build of every image unless another is asked for: -O3 with fat LTO in Rust, -O2 in C.
const USUAL: &str = "fat";

/// The parameter of kernels in Rust.
static RUST: Parameter = Parameter {
    name: COMPILED,
    unit: "",
    default: USUAL,
    values: Values::Extra(&[USUAL, "cargo", "size"]),
    help: "the image's compiler options: fat: -O3, fat LTO; cargo: cargo's defaults for a release, no LTO; size: -Os",
};

/// The parameter of kernels in C.
static C: Parameter = Parameter {
    name: COMPILED,
    unit: "",
    default: USUAL,
    values: Values::Extra(&[USUAL, "cargo", "size", "c-o3", "c-lto"]),
    help: "the options of the image's compilers, the kernel's -O2 by default: fat: the suite with fat LTO; cargo: without; size: -Os; c-o3: the kernel at -O3; c-lto: its files together, too",
};

/// The parameter of an image, if it has other builds.
pub(super) fn parameter(image: &Source<'_>) -> Option<&'static Parameter> {
    [&C, &RUST].into_iter().find(|parameter| {
        let others = words(parameter).iter().filter(|word| **word != USUAL);
        others.clone().count() > 0 && others.clone().all(|word| image.has(Variant::Built(word)))
    })
}

/// The image's variant that a request asks for; `None` for the usual build.
pub(super) fn asked(request: &Request) -> Option<Variant> {
    let word = request.get(COMPILED)?;
    let known = words(&C).iter().find(|known| **known == word && **known != USUAL)?;
    Some(Variant::Built(known))
}

fn words(parameter: &Parameter) -> &'static [&'static str] {
    match parameter.values {
        Values::Extra(words) => words,
        Values::Number(..) | Values::Word(_) | Values::Text(_) => &[],
    }
}
