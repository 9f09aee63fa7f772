//! A view in one image: addresses by its symbols, offsets by its types or the view's own.

use std::{collections::BTreeMap, ops::Range};

use anyhow::{Context as _, Result, bail};

use super::{
    Address, Check, Expected, LONGEST_NAME, Numbers, Object, Position, Sequence, State, View, Wait,
    types::{Member, Types},
};
use crate::observe::image::{Image, Place};
use chronoscope_units::printable;

/// A view whose places are known in one image.
#[derive(Debug)]
pub struct Resolved {
    /// The kernel's name.
    pub kernel: String,
    /// The SHA-256 of the view's text, in hexadecimal.
    pub sha256: String,
    /// The address of the variable that holds the running task; `None` for a view of sequences.
    pub running: Option<u64>,
    /// The address of the variable that is 0 until the scheduler runs.
    pub(super) starts: Option<u64>,
    /// The releases that have the view's offsets.
    pub offsets_of: String,
    /// The bytes of a pointer.
    pub pointer: u64,
    pub(in crate::observe) record: Record,
    pub(super) objects: Vec<ObjectPlaces>,
    /// The kernel's tasks are handlers of interrupts.
    pub tasks_are_handlers: bool,
    /// The sequences, each with its end and its start, or why there are none.
    pub sequences: Vec<(Sequence, Result<[Counted; 2], String>)>,
}

/// A place, and the address space in which its executions count; `None` for all.
pub type Counted = (Place, Option<u64>);

/// The offsets in a task's record.
#[derive(Debug, Default)]
pub(in crate::observe) struct Record {
    pub name: Option<NamePlace>,
    /// The name of a task that has none.
    pub unnamed: Option<String>,
    /// The last name of a task counts, and not the first.
    pub renames: bool,
    pub priority: Option<u64>,
    /// The offset, and the byte that fills the stack.
    pub stack: Option<(u64, u8)>,
    /// The offset, and the values of ready tasks.
    pub state: Option<(u64, Ready)>,
    /// In place of `state`.
    pub rings: Option<RingPlaces>,
    pub wait: Option<(u64, Range<u64>)>,
    pub checks: Vec<CheckPlace>,
    pub dummy: Option<CheckPlace>,
}

#[derive(Debug)]
pub(in crate::observe) enum NamePlace {
    /// Letters in the record: offset and most bytes.
    Inside(u64, u64),
    /// The offsets of their address and of their number.
    Elsewhere(u64, u64),
    /// The offset of their address, and the most bytes up to a zero.
    ToZero(u64, u64),
}

impl NamePlace {
    /// The offsets of the words in a task's record that change with its name.
    pub fn words(&self) -> Range<u64> {
        match *self {
            Self::Inside(at, bytes) => at..at + bytes,
            Self::Elsewhere(at, _) | Self::ToZero(at, _) => at..at + 1,
        }
    }
}

/// The state of a ready task.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::observe) enum Ready {
    /// An address of a list.
    In(Range<u64>),
    /// The numbers that a ready task may have in these bits of the word.
    Is { numbers: Vec<u64>, mask: u64 },
}

impl Ready {
    /// The bits of the word that are the state.
    pub fn mask(&self) -> u64 {
        match self {
            Self::In(_) => u64::MAX,
            Self::Is { mask, .. } => *mask,
        }
    }
}

/// The words of rings of ready tasks: addresses of the kernel's, and offsets in a task's record.
#[derive(Debug)]
pub(in crate::observe) struct RingPlaces {
    pub heads: u64,
    pub bitmap: u64,
    pub next: u64,
    pub level: u64,
    pub bit: u64,
}

/// A word that must have a value.
#[derive(Debug)]
pub(in crate::observe) struct CheckPlace {
    /// The member's name, or the offset.
    pub what: String,
    pub offset: i64,
    pub mask: u64,
    pub expects: Expects,
}

/// The value that a check expects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::observe) enum Expects {
    Number(u64),
    AtMost(u64),
    /// The address of the task's record.
    Task,
}

/// An object's places, in bytes from the list that a task waits in.
#[derive(Debug)]
pub(super) struct ObjectPlaces {
    pub object: i64,
    /// The state of tasks that wait for it.
    pub state: Option<u64>,
    pub check: CheckPlace,
    pub held_if: Option<CheckPlace>,
    pub holder: Option<i64>,
}

/// An image with its types, which are read where a view asks for them.
struct Source<'a> {
    image: &'a Image,
    types: Types<'a>,
    offsets_of: &'a str,
}

