//! The events that QEMU's plugin has written (`ports/qemu-plugin/src/observe/events.rs`), and the
//! intervals that follow from them.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use anyhow::{Context as _, Result, bail};

use crate::marks::{Mark, Pairing, Series};
pub use crate::stream::Interval;

/// The kinds of events, by their numbers in the file.
pub(super) const END: u64 = 0;
pub(super) const SPACE: u64 = 1;
pub(super) const SYSTEM_CALL: u64 = 2;
pub(super) const MACHINE_CALL: u64 = 3;
pub(super) const SUPERVISOR_TRAP: u64 = 4;
pub(super) const MACHINE_TRAP: u64 = 5;
pub(super) const SUPERVISOR_RETURN: u64 = 6;
pub(super) const MACHINE_RETURN: u64 = 7;
pub(super) const HIT: u64 = 8;
pub(super) const EXCEPTION: u64 = 9;
pub(super) const EXCEPTION_RETURN: u64 = 10;
pub(super) const MASKED: u64 = 11;
const SUPERVISOR_MASKED: u64 = 12;
const SUPERVISOR_CAUSE: u64 = 13;
const MACHINE_CAUSE: u64 = 14;
const PENDED: u64 = 15;
const UNPENDED: u64 = 16;
const MACHINE_TIMER: u64 = 17;
const SUPERVISOR_TIMER: u64 = 18;
const AHEAD: u64 = 19;
pub(super) const TASK: u64 = 20;
const SYSTICK: u64 = 21;
const BUSY_AT: u64 = 22;
const BUSY: u64 = 23;
const REGISTER: u64 = 24;
const ARGUMENT: u64 = 25;
const SLEPT: u64 = 26;
pub(super) const WORD_AT: u64 = 27;
pub(super) const WORD: u64 = 28;
const REQUEST_AT: u64 = 29;
const REQUEST: u64 = 30;

// The watched places, in the order of the plugin's options. An address that is both the start and
// the end of intervals ends one first.
/// The number of the place at which intervals end.
pub const TO: u64 = 0;
/// The number of the place at which intervals start.
pub const FROM: u64 = 1;
/// The number of the place whose execution is a switch.
pub const SWITCH: u64 = 2;
/// The number of the first of the image's own marks.
pub const MARKS: u64 = 3;

/// The length of an event in the file, in bytes.
const EVENT: usize = 24;

/// The exception of the `svc` instruction on Cortex-M.
const SVCALL: u64 = 11;

/// The numbers of RISC-V's timer interrupts.
const SUPERVISOR_TIMER_INTERRUPT: u64 = 5;
const MACHINE_TIMER_INTERRUPT: u64 = 7;

/// The most address spaces or tasks that are distinguished. The time in the others is not reported.
const MOST_PLACES: usize = 4096;

/// The kind of a call or of a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trap {
    /// A system call with this number: of user mode on RISC-V, `svc` on Cortex-M.
    SystemCall(u64),
    /// A call of machine mode, as an SBI call, with this number.
    MachineCall(u64),
    /// An interrupt or a fault that supervisor mode handles.
    Supervisor,
    /// A trap to machine mode.
    Machine,
    /// An exception of Cortex-M with this number, other than SVCall.
    Exception(u64),
}

/// The origin of an interrupt, and the source of its due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// The image has set the pending bit of this exception (Cortex-M) or interrupt (RISC-V).
    Pended(u64),
    /// The due time that was programmed into the timer of machine mode.
    MachineTimer,
    /// The due time that was programmed into the timer of supervisor mode (`stimecmp`).
    SupervisorTimer,
    /// The due time that follows from the programming of SysTick (Cortex-M).
    SysTick,
}

