//! Parses the command line.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    str::FromStr,
};

use crate::{arrivals::Asked, model::Setup};

/// The usage, in one line like every error message.
pub const USAGE: &str = "usage: chronoscope-bench IMAGE [--request TEXT] [--wait-states 0..5] [--hertz N] [--seed N] \
    [--limit CYCLES] [--pins FILE] [--profile FILE] [--retired FILE] [--reads FILE] \
    [--arrivals FILE --mark ADDRESS [--skip N] [--first PLACE]], or: chronoscope-bench --identity";

pub struct Options {
    pub image: PathBuf,
    pub request: String,
    pub setup: Setup,
    /// The number of cycles after which the run is ended.
    pub limit: u64,
    pub pins: Option<PathBuf>,
    pub profile: Option<PathBuf>,
    pub retired: Option<PathBuf>,
    /// The reads of `mcycle`, a line each.
    pub reads: Option<PathBuf>,
    /// The arrivals of the alarm at each cycle of a round, and the round.
    pub arrivals: Option<(PathBuf, Asked)>,
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
        reads: None,
        arrivals: None,
    };
    let (mut file, mut mark) = (None, None);
    let mut asked = Asked { mark: 0, skip: 0, first: 0 };
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
            "--reads" => options.reads = Some(value.into()),
            "--arrivals" => file = Some(value.into()),
            "--mark" => mark = Some(number(name, &value, u32::MAX.into())?),
            "--skip" => asked.skip = number(name, &value, u32::MAX.into())?,
            "--first" => asked.first = number(name, &value, u32::MAX.into())?,
            _ => return Err(format!("no option {name}; {USAGE}")),
        }
    }
    options.arrivals = match (file, mark) {
        (Some(file), Some(mark)) => Some((file, Asked { mark, ..asked })),
        (None, None) => None,
        _ => return Err("--arrivals and --mark go together".into()),
    };
    if options.reads.is_some() || options.arrivals.is_some() {
        // A seed of zero stays zero: the stimulus comes when it is asked for, in every round alike.
        options.setup.seed = 0;
    }
    match options.image == Path::new("") {
        true => Err(USAGE.into()),
        false => Ok(options),
    }
}

fn number<T: TryFrom<u64>>(name: &str, value: &OsString, most: u64) -> Result<T, String> {
    let parsed = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => u64::from_str(text).ok(),
    };
    let number = value.to_str().and_then(parsed).filter(|&number| number <= most);
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| format!("{name} is a number of at most {most}, not {}", value.display()))
}
