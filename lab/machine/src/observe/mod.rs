//! Observes an unmodified image from outside: a machine that starts the image in QEMU with a plugin,
//! and turns the events that the plugin writes into a stream of records, like a port's.

mod busy;
mod console;
mod encoder;
pub mod events;
mod figures;
pub mod image;
mod named;
mod phases;
mod placed;
mod programs;
mod question;
mod start;
pub mod view;

use std::{
    collections::BTreeMap, fs, ops::Range, path::Path, sync::atomic::AtomicBool, time::Duration,
};

use anyhow::{Context as _, Result, bail};

pub use self::question::{LIMIT, Question, SETTINGS};
use self::{
    console::Console,
    events::{Figures, Sign, Watched},
    image::{Given, Image, Place, Sort},
    named::Named,
    phases::Phases,
    placed::Placed,
    programs::Program,
    question::{Arrivals, Asked, TIMER, arrivals, loaded, registers},
    view::{Resolved, Tasks, View},
};
use crate::{
    Machine, Machines, Properties, Provenance, Recording, Request, SetUpFailed, Start,
    arrivals::ONE_AT_A_TIME,
    builder,
    marks::{Kind, Mark},
    qemu::{chip::architecture, modelled::Modelled},
};
use chronoscope_child::{self as child, Folder};
use chronoscope_chips::{Chip, Part};
use chronoscope_run::{Target, names::CHIP};
use chronoscope_units::{printable, words};
use object::Architecture;

/// The longest time that an image may run for, whatever its limit of instructions.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// The wall time after which an image that sleeps is ended. A wait for a timer takes none: the emulator's clock
/// jumps to its end.
const SLEEP: Duration = Duration::from_secs(10);

/// The reason for the end of an image that sleeps.
const ASLEEP: &str = "the image sleeps, and no timer or interrupt is due that wakes it";

/// The properties of every machine with an observer.
pub const PROPERTIES: Properties =
    Properties { offers_soaks: false, is_emulated: true, shares_the_host: true, slowness: 1 };

/// A serial port of QEMU's that is connected to nothing.
const NOWHERE: &str = "null";

/// The files of events and of the machine's memory in their temporary folder.
const EVENTS: &str = "events";
const MEMORY: &str = "memory";

/// The address to which firmwares of `virt` jump.
const AFTER_FIRMWARE: u64 = 0x8020_0000;

/// The number of events after which the first look at an image ends.
const FIRST_EVENTS: u32 = 4000;

/// An image on an emulated machine, with an observer.
pub struct Observed<'m> {
    machines: &'m Machines,
    name: String,
    image: Image,
    /// The folder with the file that QEMU loads in the image's place, and the user's `--at`.
    placed: Option<Folder>,
    at: Option<String>,
    /// Other programs in the machine.
    programs: Vec<Program>,
    emulated: &'m Chip,
    chip: Option<Modelled>,
    /// The plugin's options for registers that the machine lacks.
    registers: Vec<String>,
    /// The rate of the crystal as it is given.
    crystal: Option<String>,
    console: Option<Console>,
    firmware: Option<Image>,
    load: Vec<(Given, u64)>,
    disk: Option<Given>,
    from: Option<Place>,
    to: Option<Place>,
    switch: Option<Place>,
    /// The address spaces in which these three places count, in the order of their numbers.
    spaces: [Option<u64>; 3],
    task: Option<Place>,
    limit: u64,
    append: String,
    arrivals: Option<Arrivals>,
    /// The number of another exception that arrives, too.
    nested: Option<String>,
    phases: Option<Phases>,
    marks: Vec<Mark>,
    is_watched: bool,
    /// The view of the image's kernel, with its name.
    view: Option<(String, Resolved)>,
}