/// The figures of an observation.
#[derive(Debug, Default, PartialEq)]
pub struct Figures {
    /// The number of executed instructions.
    pub instructions: u64,
    /// From each execution of the first place to the next execution of the second.
    pub between: Vec<Interval>,
    /// The executions of each watched place.
    pub hits: [u64; 3],
    /// The requests of the timer whose phases are tried.
    pub requests: Vec<Request>,
    /// The image's own marks.
    pub marks: Vec<Series>,
    /// From each switch to the next.
    pub switches: Vec<Interval>,
    /// From the first instruction of a handler to the one after its return.
    pub traps: BTreeMap<Trap, Vec<Interval>>,
    /// From the time that an interrupt is due to the first instruction of its handler.
    pub latencies: BTreeMap<Due, Vec<Interval>>,
    /// From disabling interrupts to enabling them again, on Cortex-M and in machine mode.
    pub masked: Vec<Interval>,
    /// From disabling the interrupts of supervisor mode to enabling them again.
    pub supervisor_masked: Vec<Interval>,
    /// The stays in each address space (`satp`), or with each stack pointer of tasks (PSP).
    pub spaces: BTreeMap<u64, Vec<Interval>>,
    /// The stays in each task, by the value of the variable that holds the running one.
    pub tasks: BTreeMap<u64, Vec<Interval>>,
    /// The blocks of code with the most executed instructions, by address, and their instructions, as
    /// often as the block began.
    pub busy: Vec<(u64, u64)>,
    /// The instructions of all blocks, counted likewise.
    pub all_blocks: u64,
    /// The registers at the end, from r0 on; empty if they are not known.
    pub registers: Vec<u64>,
    /// Why the observation ended before the image did; `None` if the image ended.
    pub ended_early: Option<&'static str>,
}

/// A request of the timer whose phases are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Request {
    /// Its number among the timer's updates, from 1 on.
    pub number: u64,
    /// The guest's time in ns.
    pub due: u64,
    /// The instructions until the second place was executed; `None` if it was not before the end, or if
    /// an earlier request waited for it, too.
    pub answered: Option<u64>,
}

/// The sign of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sign {
    /// A new value of `satp` or PSP.
    #[default]
    Space,
    /// A new value of the variable that holds the running task.
    Task,
    /// An execution of the place [`SWITCH`].
    Place,
}

/// The places that an observation watches.
#[derive(Clone, Copy, Debug)]
pub struct Watched<'a> {
    /// The event that is a switch.
    pub sign: Sign,
    /// The image's own marks.
    pub marks: &'a [Mark],
    /// The number of other places behind the marks, whose hits count for nothing here.
    pub others: u64,
    /// The address spaces (`satp`) in which [`TO`], [`FROM`] and [`SWITCH`] count; `None` for all.
    pub spaces: [Option<u64>; 3],
}

impl Figures {
    /// Computes the figures of a file of events.
    ///
    /// # Errors
    /// The file is cut short or damaged.
    pub fn from_events(bytes: &[u8], sign: Sign, marks: &[Mark]) -> Result<Self> {
        let watched = Watched { sign, marks, others: 0, spaces: [None; 3] };
        Self::with_places(bytes, &watched)
    }

    /// Computes the figures of a file of events, of these places.
    ///
    /// # Errors
    /// The file is cut short or damaged.
    pub fn with_places(bytes: &[u8], watched: &Watched<'_>) -> Result<Self> {
        let Watched { sign, marks, others, spaces } = *watched;
        let others = marks.len() as u64..marks.len() as u64 + others;
        let marks = Pairing::new(marks);
        let mut reader = Reader { sign, marks, others, spaces, ..Reader::default() };
        for [kind, now, value] in records(bytes)? {
            reader.take(kind, now, value)?;
        }
        reader.end.context("the observer's file is cut short")?;
        Ok(Self { marks: reader.marks.finish(), ..reader.figures })
    }

    /// Returns `true` if something was measured at least twice.
    pub fn has_several(&self) -> bool {
        self.judged().any(|intervals| intervals.len() > 1)
    }

