//! The question of an observation, and how the texts in it are read.

use std::{path::Path, str::FromStr};

use anyhow::{Context as _, Result, bail};

use super::{image::Given, view::View};
use chronoscope_chips::Table;
use chronoscope_units::{parse_hertz, printable, words};

/// The number of instructions after which an observation ends, unless the user says otherwise.
pub const LIMIT: u64 = 100_000_000;

/// The image, the machine and the places that the user names.
pub struct Question<'a> {
    /// The ELF file.
    pub image: &'a Path,
    /// The address in the machine's memory at which the image is put, as `0x08000000`; `None` for its own.
    pub at: Option<&'a str>,
    /// ELF files with symbols of other programs in the machine, each as `FILE` or `FILE@0xSATP`.
    pub symbols: &'a [String],
    /// QEMU's name of the machine; `None` for the one with the chip's core.
    pub machine: Option<&'a str>,
    /// The chip whose time is given, as `stm32f405` or `stm32f405:84MHz`; `None` for instructions.
    pub chip: Option<&'a str>,
    /// The rate of the chip's crystal, as `8MHz`; `None` for that rate.
    pub crystal: Option<&'a str>,
    /// The file that takes what the image sends over serial lines; `None` to drop it.
    pub console: Option<&'a Path>,
    /// Words that read a value, each as `0xADDRESS=VALUE`.
    pub answer: &'a [String],
    /// An ELF file that runs before the image, in machine mode.
    pub firmware: Option<&'a Path>,
    /// Files that are copied to the machine's memory, each as `FILE@0xADDRESS`.
    pub load: &'a [String],
    /// A disk's raw image. The guest's writes are dropped.
    pub disk: Option<&'a Path>,
    /// The place at which intervals start: a symbol, or an address as `0x80000000`.
    pub from: Option<&'a str>,
    /// The place at which intervals end; `from` itself if `None`.
    pub to: Option<&'a str>,
    /// The place whose execution is a switch.
    pub switch: Option<&'a str>,
    /// The variable that holds the running task.
    pub task: Option<&'a str>,
    /// The number of instructions after which the observation ends.
    pub limit: u64,
    /// The image's command line.
    pub append: &'a str,
    /// An interrupt arrives at every instruction of the round from `from` to its next execution: the
    /// exception's number, or `timer`.
    pub arrivals: Option<&'a str>,
    /// The number of another exception that arrives, too.
    pub nested: Option<u8>,
    /// A timer of the chip whose phases are tried, as `TIM2` or `TIM2:1000`: intervals start with the
    /// requests of its interrupt.
    pub phase: Option<&'a str>,
    /// Interrupts are to be raised at seeded moments, which is refused.
    pub stimuli: bool,
    /// The image's own marks are asked for, and nothing else.
    pub is_watched: bool,
    /// The view of the image's kernel: a name of this version's, or a file.
    pub view: Option<&'a str>,
}

impl<'a> Question<'a> {
    /// The question about all of an image, to whose end it runs.
    pub fn new(image: &'a Path) -> Self {
        Self {
            image,
            at: None,
            symbols: &[],
            machine: None,
            chip: None,
            crystal: None,
            console: None,
            answer: &[],
            firmware: None,
            load: &[],
            disk: None,
            from: None,
            to: None,
            switch: None,
            task: None,
            limit: u64::MAX,
            append: "",
            arrivals: None,
            nested: None,
            phase: None,
            stimuli: false,
            is_watched: false,
            view: None,
        }
    }

    /// Checks that intervals have one start, as the command line does.
    ///
    /// # Errors
    /// They have two.
    pub(super) fn check(&self) -> Result<()> {
        let starts = [("from", self.from), ("arrivals", self.arrivals)];
        let other = starts.iter().find(|(_, value)| value.is_some());
        if let (Some(phase), Some((other, _))) = (self.phase, other) {
            bail!(
                "`phase = {}` and `{other}` are two starts of the intervals: leave out one of them",
                printable(phase)
            );
        }
        Ok(())
    }
}

/// The settings of a question by their names, as a study writes them and a case keeps them. Settings that
/// name files are none: a study opens no file of this computer.
pub(super) struct Asked<'a> {
    settings: &'a [(String, String)],
    answer: Vec<String>,
    append: String,
    limit: u64,
    nested: Option<u8>,
}

/// The setting that names a view of this version.
const VIEW: &str = "view";

/// The names of the settings of an observation that a study may write.
pub const SETTINGS: [&str; 14] = [
    "answer", "append", "arrivals", "at", "chip", "crystal", "from", "limit", "nested", "phase",
    "switch", "task", "to", VIEW,
];

impl<'a> Asked<'a> {
    /// Reads the settings.
    ///
    /// # Errors
    /// A name is unknown, a value is no number, or a view is a file.
    pub(super) fn read(settings: &'a [(String, String)]) -> Result<Self> {
        if let Some((name, _)) = settings.iter().find(|(name, _)| !SETTINGS.contains(&&**name)) {
            let near = words::nearest(name, SETTINGS.into_iter());
            bail!("`observe` has no setting `{}` in a study{near}", printable(name));
        }
        let mut asked = Self {
            settings,
            answer: Vec::new(),
            append: String::new(),
            limit: LIMIT,
            nested: None,
        };
        if let Some(view) = asked.value(VIEW).filter(|view| !View::is_of_this_version(view)) {
            bail!(
                "`view = {}` is a file, and a study opens none: name one of this version",
                printable(view)
            );
        }
        // A parameter's value has no blanks; see `Observed::settings`.
        let list = |name: &str| asked.value(name).map(|text| text.split('+').map(str::to_owned));
        let answer =
            list("answer").map(|words| words.map(|word| word.replacen(':', "=", 1)).collect());
        let append = list("append").map(|words| words.collect::<Vec<_>>().join(" "));
        let nested = asked.value("nested").map(|text| number(text, "nested")).transpose()?;
        let limit = asked.value("limit").map(|text| number(text, "limit")).transpose()?;
        (asked.answer, asked.append) = (answer.unwrap_or_default(), append.unwrap_or_default());
        (asked.nested, asked.limit) = (nested, limit.unwrap_or(LIMIT));
        Ok(asked)
    }

