//! The plugin's options as an observer.

use std::path::PathBuf;

const TAKES: &str = "observe=FILE, limit=INSTRUCTIONS, events=COUNT, hertz=CYCLES, task=ADDRESS and at=ADDRESS[:REGISTER]";

pub struct Settings {
    pub out: PathBuf,
    pub limit: u64,
    /// The number of events after which the observation ends.
    pub events: u64,
    /// The processor's cycles a second, by which SysTick counts; 0 if they are not known.
    pub hertz: u64,
    /// The address of the variable that holds the running task; without one, an address that no
    /// store has.
    pub task: u64,
    /// The watched addresses, each with the debugger's number of a register that is read there.
    pub at: Vec<(u64, Option<usize>)>,
}

impl Settings {
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let (mut out, mut limit, mut events) = (None, u64::MAX, 1_000_000);
        let (mut hertz, mut task, mut at) = (0, u64::MAX, Vec::new());
        for argument in arguments {
            let wrong = || format!("`{argument}`: it takes {TAKES}");
            let (name, value) = argument.split_once('=').ok_or_else(wrong)?;
            let number = || value.parse::<u64>().ok().filter(|number| *number > 0);
            let address = |value: &str| {
                let digits = value.strip_prefix("0x").ok_or_else(wrong)?;
                u64::from_str_radix(digits, 16).map_err(|_| wrong())
            };
            let place = || -> Result<_, String> {
                let Some((at, register)) = value.split_once(':') else {
                    return Ok((address(value)?, None));
                };
                let register = register.parse::<usize>().ok().filter(|register| *register < 32);
                Ok((address(at)?, Some(register.ok_or_else(wrong)?)))
            };
            match name {
                "observe" if !value.is_empty() => out = Some(PathBuf::from(value)),
                "limit" => limit = number().ok_or_else(wrong)?,
                "events" => events = number().ok_or_else(wrong)?,
                "hertz" => hertz = number().ok_or_else(wrong)?,
                "task" => task = address(value)?,
                "at" => at.push(place()?),
                _ => return Err(wrong()),
            }
        }
        let out = out.ok_or("say where the events go: observe=FILE")?;
        Ok(Self { out, limit, events, hertz, task, at })
    }
}

/// Returns `true` if the options ask for an observation.
pub fn is_asked(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument.starts_with("observe="))
}