impl<'m> Observed<'m> {
    /// Reads the image and finds the machine and the places.
    ///
    /// # Errors
    /// The question contradicts itself, the machine or a symbol is unknown, or the file is no image for the
    /// machine.
    pub fn new(machines: &'m Machines, question: &Question<'_>) -> Result<Self> {
        question.check()?;
        let rows = machines.table().chips.iter().filter(|chip| chip.qemu.systick.is_some());
        let parts = &machines.table().parts;
        let machine = match (question.machine, question.chip) {
            (Some(machine), _) => machine,
            (None, None) => {
                bail!("name the machine, as --machine virt, or a chip, as --chip stm32f405")
            }
            (None, Some(chip)) => {
                let name = chip.split(':').next().unwrap_or_default();
                let runs = |emulated: &&Chip| {
                    parts.iter().any(|part| part.name == name && part.runs.contains(&emulated.core))
                };
                // A chip whose core no observed machine has is no suggestion.
                let cores: Vec<&String> = rows.clone().map(|chip| &chip.core).collect();
                let is_offered = |part: &&Part| part.runs.iter().any(|core| cores.contains(&core));
                let names = || parts.iter().filter(is_offered).map(|part| &*part.name);
                let near = || words::nearest_three(name, names());
                let found = rows.clone().find(runs);
                let found = found.with_context(|| {
                    format!(
                        "no machine observes the chip `{}`: did you mean {}?",
                        printable(name),
                        near()
                    )
                })?;
                &found.qemu.machine
            }
        };
        if question.stimuli {
            bail!(
                "interrupts at seeded moments (--stimuli) are not offered on {}: an observer changes \
                 nothing of the image; `worst` raises one at every instruction of an experiment",
                printable(machine)
            );
        }
        let known = || rows.clone().map(|chip| &*chip.qemu.machine);
        if !known().any(|name| name == machine) {
            let near = words::nearest_three(machine, known());
            bail!("unknown machine `{}`: did you mean {near}?", printable(machine));
        }
        let offered: Vec<&Chip> =
            rows.clone().filter(|chip| chip.qemu.machine == machine).collect();
        let start = question.firmware.map(|_| AFTER_FIRMWARE);
        let Placed { image, folder } = placed::read(question.image, question.at, start, &offered)?;
        let emulated = offered.into_iter().find(|chip| architecture(chip) == image.architecture);
        let Some(emulated) = emulated else {
            bail!(
                "{} is an image for {:?} processors, which {} does not have: name its machine",
                printable(&question.image.display().to_string()),
                image.architecture,
                machine
            );
        };
        let firmware = question.firmware.map(Image::read).transpose()?;
        if let Some(firmware) = &firmware {
            let shown = printable(&firmware.path.display().to_string());
            if !emulated.is_virt() {
                bail!("{machine} takes no firmware: leave out --firmware");
            }
            if firmware.architecture != image.architecture {
                bail!("the firmware {shown} is for other processors than the image");
            }
        }
        let load = question.load.iter().map(|text| loaded(text)).collect::<Result<_>>()?;
        if question.disk.is_some() && !emulated.is_virt() {
            bail!("{machine} takes no disk: leave out --disk");
        }
        let disk = question.disk.map(Given::read).transpose()?;
        if disk.is_some() && question.chip.is_some() {
            bail!("the host decides when a disk answers: leave out --disk or --chip");
        }
        let chip = question.chip.map(|chip| Modelled::named(chip, emulated, parts)).transpose()?;
        let part = chip.as_ref().map(Modelled::part);
        let mapped = part.filter(|_| !image.is_of_suite());
        let registers = registers(machines.table(), mapped, question)?;
        let console = question.console.map(|file| Console::new(file, machines.table(), mapped));
        let console = console.transpose()?;
        let programs = question.symbols.iter().map(|text| Program::read(text, &image));
        let programs: Vec<Program> = programs.collect::<Result<_>>()?;
        let named = |text: Option<&str>, sort| {
            let found = text.map(|text| programs::place(&image, &programs, text, sort));
            found
                .transpose()
                .map(|found| found.map_or((None, None), |(place, space)| (Some(place), space)))
        };
        let (from, from_space) = named(question.from, Sort::Code)?;
        let (to, to_space) = named(question.to.or(question.from), Sort::Code)?;
        let (switch, switch_space) = named(question.switch, Sort::Code)?;
        let spaces = [to_space, from_space, switch_space];
        let view = question.view.map(|name| viewed(name, &image, &programs)).transpose()?;
        let task = match &view {
            Some((_, view)) => view.running.map(|address| Place { name: String::new(), address }),
            None => named(question.task, Sort::Variable)?.0,
        };
        let arrivals = question.arrivals.map(arrivals).transpose()?;
        if arrivals.is_some() && from.is_none() {
            bail!(
                "a round has a start: name a place that the image comes to again, as --from loop"
            );
        }
        if arrivals.is_some() && image.architecture == Architecture::Riscv64 {
            bail!("--arrivals is for a Cortex-M or an RV32, and {machine} is none");
        }
        if question.nested.is_some() && architecture(emulated) != Architecture::Arm {
            bail!("--nested: {ONE_AT_A_TIME}");
        }
        let phases = question.phase.map(|text| Phases::parse(text, &registers)).transpose()?;
        if phases.is_none() && to.is_some() && from.is_none() {
            bail!("intervals have a start: name it, as --from give, or a timer, as --phase TIM2");
        }
        let marks = image.marks()?;
        if question.is_watched && marks.is_empty() {
            bail!(
                "{} has no marks: `observe` measures between its symbols, as --from loop; marks are \
                 those of the crate chronoscope-mark, or of chronoscope_mark.h",
                printable(&question.image.display().to_string())
            );
        }
        let append = question.append.to_owned();
        let limit = question.limit;
        let name = name(question.image);
        Ok(Self {
            machines,
            name,
            image,
            placed: folder,
            at: question.at.map(str::to_owned),
            programs,
            emulated,
            chip,
            registers,
            crystal: question.crystal.map(str::to_owned),
            console,
            firmware,
            load,
            disk,
            from,
            to,
            switch,
            spaces,
            task,
            limit,
            append,
            arrivals,
            nested: question.nested.map(|number| number.to_string()),
            phases,
            marks,
            is_watched: question.is_watched,
            view,
        })
    }

