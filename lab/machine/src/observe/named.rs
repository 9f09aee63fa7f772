//! The tasks of an image by their names, as a view shows them, as records of a stream.

use std::{cmp::Reverse, collections::BTreeMap};

use anyhow::Result;
use chronoscope_suite::wire::{Record, Series};

use super::{
    encoder::{Encoder, exception},
    image::Image,
    view::{Resolved, Share, TaskFigures, Tasks, Waited},
};
use chronoscope_units::{OneLine, printable};

/// The most tasks with series, and the most objects for which a task waits.
const MOST_TASKS: usize = 12;
const MOST_OBJECTS: usize = 4;

/// The most that are named in a sentence on who ran.
const MOST_SHARES: usize = 5;

/// The tasks' figures, with the names of the image's objects.
pub struct Named<'a> {
    view: &'a Resolved,
    tasks: Tasks,
    /// The variables of the image, each with its address and its value at the end.
    variables: Vec<(u64, u64, String)>,
    /// The machine's memory at the end, from this address on.
    start: u64,
    memory: Vec<u8>,
}

impl<'a> Named<'a> {
    /// `memory` is the machine's memory at the end, from `start` on; empty if it is not known.
    pub fn new(
        view: &'a Resolved,
        tasks: Tasks,
        image: &Image,
        start: u64,
        memory: Vec<u8>,
    ) -> Self {
        let end = start.saturating_add(memory.len() as u64);
        let mut named = Self { view, tasks, variables: Vec::new(), start, memory };
        let variables = image.variables(&(start..end)).into_iter();
        named.variables =
            variables.map(|(at, name)| (at, named.word(at).unwrap_or_default(), name)).collect();
        named
    }

    /// The starts and ends of all intervals, in executed instructions.
    pub fn times(&self) -> impl Iterator<Item = u64> {
        let intervals = self.tasks.intervals().flatten();
        intervals.flat_map(|one| [one.start, one.start.saturating_add(one.length)])
    }

    /// Returns `true` if nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.tasks.intervals().all(Vec::is_empty)
    }

    /// The name of a task by the address of its record; 0 is before the first one.
    pub fn task(&self, record: u64) -> Option<&str> {
        match record {
            0 => Some("none"),
            _ if self.tasks.dummies.contains(&record) => Some("start"),
            _ => self.tasks.tasks.get(&record).map(|task| &*task.name),
        }
    }

    /// The bytes of the memory from an address on.
    fn bytes(&self, address: u64) -> &[u8] {
        let at = address.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.memory.get(at..)).unwrap_or_default()
    }

    /// A pointer in the memory at the end.
    fn word(&self, address: u64) -> Option<u64> {
        let bytes = self.bytes(address).get(..self.view.pointer as usize)?;
        Some(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
    }

    /// The name of an object: the variable that it is, or else one that has its address.
    fn object(&self, address: u64) -> String {
        let mut all = self.variables.iter();
        let found = all.clone().find(|(at, ..)| *at == address);
        let found = found.or_else(|| all.find(|(_, value, _)| *value == address));
        found.map_or_else(|| format!("the object at {address:#x}"), |(.., name)| name.clone())
    }

    /// The object of a wait and its holder, as the end of a series' name. Of several objects of one name and
    /// one holder in `all`, the one with the lowest address has the plain name, and the others have their
    /// addresses behind it.
    fn waited(&self, what: Waited, all: &[Waited]) -> String {
        let Waited::Object(object, holder) = what else { return String::new() };
        let name = self.object(object);
        let is_namesake = |other: &Waited| match *other {
            Waited::Object(other, held_by) => {
                other < object && held_by == holder && self.object(other) == name
            }
            Waited::Unknown => false,
        };
        let address = all.iter().any(is_namesake).then(|| format!(" {object:#x}"));
        let holder = holder.map(|holder| format!(", held by {}", self.who(Share::Task(holder))));
        format!(" on {name}{}{}", address.unwrap_or_default(), holder.unwrap_or_default())
    }

    fn who(&self, who: Share) -> String {
        match who {
            Share::Start => "before the first task".to_owned(),
            Share::Handler(0) => "handlers".to_owned(),
            Share::Handler(number) => exception(number),
            Share::Task(record) => match self.task(record) {
                Some(name) => name.to_owned(),
                None => format!("{record:#x}"),
            },
        }
    }

    /// The sentence on the longest response of a task: who executed its instructions. `None` without one.
    fn worst(&self, task: &TaskFigures) -> Option<String> {
        let longest = task.responses.iter().max_by_key(|one| (one.length, Reverse(one.start)))?;
        let shares = self.tasks.shares(*longest);
        let named = shares.iter().take(MOST_SHARES);
        let mut parts: Vec<String> =
            named.map(|(who, spent)| format!("{spent} by {}", self.who(*who))).collect();
        let rest: u64 = shares.iter().skip(MOST_SHARES).map(|(_, spent)| spent).sum();
        if rest > 0 {
            parts.push(format!("{rest} by others"));
        }
        let end = longest.start.saturating_add(longest.length);
        let within =
            |wait: &&super::view::Interval| wait.start >= longest.start && wait.start < end;
        let waits = task.waits.iter().filter_map(|(what, waits)| {
            let Waited::Object(object, Some(holder)) = what else { return None };
            let length: u64 = waits.iter().filter(within).map(|wait| wait.length).sum();
            (length > 0).then(|| {
                let holder = self.who(Share::Task(*holder));
                format!(", {length} of them blocked on {}, held by {holder}", self.object(*object))
            })
        });
        let waits: String = waits.collect();
        Some(format!(
            "{}: its longest response took {} instructions, from instruction {}{waits}: {}",
            task.name,
            longest.length,
            longest.start,
            parts.join(", ")
        ))
    }

    /// The bytes at the low end of a task's stack that were never written.
    fn stack_left(&self, task: &TaskFigures) -> Option<u64> {
        let (_, fill) = self.view.record.stack?;
        let stack = self.bytes(task.stack?);
        let left = stack.iter().take_while(|byte| **byte == fill).count();
        (left > 0).then_some(left as u64)
    }
}