impl Source<'_> {
    /// The offset of a member, a multiple of a word, as the observer reads words.
    fn offset(&self, kind: Option<&str>, position: &Position) -> Result<u64> {
        let (offset, word) = (self.member(kind, position)?, self.image.pointer());
        if !offset.is_multiple_of(word) {
            let name = position.member.first().map_or("a member", String::as_str);
            bail!(
                "`{}` is {offset} bytes from its structure's start, and only words of {word} bytes are \
                 read: name the member that begins its word",
                printable(name)
            );
        }
        Ok(offset)
    }

    fn member(&self, kind: Option<&str>, position: &Position) -> Result<u64> {
        let Some(kind) = kind.filter(|_| !position.member.is_empty()) else {
            return Ok(position.offset);
        };
        for member in &position.member {
            match self.types.member(kind, member)? {
                Member::At(offset) => return Ok(offset),
                Member::UnknownType => return Ok(position.offset),
                Member::Missing => {}
            }
        }
        bail!(
            "`{}` of {} has no member `{}`: the view is for {}",
            printable(kind),
            self.image.shown(),
            printable(&position.member.join("` or `")),
            printable(self.offsets_of)
        )
    }

    fn check(&self, kind: Option<&str>, check: &Check) -> Result<CheckPlace> {
        let offset = self.offset(kind, &check.at)?;
        let what = check.at.member.first().cloned();
        let what = what.unwrap_or_else(|| format!("offset {offset}"));
        let expects = match (check.is, check.at_most) {
            (Some(Expected::Number(number)), None) => Expects::Number(number),
            (Some(Expected::Address(Address::Task)), None) => Expects::Task,
            (None, Some(most)) => Expects::AtMost(most),
            _ => bail!("the check of `{}` needs `is` or `at-most`", printable(&what)),
        };
        let mask = check.mask.unwrap_or(u64::MAX);
        Ok(CheckPlace { what, offset: i64::try_from(offset)?, mask, expects })
    }

    fn state(&self, kind: Option<&str>, state: &State) -> Result<(u64, Ready)> {
        let ready = match (&state.ready_in, &state.ready_is) {
            (Some(lists), _) => Ready::In(self.image.extent(lists)?),
            (None, numbers) => Ready::Is {
                numbers: numbers.as_ref().map(Numbers::all).unwrap_or_default().to_vec(),
                mask: state.mask.unwrap_or(u64::MAX),
            },
        };
        Ok((self.offset(kind, &state.at)?, ready))
    }

    fn wait(&self, kind: Option<&str>, wait: &Wait) -> Result<(u64, Range<u64>)> {
        let lists = wait.ready_in.as_ref().map(|name| self.image.extent(name)).transpose()?;
        Ok((self.offset(kind, &wait.at)?, lists.unwrap_or_default()))
    }

    fn object(&self, object: &Object) -> Result<ObjectPlaces> {
        let kind = object.kind.as_deref();
        let list = i64::try_from(self.offset(kind, &object.list)?)?;
        let from_list = |check: &Check| -> Result<CheckPlace> {
            let check = self.check(kind, check)?;
            Ok(CheckPlace { offset: check.offset - list, ..check })
        };
        let holder = object.holder.as_ref().map(|holder| self.offset(kind, holder)).transpose()?;
        Ok(ObjectPlaces {
            object: -list,
            state: object.state,
            check: from_list(&object.check)?,
            held_if: object.held_if.as_ref().map(from_list).transpose()?,
            holder: holder
                .map(|at| Ok::<_, anyhow::Error>(i64::try_from(at)? - list))
                .transpose()?,
        })
    }
}

impl Resolved {
    /// Finds the view's places in an image, and its sequences' by `place`.
    ///
    /// # Errors
    /// The image lacks a symbol, or a structure of its types lacks a member.
    pub fn new(view: View, image: &Image, place: impl Fn(&str) -> Result<Counted>) -> Result<Self> {
        let name = view.kernel.clone();
        Self::find(view, image, place).with_context(|| format!("the view of {}", printable(&name)))
    }