    /// Reads the image of a target, and finds its places by settings as [`settings`](Self::settings) returns
    /// them.
    ///
    /// # Errors
    /// The target has no image, or as [`new`](Self::new); a setting is unknown, or names a file.
    pub fn by_settings(
        machines: &'m Machines,
        target: &Target,
        settings: &[(String, String)],
    ) -> Result<Self> {
        let Some(image) = &target.image else {
            bail!(
                "`{target}` has no image to observe: write {}=$image@{}",
                target.kernel,
                target.machine
            );
        };
        let asked = Asked::read(settings)?;
        let observed = Self::new(machines, &asked.question(image, &target.machine))?;
        Ok(Self { name: target.kernel.clone(), ..observed })
    }

    /// Checks that QEMU and its plugin are there, and builds the plugin in a checkout.
    ///
    /// # Errors
    /// One of them is missing.
    pub fn check(&self) -> Result<()> {
        let (program, package) = (self.emulated.program(), self.emulated.package());
        if !builder::is_installed(program) {
            bail!(
                "{program} is not installed: as root, apt-get install --no-install-recommends \
                 {package}"
            );
        }
        self.machines.qemu_plugin()?;
        self.check_view()
    }

    /// Runs the image until the view's checks have seen its first tasks.
    ///
    /// # Errors
    /// The checks do not hold.
    fn check_view(&self) -> Result<()> {
        let Some((_, Resolved { running: Some(_), .. })) = &self.view else { return Ok(()) };
        let folder = Folder::new()?;
        let options = format!("{},events={FIRST_EVENTS}", self.observer(&folder));
        let mut qemu = self.command(&options, NOWHERE)?;
        let limit = patient(child::Limit::for_work(PATIENCE));
        let stop = AtomicBool::new(false);
        let discard = &mut |_: &[u8]| Ok(());
        let program = self.emulated.program();
        let ended = child::run_to_an_end::<child::Error>(&mut qemu, program, limit, &stop, discard);
        match fs::read(folder.path(EVENTS)) {
            Ok(events) => self.tasks(&events).map(drop),
            Err(_) => Ok(ended?),
        }
    }

    /// The figures of the image's tasks, if a view is asked for.
    fn tasks(&self, events: &[u8]) -> Result<Option<Tasks>> {
        let Some((name, view)) = &self.view else { return Ok(None) };
        let memory = self.memory();
        let tasks = Tasks::from_events(events, view, self.places(), memory.as_ref());
        let in_view = || format!("the view {} in {}", printable(name), self.image.shown());
        tasks.map(Some).with_context(in_view)
    }

