//! The events that QEMU's plugin has written (`ports/qemu-plugin/src/observe.rs`), and the intervals
//! that follow from them.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};

/// The kinds of events, by their numbers in the file.
const END: u64 = 0;
const SPACE: u64 = 1;
const SYSTEM_CALL: u64 = 2;
const MACHINE_CALL: u64 = 3;
const SUPERVISOR_TRAP: u64 = 4;
const MACHINE_TRAP: u64 = 5;
const SUPERVISOR_RETURN: u64 = 6;
const MACHINE_RETURN: u64 = 7;
const HIT: u64 = 8;

/// The watched places, in the order of the plugin's options. An address that is both the start and
/// the end of intervals ends one first.
pub const TO: u64 = 0;
pub const FROM: u64 = 1;
pub const SWITCH: u64 = 2;

/// The length of an event in the file, in bytes.
const EVENT: usize = 24;

/// An interval between two events, in instructions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub start: u64,
    pub length: u64,
}

/// The kind of a call or of a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trap {
    /// A system call of user mode with this number.
    SystemCall(u64),
    /// A call of machine mode, as an SBI call, with this number.
    MachineCall(u64),
    /// An interrupt or a fault that supervisor mode handles.
    Supervisor,
    /// A trap to machine mode.
    Machine,
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
    /// From each switch to the next.
    pub switches: Vec<Interval>,
    /// From the first instruction of a handler to the one after its return.
    pub traps: BTreeMap<Trap, Vec<Interval>>,
    /// Why the observation ended before the image did; `None` if the image ended.
    pub ended_early: Option<&'static str>,
}

impl Figures {
    /// Computes the figures of a file of events. `by_place` says that a switch is an execution of
    /// the place that was named for it, and not a new value of the space's register.
    ///
    /// # Errors
    /// The file is cut short or damaged.
    pub fn of(bytes: &[u8], by_place: bool) -> Result<Self> {
        let (events, rest) = bytes.as_chunks::<EVENT>();
        if !rest.is_empty() {
            bail!("the observer's file is cut short");
        }
        let mut reader = Reader { by_place, ..Reader::default() };
        for event in events {
            let (words, _) = event.as_chunks::<8>();
            let [kind, now, value] = [words[0], words[1], words[2]].map(u64::from_le_bytes);
            reader.take(kind, now, value)?;
        }
        reader.end.context("the observer's file is cut short")?;
        Ok(reader.figures)
    }
}

/// The state between two events.
#[derive(Default)]
struct Reader {
    by_place: bool,
    figures: Figures,
    now: u64,
    from: Option<u64>,
    space: Option<u64>,
    switched: Option<u64>,
    /// The traps that have not returned, by the mode of their handlers, the innermost last.
    supervisor: Vec<(Trap, u64)>,
    machine: Vec<(Trap, u64)>,
    end: Option<()>,
}

impl Reader {
    fn take(&mut self, kind: u64, now: u64, value: u64) -> Result<()> {
        if now < self.now || self.end.is_some() {
            bail!("the observer's file is damaged");
        }
        self.now = now;
        match kind {
            SPACE => {
                let is_new = self.space.replace(value).is_some_and(|space| space != value);
                if is_new && !self.by_place {
                    self.switch(now);
                }
            }
            // User mode has left all handlers of supervisor mode, and it all those of machine mode.
            SYSTEM_CALL => self.supervisor = vec![(Trap::SystemCall(value), now)],
            MACHINE_CALL => self.machine = vec![(Trap::MachineCall(value), now)],
            SUPERVISOR_TRAP => self.supervisor.push((Trap::Supervisor, now)),
            MACHINE_TRAP => self.machine.push((Trap::Machine, now)),
            SUPERVISOR_RETURN => {
                let trap = self.supervisor.pop();
                self.leave(trap, now);
            }
            MACHINE_RETURN => {
                let trap = self.machine.pop();
                self.leave(trap, now);
            }
            HIT => self.hit(value, now)?,
            END => {
                self.end = Some(());
                self.figures.instructions = now;
                self.figures.ended_early = match value {
                    0 => None,
                    1 => Some("the limit of instructions was reached: --limit raises it"),
                    _ => Some("a million events were recorded: lower --limit to choose them"),
                };
            }
            _ => bail!("the observer's file is damaged"),
        }
        Ok(())
    }

    fn hit(&mut self, place: u64, now: u64) -> Result<()> {
        let hits = usize::try_from(place).ok().and_then(|place| self.figures.hits.get_mut(place));
        *hits.context("the observer's file is damaged")? += 1;
        match place {
            FROM => self.from = Some(now),
            TO => {
                if let Some(start) = self.from.take() {
                    self.figures.between.push(Interval { start, length: now - start });
                }
            }
            _ => self.switch(now),
        }
        Ok(())
    }

    fn switch(&mut self, now: u64) {
        if let Some(start) = self.switched.replace(now) {
            self.figures.switches.push(Interval { start, length: now - start });
        }
    }

    /// A return without a trap is the start of a task, and no interval.
    fn leave(&mut self, trap: Option<(Trap, u64)>, now: u64) {
        if let Some((trap, start)) = trap {
            let intervals = self.figures.traps.entry(trap).or_default();
            intervals.push(Interval { start, length: now - start });
        }
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
        let figures = Figures::of(
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
            false,
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
    fn a_place_of_switches_replaces_the_register() {
        // As PendSV of FreeRTOS: the place, then the new task's stack pointer.
        let events = [[HIT, 10, 2], [SPACE, 15, 1], [HIT, 96, 2], [SPACE, 101, 2], [END, 120, 0]];
        let figures = Figures::of(&file(&events), true).unwrap();
        assert_eq!(figures.switches, [Interval { start: 10, length: 86 }]);
    }

    #[test]
    fn damage_is_an_error() {
        let whole = file(&[[HIT, 1, FROM], [END, 2, 0]]);
        let of = |bytes: &[u8]| Figures::of(bytes, false);
        assert!(of(&whole).is_ok());
        (0..whole.len()).for_each(|length| assert!(of(&whole[..length]).is_err()));
        for events in [
            &[[HIT, 1, 3], [END, 2, 0]][..],
            &[[9, 1, 0], [END, 2, 0]],
            &[[HIT, 3, 0], [END, 2, 0]],
            &[[END, 2, 0], [END, 2, 0]],
        ] {
            assert!(of(&file(events)).is_err(), "{events:?}");
        }
    }
}
