//! The figures of a kernel's tasks, from the observer's events and a view of the kernel.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use anyhow::{Result, bail};

use super::{
    LONGEST_NAME,
    resolve::{CheckPlace, Expects, NamePlace, Ready, Resolved},
    rings::Rings,
};
use crate::{
    observe::events::{
        EXCEPTION, EXCEPTION_RETURN, HIT, MACHINE_CALL, MACHINE_RETURN, MACHINE_TRAP, MASKED,
        SPACE, SUPERVISOR_RETURN, SUPERVISOR_TRAP, SYSTEM_CALL, TASK, WORD, WORD_AT, records,
    },
    stream::Interval,
};
use chronoscope_units::{is_unprintable, printable};

/// The object of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waited {
    /// A time, a notification, or an object that the view does not know.
    Unknown,
    /// The object at this address, and the task that holds it.
    Object(u64, Option<u64>),
}

/// The owner of executed instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Share {
    /// No task, before the first.
    Start,
    /// The task with this record.
    Task(u64),
    /// The handler of this exception; 0 on RISC-V.
    Handler(u64),
}

/// The figures of one task.
#[derive(Debug, Default)]
pub struct TaskFigures {
    /// The task's name; empty if the view or the record has none.
    pub name: String,
    /// The priority at the end.
    pub priority: Option<u64>,
    /// From ready to waiting for the next job. A wait for an object that another task holds is part of
    /// it.
    pub responses: Vec<Interval>,
    /// From ready to running.
    pub starts: Vec<Interval>,
    /// From ready to ready again, a job each.
    pub releases: Vec<Interval>,
    /// From losing the processor while ready to having it again.
    pub preempted: Vec<Interval>,
    /// The number of times that each other task took the processor from it.
    pub preempted_by: BTreeMap<u64, u64>,
    /// The waits, by their object.
    pub waits: BTreeMap<Waited, Vec<Interval>>,
    /// The lowest address of the stack, if the view has it.
    pub stack: Option<u64>,
    is_ready: bool,
    /// The start of the job, if it was observed.
    job: Option<u64>,
    /// The last job's start.
    released: Option<u64>,
    /// The instant at which the task became ready, until it runs.
    awaits_start: Option<u64>,
    /// The instant of losing the processor while ready.
    lost: Option<u64>,
    /// The instant at which the task left the ready tasks, while it is in no list.
    left: Option<u64>,
    wait: Option<(u64, Waited)>,
}

/// The figures of all tasks.
#[derive(Debug, Default)]
pub struct Tasks {
    /// The figures of each task, by the address of its record.
    pub tasks: BTreeMap<u64, TaskFigures>,
    /// The records that stand for a task while the kernel starts.
    pub dummies: BTreeSet<u64>,
    /// The intervals of the view's sequences, in their order.
    pub sequences: Vec<Vec<Interval>>,
    /// The executions of each sequence's end and start.
    pub hits: Vec<[u64; 2]>,
    /// The starts of stretches of code by one, in ascending order.
    stretches: Vec<(u64, Share)>,
    end: u64,
}

impl Tasks {
    /// Computes the figures. `first` is the number of the first of the sequences' places, and
    /// `memory` the addresses that a task's record may have.
    ///
    /// # Errors
    /// The file is damaged, or the view's checks do not hold in the image.
    pub fn from_events(
        bytes: &[u8],
        view: &Resolved,
        first: u64,
        memory: Option<&Range<u64>>,
    ) -> Result<Self> {
        let mut reader = Reader::new(view, first, memory);
        let mut last = 0;
        for [kind, now, value] in records(bytes)? {
            reader.take(kind, now, value)?;
            last = now;
        }
        reader.check_new()?;
        reader.settle();
        reader.finish(last)
    }

    /// The instructions of each in an interval, the most first.
    pub fn shares(&self, interval: Interval) -> Vec<(Share, u64)> {
        let end = interval.start.saturating_add(interval.length);
        let mut shares: BTreeMap<Share, u64> = BTreeMap::new();
        let first = self.stretches.partition_point(|(start, _)| *start <= interval.start);
        let stretches = &self.stretches[first.saturating_sub(1)..];
        for (index, (start, who)) in stretches.iter().enumerate() {
            if *start >= end {
                break;
            }
            let until = stretches.get(index + 1).map_or(self.end, |(next, _)| *next).min(end);
            let spent = until.saturating_sub((*start).max(interval.start));
            *shares.entry(*who).or_default() += spent;
        }
        let mut shares: Vec<_> = shares.into_iter().filter(|(_, spent)| *spent > 0).collect();
        shares.sort_by_key(|(who, spent)| (std::cmp::Reverse(*spent), *who));
        shares
    }