    fn find(view: View, image: &Image, place: impl Fn(&str) -> Result<Counted>) -> Result<Self> {
        let source =
            Source { image, types: Types::read(image.bytes())?, offsets_of: &view.offsets_of };
        let running = view.running.as_ref().map(|running| {
            let place = image.variable(&running.variable)?;
            Ok::<_, anyhow::Error>(place.address.wrapping_add(running.offset))
        });
        let running = running.transpose()?;
        let starts = view.running.as_ref().and_then(|running| running.starts.as_deref());
        let starts = starts.map(|name| Ok::<_, anyhow::Error>(image.variable(name)?.address));
        let starts = starts.transpose()?;
        let mut record = Record::default();
        if let Some(task) = &view.task {
            let kind = task.kind.as_deref();
            let offset = |position: &Position| source.offset(kind, position);
            record.name = match &task.name {
                Some(name) => {
                    let at = offset(&name.at)?;
                    Some(match (&name.length, name.to_zero) {
                        (Some(length), _) => NamePlace::Elsewhere(at, offset(length)?),
                        (None, Some(most)) => NamePlace::ToZero(at, most.min(LONGEST_NAME)),
                        (None, None) => {
                            NamePlace::Inside(at, name.bytes.unwrap_or_default().min(LONGEST_NAME))
                        }
                    })
                }
                None => None,
            };
            record.unnamed = task.name.as_ref().and_then(|name| name.unnamed.clone());
            record.renames = task.name.as_ref().is_some_and(|name| name.changes);
            record.priority = task.priority.as_ref().map(offset).transpose()?;
            if let Some(stack) = &task.stack {
                record.stack = Some((offset(&stack.at)?, stack.fill));
            }
            if let Some(rings) = &task.rings {
                let start = image.variable(&rings.variable)?.address;
                record.rings = Some(RingPlaces {
                    heads: start.wrapping_add(rings.heads),
                    bitmap: start.wrapping_add(rings.bitmap),
                    next: offset(&rings.next)?,
                    level: offset(&rings.level)?,
                    bit: offset(&rings.bit)?,
                });
            }
            let state = task.state.as_ref().map(|state| source.state(kind, state));
            let wait = task.wait.as_ref().map(|wait| source.wait(kind, wait));
            (record.state, record.wait) = (state.transpose()?, wait.transpose()?);
            let checks = task.checks.iter().map(|check| source.check(kind, check));
            record.checks = checks.collect::<Result<_>>()?;
            let dummy = task.dummy.as_ref().map(|dummy| source.check(kind, dummy));
            record.dummy = dummy.transpose()?;
        }
        let objects = view.objects.iter().map(|object| source.object(object));
        let objects = objects.collect::<Result<_>>()?;
        let sequences = view.sequences.into_iter().map(|sequence| {
            let places = place(&sequence.to).and_then(|to| Ok([to, place(&sequence.from)?]));
            (sequence, places.map_err(|error| format!("{error:#}")))
        });
        Ok(Self {
            kernel: view.kernel,
            sha256: view.sha256,
            running,
            starts,
            pointer: image.pointer(),
            record,
            objects,
            tasks_are_handlers: view.tasks_are_handlers,
            sequences: sequences.collect(),
            offsets_of: view.offsets_of,
        })
    }

    /// The plugin's options for the fields of tasks, and for other words.
    pub fn fields(&self) -> Vec<String> {
        let Record {
            name,
            priority,
            stack,
            state,
            rings,
            wait,
            checks,
            dummy,
            unnamed: _,
            renames: _,
        } = &self.record;
        let word = self.pointer;
        let mut fields: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
        let offsets =
            checks.iter().chain(dummy).filter_map(|check| u64::try_from(check.offset).ok());
        let names = match name {
            Some(NamePlace::Inside(at, bytes)) => *at..at + bytes,
            _ => 0..0,
        };
        let step = usize::try_from(word).unwrap_or(4);
        let names = names.step_by(step);
        let elsewhere = match name {
            Some(NamePlace::Elsewhere(at, _)) => Some((at, LONGEST_NAME)),
            Some(NamePlace::ToZero(at, most)) => Some((at, *most)),
            _ => None,
        };
        if let Some((at, most)) = elsewhere {
            fields.entry(*at).or_default().extend((0..most as i64).step_by(step));
        }
        if let Some(NamePlace::Elsewhere(_, length)) = name {
            fields.entry(*length).or_default();
        }
        let offsets = offsets.chain(names).chain(*priority);
        let offsets = offsets.chain(stack.map(|(at, _)| at));
        let offsets = offsets.chain(state.as_ref().map(|(at, _)| *at));
        let linked = rings.iter().flat_map(|rings| [rings.next, rings.level, rings.bit]);
        let offsets = offsets.chain(linked);
        for offset in offsets {
            fields.entry(offset / word * word).or_default();
        }
        if let Some((wait, _)) = wait {
            let beside = fields.entry(*wait).or_default();
            for object in &self.objects {
                let held = object.held_if.as_ref().map(|check| check.offset);
                beside.extend([object.check.offset].into_iter().chain(held).chain(object.holder));
            }
            beside.sort_unstable();
            beside.dedup();
        }
        let option = |(offset, beside): (u64, Vec<i64>)| {
            let beside: String = beside.iter().map(|at| format!(":{at}")).collect();
            format!("field={offset}{beside}")
        };
        let words = self.starts.into_iter().chain(rings.iter().flat_map(RingPlaces::words));
        let words = words.map(|address| format!("word={address:#x}"));
        fields.into_iter().map(option).chain(words).collect()
    }
}