    /// Returns `true` if nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.judged().all(Vec::is_empty)
    }

    /// The intervals that are judged.
    fn judged(&self) -> impl Iterator<Item = &Vec<Interval>> {
        let lists = [&self.between, &self.switches, &self.masked, &self.supervisor_masked];
        let marks = self.marks.iter().filter(|series| series.is_time()).map(|one| &one.intervals);
        lists.into_iter().chain(marks).chain(self.traps.values()).chain(self.latencies.values())
    }

    /// The starts and ends of all intervals, in executed instructions, in ascending order.
    pub fn times(&self) -> Vec<u64> {
        let stays = self.spaces.values().chain(self.tasks.values());
        let intervals = self.judged().chain(stays).flatten();
        let times = intervals.flat_map(|one| [one.start, one.start.saturating_add(one.length)]);
        times.collect::<BTreeSet<u64>>().into_iter().collect()
    }
}

/// The events of a file: the kind, the number of executed instructions, and the value.
///
/// # Errors
/// The file is cut short.
pub(super) fn records(bytes: &[u8]) -> Result<impl Iterator<Item = [u64; 3]>> {
    let (events, rest) = bytes.as_chunks::<EVENT>();
    if !rest.is_empty() {
        bail!("the observer's file is cut short");
    }
    Ok(events.iter().map(|event| {
        let (words, _) = event.as_chunks::<8>();
        [words[0], words[1], words[2]].map(u64::from_le_bytes)
    }))
}

/// A handler that has not returned.
struct Handler {
    trap: Trap,
    start: u64,
    /// The guest's time in ns at the start.
    time: u64,
    /// The cause of the trap has been found.
    is_known: bool,
}

/// The state between two events.
#[derive(Default)]
struct Reader {
    sign: Sign,
    figures: Figures,
    marks: Pairing,
    /// The numbers of places that follow the marks, counted from the first mark.
    others: Range<u64>,
    /// The address spaces in which the first three places count.
    spaces: [Option<u64>; 3],
    /// The argument of the mark that is hit next.
    argument: Option<u64>,
    now: u64,
    /// The guest's time in ns less the number of executed instructions.
    ahead: u64,
    from: Option<u64>,
    /// The request from which on is counted.
    asked: Option<usize>,
    space: Option<Stay>,
    task: Option<Stay>,
    switched: Option<u64>,
    /// The handlers that have not returned, by their modes, the innermost last. Handlers of
    /// Cortex-M count as machine mode's.
    supervisor: Vec<Handler>,
    machine: Vec<Handler>,
    /// The instruction at which each pending interrupt was set pending.
    pended: BTreeMap<u64, u64>,
    /// The due times of the timers, in ns of the guest's time.
    machine_timer: Option<u64>,
    supervisor_timer: Option<u64>,
    end: Option<()>,
}

/// A stay in an address space or a task.
#[derive(Clone, Copy)]
struct Stay {
    place: u64,
    since: u64,
}