    /// The instructions of each in the whole observation.
    pub fn whole(&self) -> Vec<(Share, u64)> {
        self.shares(Interval { start: 0, length: self.end })
    }

    /// All intervals that become series.
    pub fn intervals(&self) -> impl Iterator<Item = &Vec<Interval>> {
        let tasks = self.tasks.values().flat_map(|task| {
            [&task.responses, &task.starts, &task.releases, &task.preempted]
                .into_iter()
                .chain(task.waits.values())
        });
        tasks.chain(&self.sequences)
    }
}

/// The state between two events.
struct Reader<'a> {
    view: &'a Resolved,
    first: u64,
    memory: Option<&'a Range<u64>>,
    tasks: Tasks,
    /// The last value of each word.
    words: BTreeMap<u64, u64>,
    address: u64,
    running: u64,
    rings: Rings,
    /// The switches since the rings were last consistent: each with its instant and the next task.
    later: Vec<(u64, u64)>,
    /// The task that ran last, of the switches that count.
    ran: u64,
    /// The tasks whose records have not been checked, and the instant at which they were first seen.
    new: BTreeSet<u64>,
    /// The tasks that get another name at that instant.
    renamed: BTreeSet<u64>,
    seen: u64,
    /// The kernel's scheduler runs.
    has_started: bool,
    handlers: Vec<u64>,
    /// The address space; `None` before the first.
    space: Option<u64>,
    /// The start of each sequence's interval.
    from: Vec<Option<u64>>,
}

impl<'a> Reader<'a> {
    fn new(view: &'a Resolved, first: u64, memory: Option<&'a Range<u64>>) -> Self {
        let count = view.sequences.len();
        let tasks = Tasks {
            sequences: vec![Vec::new(); count],
            hits: vec![[0; 2]; count],
            stretches: vec![(0, Share::Start)],
            ..Tasks::default()
        };
        Self {
            view,
            first,
            memory,
            tasks,
            words: BTreeMap::new(),
            address: 0,
            running: 0,
            rings: Rings::default(),
            later: Vec::new(),
            ran: 0,
            new: BTreeSet::new(),
            renamed: BTreeSet::new(),
            seen: 0,
            has_started: view.starts.is_none(),
            handlers: Vec::new(),
            space: None,
            from: vec![None; count],
        }
    }

    fn take(&mut self, kind: u64, now: u64, value: u64) -> Result<()> {
        if now > self.seen || !matches!(kind, WORD | WORD_AT) {
            self.check_new()?;
        }
        if matches!(kind, EXCEPTION | EXCEPTION_RETURN | MASKED) {
            self.settle();
        }
        match kind {
            TASK => self.see(now, value)?,
            WORD_AT => self.address = value,
            WORD => self.word(now, value),
            EXCEPTION => self.handlers.push(value & 0xffff),
            SYSTEM_CALL | MACHINE_CALL | SUPERVISOR_TRAP | MACHINE_TRAP => self.handlers.push(0),
            EXCEPTION_RETURN | SUPERVISOR_RETURN | MACHINE_RETURN => {
                self.handlers.pop();
            }
            HIT => self.hit(now, value),
            SPACE => self.space = Some(value),
            _ => return Ok(()),
        }
        self.stretch(now);
        Ok(())
    }

    /// Notes the owner of the instructions from now on.
    fn stretch(&mut self, now: u64) {
        let who = match (self.handlers.last(), self.running) {
            (Some(handler), _) => Share::Handler(*handler),
            (None, task) if task == 0 || !self.has_started => Share::Start,
            (None, task) => Share::Task(task),
        };
        match self.tasks.stretches.last_mut() {
            Some((_, last)) if *last == who => {}
            Some((start, last)) if *start == now => *last = who,
            _ => self.tasks.stretches.push((now, who)),
        }
    }

    fn hit(&mut self, now: u64, place: u64) {
        let Some(place) = place.checked_sub(self.first) else { return };
        let Ok(index) = usize::try_from(place / 2) else { return };
        let Some(hits) = self.tasks.hits.get_mut(index) else { return };
        let which = (place % 2) as usize;
        let places = self.view.sequences.get(index).and_then(|(_, places)| places.as_ref().ok());
        let space = places.and_then(|places| places[which].1);
        if space.is_some() && space != self.space {
            return;
        }
        hits[which] += 1;
        if which == 1 {
            self.from[index] = Some(now);
        } else if let Some(start) = self.from[index].take() {
            self.tasks.sequences[index].push(Interval { start, length: now - start });
        }
    }