    /// The number of the first of the view's places.
    fn places(&self) -> u64 {
        events::MARKS + self.marks.len() as u64
    }

    /// The addresses of the machine's memory for data, if they are known.
    fn memory(&self) -> Option<Range<u64>> {
        let memory = self.emulated.ram?;
        Some(memory.origin..memory.origin + 1024 * memory.kib)
    }

    /// The target that the observation's case names.
    pub fn target(&self) -> Target {
        Target {
            kernel: self.name.clone(),
            machine: self.emulated.qemu.machine.clone(),
            image: Some(self.image.path.clone()),
        }
    }

    /// The names and values of the parameters of the observation's case.
    pub fn settings(&self) -> Vec<(String, String)> {
        let place = |name: &str, place: &Option<Place>| {
            Some((name.to_owned(), place.as_ref()?.name.clone()))
        };
        let mut parameters: Vec<_> = [
            ("from", &self.from),
            ("to", &self.to),
            ("switch", &self.switch),
            ("task", &self.task),
        ]
        .into_iter()
        .filter(|(_, place)| place.as_ref().is_some_and(|place| !place.name.is_empty()))
        .filter_map(|(name, value)| place(name, value))
        .collect();
        if let Some((name, _)) = &self.view {
            parameters.push(("view".to_owned(), name.clone()));
        }
        if let Some(chip) = &self.chip {
            parameters.push((CHIP.to_owned(), chip.name()));
        }
        if let Some(crystal) = &self.crystal {
            parameters.push(("crystal".to_owned(), crystal.clone()));
        }
        let answers = self.registers.iter().filter_map(|option| option.strip_prefix("answer="));
        let answers: Vec<&str> = answers.collect();
        if !answers.is_empty() {
            parameters.push(("answer".to_owned(), answers.join("+")));
        }
        if let Some(at) = &self.at {
            parameters.push(("at".to_owned(), at.clone()));
        }
        if !self.programs.is_empty() {
            let names: Vec<String> = self.programs.iter().map(Program::name).collect();
            parameters.push(("symbols".to_owned(), names.join("+")));
        }
        if let Some(firmware) = &self.firmware {
            parameters.push(("firmware".to_owned(), name(&firmware.path)));
        }
        if !self.load.is_empty() {
            let files = self.load.iter().map(|(file, at)| format!("{}@{at:#x}", name(&file.path)));
            parameters.push(("load".to_owned(), files.collect::<Vec<_>>().join("+")));
        }
        if let Some(disk) = &self.disk {
            parameters.push(("disk".to_owned(), name(&disk.path)));
        }
        if let Some(arrivals) = self.arrivals {
            let number = match arrivals {
                Arrivals::Timer => TIMER.to_owned(),
                Arrivals::Number(number) => number.to_string(),
            };
            parameters.push(("arrivals".to_owned(), number));
        }
        if let Some(nested) = &self.nested {
            parameters.push(("nested".to_owned(), nested.clone()));
        }
        if let Some(phases) = &self.phases {
            parameters.push(("phase".to_owned(), phases.name()));
        }
        parameters.push(("limit".to_owned(), self.limit.to_string()));
        if !self.append.is_empty() {
            // A parameter's value has no blanks.
            parameters.push(("append".to_owned(), self.append.replace(' ', "+")));
        }
        parameters
    }

    /// The names of the image's own marks and of its sizes, and their kinds.
    pub fn marks(&self) -> BTreeMap<&str, Kind> {
        self.image.series(&self.marks)
    }

    /// The figures of a file of events, and of the view's tasks.
    fn figures(&self, events: &[u8]) -> Result<(Figures, Option<Tasks>)> {
        let others = self.view.as_ref().map_or(0, |(_, view)| 2 * view.sequences.len() as u64);
        let watched =
            Watched { sign: self.sign(), marks: &self.marks, others, spaces: self.spaces };
        let figures = Figures::with_places(events, &watched)?;
        let tasks = self.tasks(events).map_err(|error| SetUpFailed(format!("{error:#}")))?;
        Ok((figures, tasks))
    }