impl Encoder<'_> {
    /// Adds the figures and the series of the tasks, the most urgent and the busiest first, and of the
    /// sequences.
    pub fn named(&mut self, named: &Named<'_>) -> Result<()> {
        self.sequences(named)?;
        if named.view.running.is_some() {
            let name = format!("tasks of {}", printable(&named.view.kernel));
            self.evidence(&name, named.tasks.tasks.len() as u64, 1)?;
        }
        let shares = named.tasks.whole();
        let whole: u64 = shares.iter().map(|(_, spent)| spent).sum();
        let spent: BTreeMap<Share, u64> = shares.into_iter().collect();
        let spent_by = |record: u64| spent.get(&Share::Task(record)).copied().unwrap_or_default();
        let mut tasks: Vec<_> = named.tasks.tasks.iter().collect();
        tasks.sort_by_key(|(record, task)| {
            (Reverse(task.priority), Reverse(spent_by(**record)), **record)
        });
        for (record, task) in tasks.iter().take(MOST_TASKS) {
            let share = 100.0 * spent_by(**record) as f64 / whole.max(1) as f64;
            self.figure(&format!("{} processor share", task.name), "%", share)?;
            self.task(named, task)?;
        }
        let handlers = spent.iter().filter(|(who, _)| matches!(who, Share::Handler(_)));
        let handlers: u64 = handlers.map(|(_, spent)| spent).sum();
        let share = 100.0 * handlers as f64 / whole.max(1) as f64;
        if !tasks.is_empty() {
            self.figure("handlers processor share", "%", share)?;
        }
        let has_stack = tasks.iter().any(|(_, task)| named.stack_left(task).is_some());
        if named.view.record.stack.is_some() && !has_stack && !named.memory.is_empty() {
            self.say("no stack was filled before its task ran: how much is left is not known")?;
        }
        self.left_out("tasks", "last", tasks.len(), MOST_TASKS)
    }

    fn task(&mut self, named: &Named<'_>, task: &TaskFigures) -> Result<()> {
        let name = &task.name;
        if let Some(priority) = task.priority {
            self.figure(&format!("{name} priority"), "", priority as f64)?;
        }
        if let Some(left) = named.stack_left(task) {
            self.figure(&format!("{name} stack left"), "bytes", left as f64)?;
        }
        if !task.releases.is_empty() {
            let lengths = || task.releases.iter().map(|one| one.length);
            let jitter = lengths().max().unwrap_or(0) - lengths().min().unwrap_or(0);
            self.figure(&format!("{name} release jitter"), "instructions", jitter as f64)?;
        }
        // A task that never waits has no jobs, and loses the processor to everyone.
        if task.waits.is_empty() && task.responses.is_empty() {
            return Ok(());
        }
        let preemptions: u64 = task.preempted_by.values().sum();
        self.figure(&format!("{name} preemptions"), "", preemptions as f64)?;
        for (by, count) in &task.preempted_by {
            let by = named.who(Share::Task(*by));
            self.figure(&format!("{name} preempted by {by}"), "", *count as f64)?;
        }
        for (what, intervals) in [("response", &task.responses), ("ready to running", &task.starts)]
        {
            if !intervals.is_empty() {
                self.intervals(&format!("{name} {what}"), intervals)?;
            }
        }
        for (what, intervals) in
            [("release to release", &task.releases), ("preempted", &task.preempted)]
        {
            if !intervals.is_empty() {
                self.series(Series::auxiliary(&format!("{name} {what}")), intervals)?;
            }
        }
        let mut waits: Vec<_> = task.waits.iter().collect();
        waits.sort_by_key(|(_, waits)| Reverse(waits.len()));
        let shown: Vec<Waited> = waits.iter().take(MOST_OBJECTS).map(|(what, _)| **what).collect();
        for (what, (_, intervals)) in shown.iter().zip(&waits) {
            let what = named.waited(*what, &shown);
            self.series(Series::auxiliary(&format!("{name} blocked{what}")), intervals)?;
        }
        self.left_out(&format!("objects of {name}"), "rarest", waits.len(), MOST_OBJECTS)?;
        match named.worst(task) {
            Some(line) => self.say(&line),
            None => Ok(()),
        }
    }

    /// Adds the series of the view's sequences. A place that the image lacks or never reaches costs its
    /// own series only.
    fn sequences(&mut self, named: &Named<'_>) -> Result<()> {
        let all = named.tasks.sequences.iter().zip(&named.tasks.hits);
        for ((sequence, places), (intervals, [to, from])) in named.view.sequences.iter().zip(all) {
            let first = printable(&sequence.name[0]);
            if let Err(why) = places {
                self.say(&format!("`{first}` is left out: {why}"))?;
                continue;
            }
            if intervals.is_empty() {
                let (start, end) = (printable(&sequence.from), printable(&sequence.to));
                self.say(&format!(
                    "`{first}` is left out: `{start}` was executed {from} times, `{end}` {to} times, \
                     and never one after the other"
                ))?;
                continue;
            }
            for (turn, name) in sequence.name.iter().enumerate() {
                let turns = intervals.iter().skip(turn).step_by(sequence.name.len());
                let turns: Vec<_> = turns.copied().collect();
                if !turns.is_empty() {
                    self.intervals(&OneLine::from(name.as_str()), &turns)?;
                }
            }
            if let Some(published) = &sequence.published {
                self.say(&format!("`{first}`, published: {}", printable(published)))?;
            }
        }
        Ok(())
    }

    fn say(&mut self, line: &str) -> Result<()> {
        /// A record has this room for a line.
        const LONGEST: usize = 560;
        self.stream.send(&Record::Log(&line[..line.floor_char_boundary(LONGEST)]))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::observe::view::View;

    /// An ELF file of RISC-V with its header alone.
    fn empty_image() -> Image {
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(16, 0);
        elf.extend([2, 0, 243, 0, 1, 0, 0, 0]);
        elf.resize(64, 0);
        Image::from_bytes(Path::new("kernel.elf"), elf).unwrap()
    }

    #[test]
    fn objects_of_one_name_have_their_addresses() {
        let image = empty_image();
        let view = "kernel = \"a\"\noffsets-of = \"a\"\ntasks-are-handlers = true\n";
        let view = View::parse(view).unwrap();
        let view = Resolved::new(view, &image, |text| Ok((image.place(text)?, None))).unwrap();
        let variable = |address, name: &str| (address, 0, name.to_owned());
        let variables = vec![variable(16, "lock"), variable(32, "lock"), variable(48, "queue")];
        let (tasks, memory) = (Tasks::default(), Vec::new());
        let named = Named { view: &view, tasks, variables, start: 0, memory };
        let [first, second, queue] = [16, 32, 48].map(|at| Waited::Object(at, None));
        let held = Waited::Object(32, Some(7));
        let all = [second, first, queue, Waited::Unknown];
        let names = all.map(|what| named.waited(what, &all));
        assert_eq!(names, [" on lock 0x20", " on lock", " on queue", ""]);
        // Where the holder is another, or no other one is shown, the name is enough.
        assert_eq!(named.waited(held, &[first, held]), " on lock, held by 0x7");
        assert_eq!(named.waited(second, &[second, queue]), " on lock");
    }
}