    /// Another task runs.
    fn see(&mut self, now: u64, next: u64) -> Result<()> {
        let next = if self.tasks.dummies.contains(&next) { 0 } else { next };
        self.running = next;
        let is_outside = self.memory.is_some_and(|memory| !memory.contains(&next));
        if next != 0 && (is_outside || !next.is_multiple_of(self.view.pointer)) {
            bail!("the running task has the address {next:#x}, where no record is{}", self.mend());
        }
        if next != 0 && !self.tasks.tasks.contains_key(&next) {
            self.tasks.tasks.insert(next, TaskFigures::default());
            self.new.insert(next);
            self.seen = now;
        }
        match self.view.record.rings {
            Some(_) => self.later.push((now, next)),
            None => self.switch(now, next),
        }
        Ok(())
    }

    /// Takes in the events since the rings were last consistent, in their order.
    fn settle(&mut self) {
        let mut switches = std::mem::take(&mut self.later).into_iter().peekable();
        let mut changes = self.rings.settle();
        changes.sort_unstable();
        for (at, task, is_ready) in changes {
            while let Some((now, next)) = switches.next_if(|(now, _)| *now < at) {
                self.switch(now, next);
            }
            if is_ready { self.release(task, at) } else { self.block(task, at) }
        }
        switches.for_each(|(now, next)| self.switch(now, next));
    }

    /// The processor goes from one task to the next.
    fn switch(&mut self, now: u64, next: u64) {
        let last = std::mem::replace(&mut self.ran, next);
        let has_started = self.has_started;
        let preempted = self.tasks.tasks.get_mut(&last).filter(|task| task.is_ready && has_started);
        if let Some(task) = preempted {
            task.lost = Some(now);
            *task.preempted_by.entry(next).or_default() += 1;
        }
        if let Some(task) = self.tasks.tasks.get_mut(&next) {
            if let Some(start) = task.lost.take() {
                task.preempted.push(Interval { start, length: now - start });
            }
            task.run(now);
        }
    }

    /// A word of a task's record, or beside an address in it.
    fn word(&mut self, now: u64, value: u64) {
        let address = self.address;
        self.words.insert(address, value);
        if self.view.starts == Some(address) {
            self.has_started |= value != 0;
            return;
        }
        if let Some(places) = &self.view.record.rings {
            self.rings.change(places, &self.words, now);
        }
        let Some((&record, _)) = self.tasks.tasks.range(..=address).next_back() else { return };
        let fields = &self.view.record;
        let is_field =
            |place: Option<u64>| place.is_some_and(|at| record.wrapping_add(at) == address);
        let (state, wait) = (fields.state.as_ref(), fields.wait.as_ref());
        if let Some((_, ready)) = state.filter(|(at, _)| is_field(Some(*at))) {
            let is_ready = match ready {
                Ready::In(lists) => lists.contains(&value),
                Ready::Is { numbers, mask } => numbers.contains(&(value & mask)),
            };
            match (value, ready, is_ready) {
                (_, _, true) => self.release(record, now),
                (0, Ready::In(_), _) => self.task(record).leave(now),
                _ => self.block(record, now),
            }
        } else if let Some((_, lists)) = wait.filter(|(at, _)| is_field(Some(*at))) {
            if lists.contains(&value) {
                self.release(record, now);
            } else if value != 0 {
                self.learn_wait(record);
            }
        } else if fields.renames && self.is_name(record, address) {
            self.renamed.insert(record);
            self.seen = now;
        } else if is_field(fields.priority) {
            self.task(record).priority = Some(value);
        } else if is_field(fields.stack.map(|(at, _)| at)) {
            self.task(record).stack = Some(value);
        }
    }

    fn is_name(&self, record: u64, address: u64) -> bool {
        let place = self.view.record.name.as_ref();
        place.is_some_and(|place| place.words().contains(&address.wrapping_sub(record)))
    }

    fn task(&mut self, record: u64) -> &mut TaskFigures {
        self.tasks.tasks.entry(record).or_default()
    }