    fn is_arm(&self) -> bool {
        self.emulated.architecture() == "arm"
    }

    /// The name of a Cortex-M exception: of its handler, in a view whose tasks are handlers and where
    /// the image's vectors name one, else Arm's or the interrupt's number.
    fn exception(&self, number: u64) -> String {
        let entry = |table: u64| {
            let address = self.image.word(table + 4 * number)?;
            self.image.function_at(address.into())
        };
        let is_asked = self.view.as_ref().is_some_and(|(_, view)| view.tasks_are_handlers);
        let tables = [self.emulated.flash.origin, 0];
        let named = tables.into_iter().filter(|_| is_asked && number >= 16).find_map(entry);
        named.unwrap_or_else(|| encoder::exception(number))
    }

    /// The event that is a switch.
    fn sign(&self) -> Sign {
        match (&self.switch, &self.task) {
            (Some(_), _) => Sign::Place,
            (None, Some(_)) => Sign::Task,
            (None, None) => Sign::Space,
        }
    }
}

/// Reads a view, and finds its places in the image, and its sequences' in the programs, too. Returns it
/// with its name.
///
/// # Errors
/// There is no such view, or the image lacks its places.
fn viewed(view: &str, image: &Image, programs: &[Program]) -> Result<(String, Resolved)> {
    let place = |text: &str| programs::place(image, programs, text, Sort::Code);
    Ok((name(Path::new(view)), Resolved::new(View::read(view)?, image, place)?))
}

/// The image's file name without its extension, in the letters of a target's name.
pub(crate) fn name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let letter = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || "-_.".contains(letter) => letter,
        _ => '_',
    };
    stem.chars().map(letter).take(60).collect()
}

impl Machine for Observed<'_> {
    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn prepare(&self, _request: &Request, _stop: &AtomicBool) -> Result<Provenance> {
        let mut identity = BTreeMap::from([self.image.fact()]);
        identity.extend(self.programs.iter().map(Program::fact));
        if let Some(firmware) = &self.firmware {
            identity.insert("firmware".to_owned(), format!("sha256 {}", firmware.sha256));
        }
        for (file, address) in &self.load {
            let name = format!("loaded at {address:#x}");
            identity.insert(name, format!("sha256 {}", file.sha256));
        }
        if let Some(disk) = &self.disk {
            identity.insert("disk".to_owned(), format!("sha256 {}", disk.sha256));
        }
        if let Some((_, view)) = &self.view {
            identity.insert("view".to_owned(), format!("sha256 {}", view.sha256));
        }
        if let Some(chip) = &self.chip {
            identity.extend([chip.identity()]);
            return Ok(Provenance { identity, remark: chip.remark() });
        }
        if self.arrivals.is_some() {
            let remark =
                "an interrupt was raised at each instruction of a round; the image is its own";
            return Ok(Provenance { identity, remark: remark.to_owned() });
        }
        let remark = match self.disk {
            None => "observed from outside: no instruction of the image is changed",
            Some(_) => {
                "observed from outside: no instruction of the image is changed; the host decides \
                 when the disk answers, so that another run has other figures"
            }
        };
        Ok(Provenance { identity, remark: remark.to_owned() })
    }

    /// Runs the image to its end, or to the limit of instructions. When `stop` becomes true, QEMU
    /// ends by itself, and the events until then are kept; likewise after [`PATIENCE`].
    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        let start = &Start { limit: patient(start.limit), ..*start };
        let folder = Folder::new()?;
        if let (Some(arrivals), Some(round)) = (self.arrivals, &self.from) {
            sink(&self.sweep(arrivals, round, &folder, start)?)?;
            return Ok(Recording::new());
        }
        let serial = self.console.as_ref().map(|console| console.serial(&folder));
        let serial = serial.as_deref().unwrap_or(NOWHERE);
        let longest = self.phases.as_ref().map(|phases| self.longest(phases, start)).transpose()?;
        let schedule = longest.as_ref().map_or("", |longest| &longest.options);
        let mut qemu = self.command(&format!("{}{schedule}", self.observer(&folder)), serial)?;
        if self.marks.iter().any(|mark| mark.argument.is_some()) {
            // A register is current where a block begins.
            qemu.arg("-singlestep");
        }
        let program = self.emulated.program();
        let discard = &mut |_: &[u8]| Ok(());
        let ended = child::run_to_an_end::<child::Error>(
            &mut qemu,
            program,
            start.limit,
            start.stop,
            discard,
        );
        let expired = match &ended {
            Err(child::Error::Expired { .. }) => Some("ten minutes have passed: lower --limit"),
            Err(child::Error::Asleep { .. }) => Some(ASLEEP),
            _ => None,
        };
        let (mut figures, tasks) = match fs::read(folder.path(EVENTS))
            .context("no events")
            .map(|bytes| self.figures(&bytes))
        {
            Ok(Ok(figures)) => figures,
            // An image may end QEMU with any status. Without events, that status says why.
            Ok(Err(damaged)) => return Err(ended.err().map_or(damaged, Into::into)),
            Err(missing) => return Err(ended.err().map_or(missing, Into::into)),
        };
        figures.ended_early = expired.or(figures.ended_early);
        let named = match (&self.view, tasks) {
            (Some((_, view)), Some(tasks)) => {
                let memory = fs::read(folder.path(MEMORY)).unwrap_or_default();
                let start = self.memory().map_or(0, |memory| memory.start);
                Some(Named::new(view, tasks, &self.image, start, memory))
            }
            _ => None,
        };
        let phase = longest.as_ref().map(|longest| &*longest.phase);
        let cycles = self.cycles(&figures, named.as_ref(), &folder, phase, start)?;
        let sent = self.console.as_ref().map(|console| console.keep(&folder)).transpose()?;
        let mut notes = sent.unwrap_or_default();
        notes.extend(longest.map(|longest| longest.note));
        let (named, cycles) = (named.as_ref(), cycles.as_ref());
        sink(&figures::encode(self, start.request, &figures, named, cycles, &notes)?)?;
        Ok(Recording::new())
    }
}