impl Reader {
    fn take(&mut self, kind: u64, now: u64, value: u64) -> Result<()> {
        if now < self.now || self.end.is_some() {
            bail!(DAMAGED);
        }
        self.now = now;
        let handler = |trap| Handler {
            trap,
            start: now,
            time: now.wrapping_add(self.ahead),
            is_known: false,
        };
        match kind {
            SPACE => {
                if stay(&mut self.space, &mut self.figures.spaces, value, now) {
                    self.switch_by(Sign::Space, now);
                }
            }
            TASK => {
                if stay(&mut self.task, &mut self.figures.tasks, value, now) {
                    self.switch_by(Sign::Task, now);
                }
            }
            // At a call from user mode, all handlers of supervisor mode have returned; at a call
            // from supervisor mode, all handlers of machine mode.
            SYSTEM_CALL => self.supervisor = vec![handler(Trap::SystemCall(value))],
            MACHINE_CALL => self.machine = vec![handler(Trap::MachineCall(value))],
            SUPERVISOR_TRAP => {
                self.supervisor.push(handler(Trap::Supervisor));
                self.interrupt_is(false, value);
            }
            MACHINE_TRAP => {
                self.machine.push(handler(Trap::Machine));
                self.interrupt_is(true, value);
            }
            SUPERVISOR_CAUSE | MACHINE_CAUSE => {
                self.interrupt_is(kind == MACHINE_CAUSE, interrupt(value));
            }
            EXCEPTION => self.enter(value),
            BUSY_AT if self.figures.busy.len() < MOST_PLACES => self.figures.busy.push((value, 0)),
            BUSY => match self.figures.busy.last_mut() {
                Some((_, instructions)) => *instructions = value,
                None => self.figures.all_blocks = value,
            },
            REGISTER if self.figures.registers.len() < 32 => self.figures.registers.push(value),
            SUPERVISOR_RETURN => {
                let handler = self.supervisor.pop();
                self.leave(handler);
            }
            MACHINE_RETURN | EXCEPTION_RETURN => {
                let handler = self.machine.pop();
                self.leave(handler);
            }
            MASKED | SUPERVISOR_MASKED => {
                let start = now.checked_sub(value).context(DAMAGED)?;
                let figures = &mut self.figures;
                let masked = match kind {
                    MASKED => &mut figures.masked,
                    _ => &mut figures.supervisor_masked,
                };
                masked.push(Interval { start, length: value });
            }
            PENDED => {
                self.pended.entry(value).or_insert(now);
            }
            UNPENDED => {
                self.pended.remove(&value);
            }
            // A timer that is due before it is set is due when it is set.
            MACHINE_TIMER => self.machine_timer = Some(value.max(now.wrapping_add(self.ahead))),
            SUPERVISOR_TIMER => {
                self.supervisor_timer = Some(value.max(now.wrapping_add(self.ahead)));
            }
            AHEAD => self.ahead = value,
            SYSTICK => {
                let latencies = self.figures.latencies.entry(Due::SysTick).or_default();
                latencies.push(Interval { start: now.saturating_sub(value), length: value });
            }
            ARGUMENT => self.argument = Some(value),
            SLEPT => self.marks.sleep(),
            // A view's: see `view::tasks`.
            WORD_AT | WORD => {}
            REQUEST_AT => {
                self.figures.requests.push(Request { due: value, ..Request::default() });
            }
            REQUEST => {
                let request = self.figures.requests.last_mut().context(DAMAGED)?;
                request.number = value >> 32;
                // The first of several that wait for the place counts.
                if self.from.is_none() {
                    self.from = Some(now.saturating_sub(value & u64::from(u32::MAX)));
                    self.asked = Some(self.figures.requests.len() - 1);
                }
            }
            HIT => self.hit(value, now)?,
            END => self.finish(value),
            _ => bail!(DAMAGED),
        }
        Ok(())
    }

    fn finish(&mut self, reason: u64) {
        self.end = Some(());
        let figures = &mut self.figures;
        figures.instructions = self.now;
        figures.ended_early = match reason {
            0 | 3 => None,
            1 => Some("the limit of instructions was reached: --limit raises it"),
            _ => Some("a million events were recorded: lower --limit to choose them"),
        };
        close(self.space.take(), &mut figures.spaces, self.now);
        close(self.task.take(), &mut figures.tasks, self.now);
    }

    fn hit(&mut self, place: u64, now: u64) -> Result<()> {
        let argument = self.argument.take();
        if let Some(mark) = place.checked_sub(MARKS) {
            if self.others.contains(&mark) {
                return Ok(());
            }
            return self.marks.hit(usize::try_from(mark)?, 0, now, argument).context(DAMAGED);
        }
        let index = usize::try_from(place)?;
        let hits = self.figures.hits.get_mut(index).context(DAMAGED)?;
        let now_in = self.space.map(|stay| stay.place);
        if self.spaces[index].is_some_and(|space| now_in != Some(space)) {
            return Ok(());
        }
        *hits += 1;
        match place {
            FROM => self.from = Some(now),
            TO => {
                if let Some(start) = self.from.take() {
                    let length = now - start;
                    self.figures.between.push(Interval { start, length });
                    if let Some(index) = self.asked.take() {
                        self.figures.requests[index].answered = Some(length);
                    }
                }
            }
            _ => self.switch_by(Sign::Place, now),
        }
        Ok(())
    }