    fn release(&mut self, record: u64, now: u64) {
        let runs = self.ran == record;
        let is_early = self.new.contains(&record) || !self.has_started;
        let task = self.task(record);
        task.left = None;
        if std::mem::replace(&mut task.is_ready, true) || is_early {
            // The task became ready before it was known, or before the scheduler runs.
            return;
        }
        if let Some((start, what)) = task.wait.take() {
            task.waits.entry(what).or_default().push(Interval { start, length: now - start });
        }
        if task.job.is_none() {
            task.job = Some(now);
            task.awaits_start = Some(now);
            if let Some(start) = task.released.replace(now) {
                task.releases.push(Interval { start, length: now - start });
            }
        }
        if runs {
            task.run(now);
        }
    }

    fn block(&mut self, record: u64, now: u64) {
        let waited = self.waited(record);
        let task = self.task(record);
        let at = task.left.take().unwrap_or(now);
        if !std::mem::replace(&mut task.is_ready, false) {
            return;
        }
        task.lost = None;
        task.wait_for(at, waited);
    }

    /// Some kernels, or their compilers, write a task's new state before the object that it waits for.
    fn learn_wait(&mut self, record: u64) {
        let learnt = self.waited(record);
        let task = self.task(record);
        let (Some((at, _)), Waited::Object(..)) = (task.wait, learnt) else { return };
        if let Some(ended) = task.responses.pop_if(|job| job.start + job.length == at) {
            task.job = Some(ended.start);
        }
        task.wait_for(at, learnt);
    }

    /// The object of the wait of a task that leaves the ready tasks.
    fn waited(&self, record: u64) -> Waited {
        let field =
            |at: Option<u64>| at.and_then(|at| self.words.get(&record.wrapping_add(at)).copied());
        let list = field(self.view.record.wait.as_ref().map(|(at, _)| *at)).unwrap_or(0);
        let state = self.view.record.state.as_ref();
        let state = state.and_then(|(at, ready)| Some(field(Some(*at))? & ready.mask()));
        let is_outside = self.memory.is_some_and(|memory| !memory.contains(&list));
        if list == 0 || is_outside {
            return Waited::Unknown;
        }
        for object in &self.view.objects {
            let is_its = object.state.is_none() || object.state == state;
            if !is_its || !self.holds(&object.check, list, record) {
                continue;
            }
            let is_held =
                object.held_if.as_ref().is_some_and(|held| self.holds(held, list, record));
            let holder = object.holder.filter(|_| is_held);
            let holder = holder.and_then(|at| self.words.get(&list.wrapping_add_signed(at)));
            let holder = holder.copied().filter(|holder| self.tasks.tasks.contains_key(holder));
            return Waited::Object(list.wrapping_add_signed(object.object), holder);
        }
        Waited::Unknown
    }

    fn holds(&self, check: &CheckPlace, base: u64, record: u64) -> bool {
        let word = self.words.get(&base.wrapping_add_signed(check.offset));
        word.map(|word| word & check.mask).is_some_and(|word| match check.expects {
            Expects::Number(number) => word == number,
            Expects::AtMost(most) => word <= most,
            Expects::Task => word == record,
        })
    }

    /// Checks the records of new tasks, whose words are known by now.
    ///
    /// # Errors
    /// A task has no such record.
    fn check_new(&mut self) -> Result<()> {
        while let Some(record) = self.new.pop_first() {
            let dummy = self.view.record.dummy.as_ref();
            if dummy.is_some_and(|dummy| self.holds(dummy, record, record)) {
                self.forget(record);
                continue;
            }
            for check in &self.view.record.checks {
                if !self.holds(check, record, record) {
                    let found = self.words.get(&record.wrapping_add_signed(check.offset));
                    bail!(
                        "`{}` of the task at {record:#x} is {:#x}, not the expected value{}",
                        printable(&check.what),
                        found.copied().unwrap_or_default(),
                        self.mend()
                    );
                }
            }
            let name = match &self.view.record.name {
                Some(place) => self.name(place, record)?,
                None => String::new(),
            };
            let rings = self.view.record.rings.as_ref();
            let is_ready = rings.is_some_and(|places| self.rings.add(places, &self.words, record));
            let task = self.task(record);
            (task.name, task.is_ready) = (name, task.is_ready || is_ready);
        }
        while let Some(record) = self.renamed.pop_first() {
            // A record that another task takes has no name for a while.
            let name =
                self.view.record.name.as_ref().and_then(|place| self.name(place, record).ok());
            if let (Some(task), Some(name)) = (self.tasks.tasks.get_mut(&record), name) {
                task.name = name;
            }
        }
        Ok(())
    }

    /// The end of a message about a structure that is not the view's.
    fn mend(&self) -> String {
        format!(
            ": the image has another kernel, release or configuration than the view, which is for \
             {}; types (-g) give it the offsets",
            printable(&self.view.offsets_of)
        )
    }