    fn value(&self, name: &str) -> Option<&'a str> {
        self.settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The question about an image on a machine of QEMU's.
    pub(super) fn question<'q>(&'q self, image: &'q Path, machine: &'q str) -> Question<'q> {
        Question {
            machine: Some(machine),
            at: self.value("at"),
            chip: self.value("chip"),
            crystal: self.value("crystal"),
            answer: &self.answer,
            from: self.value("from"),
            to: self.value("to"),
            switch: self.value("switch"),
            task: self.value("task"),
            limit: self.limit,
            append: &self.append,
            arrivals: self.value("arrivals"),
            nested: self.nested,
            phase: self.value("phase"),
            view: self.value(VIEW),
            ..Question::new(image)
        }
    }
}

/// # Errors
/// The value is no number, or too large a one.
fn number<N: FromStr>(text: &str, name: &str) -> Result<N> {
    text.parse().ok().with_context(|| format!("`{name} = {}` is no number here", printable(text)))
}

/// The exception that arrives at every instruction of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Arrivals {
    /// The processor's own timer, or the first interrupt that the image has enabled.
    Timer,
    /// The exception of this number.
    Number(u8),
}

/// The word for the kernel's timer interrupt.
pub(super) const TIMER: &str = "timer";

/// # Errors
/// The text is neither a number of an exception nor `timer`.
pub(super) fn arrivals(text: &str) -> Result<Arrivals> {
    match (text, text.parse()) {
        (TIMER, _) => Ok(Arrivals::Timer),
        (_, Ok(number @ 1..=239)) => Ok(Arrivals::Number(number)),
        _ => bail!(
            "`--arrivals {}`: give the number of an exception, 15 for SysTick (RISC-V: 7 for the timer) \
             or 16 and more for a line of the chip's, or {TIMER}",
            printable(text)
        ),
    }
}

/// The rate of a chip's crystal in Hz, unless the user gives it: the one of the makers' first boards.
const CRYSTAL: u32 = 8_000_000;

/// The plugin's options for the registers and devices of a chip, and for words that are given.
///
/// # Errors
/// A word is none, or the crystal's rate is no crystal's.
pub(super) fn registers(
    table: &Table,
    part: Option<&str>,
    question: &Question<'_>,
) -> Result<Vec<String>> {
    let crystal = question.crystal.map(crystal).transpose()?.unwrap_or(CRYSTAL);
    let mut options = part.map_or_else(Vec::new, |part| table.registers(part, crystal));
    for text in question.answer {
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let parts = text.split_once('=').filter(|(address, _)| address.starts_with("0x"));
        let word = parts.and_then(|(address, value)| number(address).zip(number(value)));
        let Some((address, value)) = word.filter(|(address, _)| address % 4 == 0) else {
            bail!(
                "`--answer {}`: write the address of a word and its value, as 0x50060800=1",
                printable(text)
            );
        };
        options.push(format!("answer={address:#x}:{value:#x}"));
    }
    Ok(options)
}

/// # Errors
/// The text is no rate that the chips take at their oscillator's pins.
fn crystal(text: &str) -> Result<u32> {
    let hertz = parse_hertz(text).context("`--crystal`")?;
    let hertz = u32::try_from(hertz).ok().filter(|hertz| (1_000_000..=50_000_000).contains(hertz));
    hertz.with_context(|| format!("`--crystal {}`: give 1MHz to 50MHz", printable(text)))
}

/// The file and the number of a text `FILE@0xNUMBER`.
pub(super) fn file_and_number(text: &str) -> Option<(&str, u64)> {
    let (file, number) = text.rsplit_once("@0x")?;
    Some((file, u64::from_str_radix(number, 16).ok()?))
}

/// Reads a file that is given with its address, as `FILE@0xADDRESS`.
pub(super) fn loaded(text: &str) -> Result<(Given, u64)> {
    let Some((file, address)) = file_and_number(text) else {
        bail!("`{}`: name a file and its address, as app.bin@0x86000000", printable(text));
    };
    Ok((Given::read(Path::new(file))?, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_a_study_have_one_start() {
        let check = |settings: &[(&str, &str)]| {
            let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let settings: Vec<_> = settings.iter().map(pair).collect();
            let asked = Asked::read(&settings).unwrap();
            asked.question(Path::new("app.elf"), "netduinoplus2").check()
        };
        check(&[("phase", "TIM2"), ("to", "actuate")]).unwrap();
        check(&[("from", "loop"), ("arrivals", "15")]).unwrap();
        for (name, value) in [("from", "loop"), ("arrivals", "15")] {
            let both = check(&[("phase", "TIM2"), ("to", "actuate"), (name, value)]);
            let error = both.unwrap_err().to_string();
            let expected = format!(
                "`phase = TIM2` and `{name}` are two starts of the intervals: leave out one of them"
            );
            assert_eq!(error, expected);
        }
    }
}