    fn switch_by(&mut self, sign: Sign, now: u64) {
        if self.sign != sign {
            return;
        }
        if let Some(start) = self.switched.replace(now) {
            self.figures.switches.push(Interval { start, length: now - start });
        }
    }

    /// Takes in the entry of an exception of Cortex-M.
    fn enter(&mut self, value: u64) {
        let (exception, number) = (value & 0xffff, value >> 16);
        let trap = match exception {
            SVCALL => Trap::SystemCall(number),
            _ => Trap::Exception(exception),
        };
        self.machine.push(Handler { trap, start: self.now, time: 0, is_known: true });
        self.pended_until(exception, self.now);
    }

    /// Takes in the number of the interrupt that the innermost handler of a mode serves; 0 if it is
    /// not known, or if it is no interrupt.
    fn interrupt_is(&mut self, in_machine_mode: bool, number: u64) {
        let handlers = if in_machine_mode { &mut self.machine } else { &mut self.supervisor };
        let Some(handler) = handlers.last_mut().filter(|handler| !handler.is_known) else { return };
        if number == 0 {
            return;
        }
        handler.is_known = true;
        let (start, time) = (handler.start, handler.time);
        self.pended_until(number, start);
        let (timer, due) = match number {
            SUPERVISOR_TIMER_INTERRUPT => (&mut self.supervisor_timer, Due::SupervisorTimer),
            MACHINE_TIMER_INTERRUPT => (&mut self.machine_timer, Due::MachineTimer),
            _ => return,
        };
        if let Some(at) = timer.take_if(|at| *at <= time) {
            let length = time - at;
            let start = start.saturating_sub(length);
            self.figures.latencies.entry(due).or_default().push(Interval { start, length });
        }
    }

    /// Ends the wait of a pending interrupt.
    fn pended_until(&mut self, number: u64, end: u64) {
        if let Some(start) = self.pended.remove(&number).filter(|start| *start <= end) {
            let latencies = self.figures.latencies.entry(Due::Pended(number)).or_default();
            latencies.push(Interval { start, length: end - start });
        }
    }

    /// A return without a trap is the start of a task, and no interval.
    fn leave(&mut self, handler: Option<Handler>) {
        if let Some(Handler { trap, start, .. }) = handler {
            let intervals = self.figures.traps.entry(trap).or_default();
            intervals.push(Interval { start, length: self.now - start });
        }
    }
}

const DAMAGED: &str = "the observer's file is damaged";

/// The number of the interrupt in a value of `scause` or `mcause`; 0 for an exception. The highest
/// bit of the register says which: bit 31 or 63.
fn interrupt(cause: u64) -> u64 {
    let is_interrupt = cause >> 63 == 1 || cause >> 31 == 1;
    if is_interrupt { cause & 0xff } else { 0 }
}

/// Moves to a place. Returns `true` if another place is left for it.
fn stay(
    current: &mut Option<Stay>,
    stays: &mut BTreeMap<u64, Vec<Interval>>,
    place: u64,
    now: u64,
) -> bool {
    if current.is_some_and(|stay| stay.place == place) {
        return false;
    }
    let before = current.replace(Stay { place, since: now });
    close(before, stays, now);
    before.is_some()
}