    /// Takes a record back that is no task, and that has run since it was seen.
    fn forget(&mut self, record: u64) {
        self.tasks.dummies.insert(record);
        self.tasks.tasks.remove(&record);
        let stretches = self.tasks.stretches.iter_mut().rev();
        for (_, who) in stretches.take_while(|(start, _)| *start >= self.seen) {
            if *who == Share::Task(record) {
                *who = Share::Start;
            }
        }
        for task in [&mut self.running, &mut self.ran] {
            if *task == record {
                *task = 0;
            }
        }
    }

    /// A task's name.
    ///
    /// # Errors
    /// There are no letters.
    fn name(&self, place: &NamePlace, record: u64) -> Result<String> {
        let word = |at: u64| self.words.get(&record.wrapping_add(at)).copied().unwrap_or_default();
        let text = match *place {
            NamePlace::Elsewhere(at, length) => match (word(at), word(length)) {
                // A task need not have a name.
                (0, _) => return Ok(self.view.record.unnamed.clone().unwrap_or_default()),
                (at, length) if length <= LONGEST_NAME => Some(self.bytes(at, length)),
                _ => None,
            },
            NamePlace::Inside(at, bytes) => self.bytes_to_zero(record.wrapping_add(at), bytes),
            NamePlace::ToZero(at, most) => match word(at) {
                0 => return Ok(self.view.record.unnamed.clone().unwrap_or_default()),
                at => self.bytes_to_zero(at, most),
            },
        };
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(unnamed) = &self.view.record.unnamed
            && text.as_deref() == Some("")
        {
            return Ok(unnamed.clone());
        }
        match text.filter(|text| !text.is_empty() && !text.contains(is_unprintable)) {
            Some(text) => Ok(text),
            None => bail!("the task at {record:#x} has no printable name{}", self.mend()),
        }
    }

    /// The bytes from an address up to a zero, if it is among the first `most`.
    fn bytes_to_zero(&self, address: u64, most: u64) -> Option<Vec<u8>> {
        let bytes = self.bytes(address, most);
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(bytes[..end].to_vec())
    }

    /// The bytes of known words from an address on.
    fn bytes(&self, address: u64, length: u64) -> Vec<u8> {
        let pointer = self.view.pointer as usize;
        let words = (address..address.saturating_add(length)).step_by(pointer);
        let word = |at: u64| self.words.get(&at).copied().unwrap_or_default();
        let bytes = words.flat_map(|at| word(at).to_le_bytes().into_iter().take(pointer));
        bytes.take(usize::try_from(length).unwrap_or_default()).collect()
    }

    /// Gives each task a name of its own.
    fn finish(mut self, end: u64) -> Result<Tasks> {
        self.tasks.end = end;
        let mut taken = BTreeSet::new();
        for (record, task) in &mut self.tasks.tasks {
            if task.name.is_empty() {
                task.name = format!("task {record:#x}");
            }
            let mut name = task.name.clone();
            for number in 2.. {
                if taken.insert(name.clone()) {
                    break;
                }
                name = format!("{} ({number})", task.name);
            }
            task.name = name;
        }
        Ok(self.tasks)
    }
}

impl TaskFigures {
    /// The task runs.
    fn run(&mut self, now: u64) {
        if let Some(start) = self.awaits_start.take() {
            self.starts.push(Interval { start, length: now - start });
        }
    }

    /// The task has left the ready tasks. An object that another task holds is no new job.
    fn wait_for(&mut self, at: u64, what: Waited) {
        self.wait = Some((at, what));
        let goes_on = matches!(what, Waited::Object(_, Some(_)));
        if !goes_on && let Some(start) = self.job.take() {
            self.responses.push(Interval { start, length: at - start });
        }
    }