/// A limit that ends an image that sleeps, too.
fn patient(limit: child::Limit) -> child::Limit {
    child::Limit { sleep: Some(SLEEP), ..limit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::request;
    use chronoscope_base::digest::sha256;

    #[test]
    fn a_target_s_name_has_plain_letters() {
        assert_eq!(name(Path::new("a/my kernel@7.elf")), "my_kernel_7");
    }

    /// A view may be edited under its name.
    #[test]
    fn the_text_of_a_view_is_part_of_the_identity() {
        let folder = Folder::new().unwrap();
        let [image, view] = ["app.bin", "own.toml"].map(|name| folder.path(name));
        fs::write(&image, b"\x13\0\0\0").unwrap();
        let machines = Machines::default();
        for name in ["one", "two"] {
            let text = format!(
                "kernel = \"a\"\noffsets-of = \"a\"\n[[sequence]]\nname = \"{name}\"\nfrom = \"b\"\nto = \"c\""
            );
            fs::write(&view, &text).unwrap();
            let question = Question {
                machine: Some("virt"),
                at: Some("0x80000000"),
                view: view.to_str(),
                ..Question::new(&image)
            };
            let observed = Observed::new(&machines, &question).unwrap();
            let made = observed.prepare(&request("observe"), &AtomicBool::new(false)).unwrap();
            let expected = format!("sha256 {}", sha256(text.as_bytes()));
            assert_eq!(made.identity["view"], expected);
        }
    }

    #[test]
    fn unknown_machines_and_files_that_are_no_images_are_refused() {
        let ask = |image: &str, machine: &str| {
            let image = Path::new(image);
            let question = Question { machine: Some(machine), ..Question::new(image) };
            Observed::new(&Machines::default(), &question).err().unwrap().to_string()
        };
        assert!(ask("/dev/null", "vird").contains("did you mean virt"));
        assert!(ask("/dev/null", "virt").contains("there is no such image"));
        let own = std::env::current_exe().unwrap();
        assert!(ask(own.to_str().unwrap(), "virt").contains("name its machine"));
    }
}