/// Adds a stay that ends.
fn close(stay: Option<Stay>, stays: &mut BTreeMap<u64, Vec<Interval>>, now: u64) {
    let Some(Stay { place, since }) = stay else { return };
    if stays.len() < MOST_PLACES || stays.contains_key(&place) {
        stays.entry(place).or_default().push(Interval { start: since, length: now - since });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(events: &[[u64; 3]]) -> Vec<u8> {
        events.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn intervals_follow_from_events() {
        let figures = Figures::from_events(
            &file(&[
                [MACHINE_RETURN, 5, 0],
                [SPACE, 10, 1],
                [HIT, 20, FROM],
                [HIT, 25, FROM],
                [HIT, 40, TO],
                [HIT, 50, TO],
                [SPACE, 60, 2],
                [SPACE, 70, 2],
                [SPACE, 90, 1],
                [SYSTEM_CALL, 100, 64],
                [SUPERVISOR_TRAP, 110, 0],
                [MACHINE_CALL, 112, 7],
                [MACHINE_RETURN, 115, 0],
                [SUPERVISOR_RETURN, 120, 0],
                [SUPERVISOR_RETURN, 150, 0],
                [END, 200, 1],
            ]),
            Sign::Space,
            &[],
        )
        .unwrap();
        let one = |start, length| vec![Interval { start, length }];
        assert_eq!(figures.between, one(25, 15));
        assert_eq!(figures.hits, [2, 2, 0]);
        assert_eq!(figures.switches, one(60, 30));
        assert_eq!(figures.traps[&Trap::SystemCall(64)], one(100, 50));
        assert_eq!(figures.traps[&Trap::Supervisor], one(110, 10));
        assert_eq!(figures.traps[&Trap::MachineCall(7)], one(112, 3));
        assert_eq!((figures.instructions, figures.traps.len()), (200, 3));
        assert!(figures.ended_early.is_some());
    }

    #[test]
    fn the_first_of_several_requests_is_answered() {
        let events = [
            [REQUEST_AT, 10, 1010],
            [REQUEST, 10, 1 << 32],
            [HIT, 25, TO],
            [REQUEST_AT, 33, 1030],
            [REQUEST, 33, 2 << 32 | 3],
            [REQUEST_AT, 50, 1050],
            [REQUEST, 50, 4 << 32],
            [HIT, 60, TO],
            [HIT, 70, TO],
            [END, 80, 3],
        ];
        let figures = Figures::from_events(&file(&events), Sign::Space, &[]).unwrap();
        assert_eq!(figures.between, [interval(10, 15), interval(30, 30)]);
        let request = |number, due, answered| Request { number, due, answered };
        let requests =
            [request(1, 1010, Some(15)), request(2, 1030, Some(30)), request(4, 1050, None)];
        assert_eq!((&*figures.requests, figures.ended_early), (&requests[..], None));
    }

    #[test]
    fn a_place_of_switches_replaces_the_register() {
        // As PendSV of FreeRTOS: the place, then the new task's stack pointer.
        let events = [[HIT, 10, 2], [SPACE, 15, 1], [HIT, 96, 2], [SPACE, 101, 2], [END, 120, 0]];
        let figures = Figures::from_events(&file(&events), Sign::Place, &[]).unwrap();
        assert_eq!(figures.switches, [Interval { start: 10, length: 86 }]);
    }

    /// The figures of these events and the end.
    fn figures(events: &[[u64; 3]], sign: Sign) -> Figures {
        let last = events.last().map_or(0, |event| event[1]);
        Figures::from_events(&file(&[events, &[[END, last, 0]]].concat()), sign, &[]).unwrap()
    }

    fn interval(start: u64, length: u64) -> Interval {
        Interval { start, length }
    }

    #[test]
    fn exceptions_nest_and_end_the_wait_of_their_pending_bits() {
        const PEND_SV: u64 = 14;
        let events = [
            [EXCEPTION, 10, SVCALL | 3 << 16],
            [PENDED, 12, PEND_SV],
            [PENDED, 14, PEND_SV],
            [EXCEPTION, 15, 40],
            [EXCEPTION_RETURN, 18, 40],
            [EXCEPTION_RETURN, 20, SVCALL],
            [EXCEPTION, 20, PEND_SV],
            [EXCEPTION_RETURN, 29, PEND_SV],
            [PENDED, 30, PEND_SV],
            [UNPENDED, 31, PEND_SV],
            [EXCEPTION, 32, PEND_SV],
            [EXCEPTION, 40, 15],
            [SYSTICK, 40, 7],
        ];
        let figures = figures(&events, Sign::Space);
        assert_eq!(figures.traps[&Trap::SystemCall(3)], [interval(10, 10)]);
        assert_eq!(figures.traps[&Trap::Exception(40)], [interval(15, 3)]);
        assert_eq!(figures.traps[&Trap::Exception(PEND_SV)], [interval(20, 9)]);
        assert_eq!(figures.latencies[&Due::Pended(PEND_SV)], [interval(12, 8)]);
        assert_eq!(figures.latencies[&Due::SysTick], [interval(33, 7)]);
    }

    #[test]
    fn a_timer_s_due_time_counts_for_its_own_interrupt_alone() {
        const TIMER: u64 = 1 << 63 | MACHINE_TIMER_INTERRUPT;
        let events = [
            [MACHINE_TIMER, 10, 1000],
            // A fault, then the interrupt after a sleep of 900 ns, then one without a timer.
            [MACHINE_TRAP, 20, 0],
            [MACHINE_CAUSE, 21, 2],
            [MACHINE_RETURN, 25, 0],
            [AHEAD, 130, 900],
            [MACHINE_TRAP, 130, 0],
            [MACHINE_CAUSE, 131, TIMER],
            [MACHINE_RETURN, 140, 0],
            [MACHINE_TRAP, 150, MACHINE_TIMER_INTERRUPT],
            [MACHINE_RETURN, 151, 0],
            // A time in the past; on 32 bits, and by the entry of a vector table.
            [MACHINE_TIMER, 160, 5],
            [MACHINE_TRAP, 163, 0],
            [MACHINE_CAUSE, 164, 1 << 31 | MACHINE_TIMER_INTERRUPT],
            [SUPERVISOR_TIMER, 170, 1080],
            [SUPERVISOR_TRAP, 181, SUPERVISOR_TIMER_INTERRUPT],
        ];
        let figures = figures(&events, Sign::Space);
        assert_eq!(figures.latencies[&Due::MachineTimer], [interval(100, 30), interval(160, 3)]);
        assert_eq!(figures.latencies[&Due::SupervisorTimer], [interval(180, 1)]);
    }

    #[test]
    fn time_is_attributed_to_spaces_and_tasks() {
        let events = [
            [SPACE, 10, 1],
            [TASK, 15, 8],
            [SPACE, 20, 1],
            [SPACE, 30, 2],
            [TASK, 35, 9],
            [SPACE, 50, 1],
            [TASK, 60, 8],
            [MASKED, 70, 5],
        ];
        let figures = figures(&events, Sign::Task);
        assert_eq!(figures.spaces[&1], [interval(10, 20), interval(50, 20)]);
        assert_eq!(figures.spaces[&2], [interval(30, 20)]);
        assert_eq!(figures.tasks[&8], [interval(15, 20), interval(60, 10)]);
        assert_eq!(figures.switches, [interval(35, 25)]);
        assert_eq!(figures.masked, [interval(65, 5)]);
    }

    #[test]
    fn damage_is_an_error() {
        let whole = file(&[[HIT, 1, FROM], [END, 2, 0]]);
        let of = |bytes: &[u8]| Figures::from_events(bytes, Sign::Space, &[]);
        assert!(of(&whole).is_ok());
        (0..whole.len()).for_each(|length| assert!(of(&whole[..length]).is_err()));
        for events in [
            &[[HIT, 1, 3], [END, 2, 0]][..],
            &[[99, 1, 0], [END, 2, 0]],
            &[[MASKED, 1, 2], [END, 2, 0]],
            &[[REQUEST, 1, 2], [END, 2, 0]],
            &[[HIT, 3, 0], [END, 2, 0]],
            &[[END, 2, 0], [END, 2, 0]],
        ] {
            assert!(of(&file(events)).is_err(), "{events:?}");
        }
    }
}