    /// The task is moved to a list that is not known yet.
    fn leave(&mut self, now: u64) {
        if self.is_ready {
            self.left.get_or_insert(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::view::resolve::{ObjectPlaces, Record};

    const MAIN: u64 = 0x100;
    const WORKER: u64 = 0x200;
    const MUTEX: u64 = 0x300;
    const STATE: u64 = 4;
    const WAIT: u64 = 8;
    const HOLDER: i64 = 12;
    const NAME: u64 = 16;

    /// A kernel whose tasks are ready while the second byte of their state is 0, and a stand-in's is 1.
    fn view() -> Resolved {
        let check =
            |offset, mask, expects| CheckPlace { what: String::new(), offset, mask, expects };
        let any = || check(HOLDER, u64::MAX, Expects::AtMost(u64::MAX));
        Resolved {
            kernel: "test".to_owned(),
            sha256: String::new(),
            running: Some(0),
            starts: None,
            offsets_of: String::new(),
            pointer: 4,
            record: Record {
                state: Some((STATE, Ready::Is { numbers: vec![0], mask: 0xff00 })),
                wait: Some((WAIT, 0..0)),
                name: Some(NamePlace::Inside(NAME, 8)),
                unnamed: Some(String::new()),
                renames: true,
                dummy: Some(check(STATE as i64, 0xff00, Expects::Number(0x100))),
                ..Record::default()
            },
            objects: vec![ObjectPlaces {
                object: 0,
                state: None,
                check: any(),
                held_if: Some(any()),
                holder: Some(HOLDER),
            }],
            tasks_are_handlers: false,
            sequences: Vec::new(),
        }
    }

    fn tasks(events: &[[u64; 3]]) -> Tasks {
        let bytes: Vec<u8> = events.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        Tasks::from_events(&bytes, &view(), 0, None).unwrap()
    }

    /// A word at an address, at an instant.
    fn word(now: u64, address: u64, value: u64) -> [[u64; 3]; 2] {
        [[WORD_AT, now, address], [WORD, now, value]]
    }

    #[test]
    fn a_record_that_stands_for_a_task_while_the_kernel_starts_is_none() {
        let mut events = vec![[TASK, 0, MAIN]];
        events.extend(word(0, MAIN + STATE, 0x1ff));
        events.push([TASK, 10, WORKER]);
        events.extend(word(10, WORKER + STATE, 0x0ff));
        events.push([TASK, 30, MAIN]);
        events.push([TASK, 35, WORKER]);
        events.push([TASK, 40, 0]);
        let tasks = tasks(&events);
        assert_eq!(tasks.tasks.keys().collect::<Vec<_>>(), [&WORKER]);
        assert_eq!(tasks.whole(), [(Share::Task(WORKER), 25), (Share::Start, 15)]);
    }

    #[test]
    fn a_task_that_gets_its_name_after_its_start_has_it() {
        let mut events = vec![[TASK, 0, WORKER]];
        events.extend(word(0, WORKER + STATE, 0));
        events.push([TASK, 1, MAIN]);
        events.extend(word(1, MAIN + STATE, 0));
        events.extend(word(7, WORKER + NAME, u64::from(u32::from_le_bytes(*b"soon"))));
        events.push([TASK, 8, WORKER]);
        let tasks = tasks(&events);
        let names = tasks.tasks.values().map(|task| &*task.name);
        assert_eq!(names.collect::<Vec<_>>(), ["task 0x100", "soon"]);
    }

    /// The worker's job goes on while it waits for a mutex that is written after its state.
    #[test]
    fn a_wait_that_is_written_after_the_state_is_known_and_ends_no_job() {
        let ends = |holder: u64| {
            let mut events = vec![[TASK, 0, MAIN]];
            events.extend(word(0, MAIN + STATE, 0));
            events.push([TASK, 5, WORKER]);
            events.extend(word(5, WORKER + STATE, 0));
            // It waits for no object, and its next job begins at 20.
            events.extend(word(10, WORKER + STATE, 0x200));
            events.extend(word(20, WORKER + STATE, 0));
            events.extend(word(30, MUTEX.wrapping_add_signed(HOLDER), holder));
            events.extend(word(31, WORKER + STATE, 0x2ff));
            events.extend(word(32, WORKER + WAIT, MUTEX));
            events.push([TASK, 33, MAIN]);
            events.extend(word(40, WORKER + WAIT, 0));
            events.extend(word(41, WORKER + STATE, 0xff));
            events.push([TASK, 42, WORKER]);
            events.extend(word(50, WORKER + STATE, 0x200));
            tasks(&events).tasks.remove(&WORKER).unwrap()
        };
        let interval = |start, length| Interval { start, length };
        let held = ends(MAIN);
        assert_eq!(held.waits[&Waited::Object(MUTEX, Some(MAIN))], [interval(31, 10)]);
        assert_eq!(held.responses, [interval(20, 30)]);
        // An object that no task holds: a new job.
        let free = ends(7);
        assert_eq!(free.waits[&Waited::Object(MUTEX, None)], [interval(31, 10)]);
        assert_eq!(free.responses, [interval(20, 11), interval(41, 9)]);
    }
}
