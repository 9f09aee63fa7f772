//! Parses the command line.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    str::FromStr,
};

use crate::model::Setup;

/// The usage, in one line like every error message.
pub const USAGE: &str = "usage: chronoscope-bench IMAGE [--request TEXT] [--wait-states 0..5] [--hertz N] [--seed N] \
    [--limit CYCLES] [--pins FILE] [--profile FILE] [--retired FILE], or: chronoscope-bench --identity";

pub struct Options {
    pub image: PathBuf,
    pub request: String,
    pub setup: Setup,
    /// The number of cycles after which the run is ended.
    pub limit: u64,
    pub pins: Option<PathBuf>,
    pub profile: Option<PathBuf>,
    pub retired: Option<PathBuf>,
}

const MOST_WAIT_STATES: u8 = 5;

/// Scatters a seed for xorshift, which stays at zero for ever: similar seeds become dissimilar, and
/// none becomes zero.
fn scatter(seed: u32) -> u32 {
    match seed.wrapping_add(1).wrapping_mul(0x9e37_79b1) {
        0 => 1,
        scattered => scattered,
    }
}

pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Options, String> {
    let mut options = Options {
        image: PathBuf::new(),
        request: String::new(),
        setup: Setup { wait_states: 0, hertz: 100_000_000, seed: scatter(0) },
        limit: u64::MAX,
        pins: None,
        profile: None,
        retired: None,
    };
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let name = argument.to_str().unwrap_or_default();
        if !name.starts_with("--") {
            if options.image != Path::new("") {
                return Err(format!(
                    "two images: {} and {}",
                    options.image.display(),
                    argument.display()
                ));
            }
            options.image = argument.into();
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value; {USAGE}"))?;
        match name {
            "--request" => {
                options.request = value.into_string().map_err(|_| "the request is not UTF-8")?
            }
            "--wait-states" => {
                options.setup.wait_states = number(name, &value, u64::from(MOST_WAIT_STATES))?
            }
            "--hertz" => {
                options.setup.hertz = number(name, &value, u32::MAX.into())?;
                if options.setup.hertz == 0 {
                    return Err("--hertz is at least 1".into());
                }
            }
            "--seed" => options.setup.seed = scatter(number(name, &value, u32::MAX.into())?),
            "--limit" => options.limit = number(name, &value, u64::MAX)?,
            "--pins" => options.pins = Some(value.into()),
            "--profile" => options.profile = Some(value.into()),
            "--retired" => options.retired = Some(value.into()),
            _ => return Err(format!("no option {name}; {USAGE}")),
        }
    }
    match options.image == Path::new("") {
        true => Err(USAGE.into()),
        false => Ok(options),
    }
}

fn number<T: TryFrom<u64>>(name: &str, value: &OsString, most: u64) -> Result<T, String> {
    let number =
        value.to_str().and_then(|text| u64::from_str(text).ok()).filter(|&number| number <= most);
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| format!("{name} is a number of at most {most}, not {}", value.display()))
}
