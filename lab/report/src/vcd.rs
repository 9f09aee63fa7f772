//! Writes a timeline as a value change dump (IEEE 1364, clause 18) for waveform viewers.
//!
//! A pin becomes a wire. Any other track becomes a string variable that holds the name of the
//! innermost slice, or `-` outside slices. A track with marks gets a second variable with the
//! latest mark, and an event that fires at each mark. String variables are not in the standard, but
//! viewers support them. Flows are left out.

use std::io::{self, Write};

use vcd::{IdCode, SimulationCommand, TimescaleUnit, Value, VarType, Writer};

use crate::{timeline::EventKind, timeline::NameId, timeline::Timeline};
use chronoscope_capture::{vcd::UniqueNames, vcd::identifier};

/// The value of a track outside slices.
const OUTSIDE: &str = "-";

/// The variables of one track; a group of tracks has none.
#[derive(Default)]
struct Variables {
    state: Option<IdCode>,
    /// The state variable is a wire.
    is_pin: bool,
    /// The variable with the latest mark, and the event that fires with it.
    mark: Option<(IdCode, IdCode)>,
    /// Names of the open slices, the innermost last.
    open: Vec<NameId>,
}

/// Writes a timeline and consumes its events, one change at a time.
///
/// # Errors
/// When writing to `output` fails.
pub fn write(timeline: &mut Timeline<'_>, output: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer::new(output);
    writer.version(concat!("chronoscope ", env!("CARGO_PKG_VERSION")))?;
    writer.timescale(1, TimescaleUnit::NS)?;
    let mut variables = define(timeline, &mut writer)?;
    writer.begin(SimulationCommand::Dumpvars)?;
    for variable in &variables {
        let level = variable.state.filter(|_| variable.is_pin);
        let text = variable.state.filter(|_| !variable.is_pin);
        level.map_or(Ok(()), |id| writer.change_scalar(id, Value::V0))?;
        for id in text.into_iter().chain(variable.mark.map(|(mark, _)| mark)) {
            writer.change_string(id, OUTSIDE)?;
        }
    }
    writer.end()?;
    let mut now = None;
    for event in timeline.events() {
        let track = &mut variables[event.track.index()];
        if now != Some(event.at) {
            writer.timestamp(event.at)?;
            now = Some(event.at);
        }
        match event.kind {
            EventKind::Begin(name) => track.open.push(name),
            EventKind::End => drop(track.open.pop()),
            EventKind::Mark(name) => {
                if let Some((mark, when)) = track.mark {
                    writer.change_string(mark, &string_value(timeline.name(name)))?;
                    writer.change_scalar(when, Value::V1)?;
                }
                continue;
            }
        }
        if let Some(state) = track.state.filter(|_| track.is_pin) {
            writer.change_scalar(state, !track.open.is_empty())?;
        } else if let Some(state) = track.state {
            let shown = track
                .open
                .last()
                .map_or(OUTSIDE.to_owned(), |name| string_value(timeline.name(*name)));
            writer.change_string(state, &shown)?;
        }
    }
    Ok(())
}

/// Defines a scope for each track with children, and the variables of each other track.
fn define<W: Write>(timeline: &Timeline<'_>, writer: &mut Writer<W>) -> io::Result<Vec<Variables>> {
    let tracks = timeline.tracks();
    let mut children = vec![Vec::new(); tracks.len()];
    let mut roots = Vec::new();
    for (place, track) in tracks.iter().enumerate() {
        track.parent.map_or(&mut roots, |parent| &mut children[parent.index()]).push(place);
    }
    let mut definitions = Definitions { timeline, children, writer, variables: Vec::new() };
    definitions.variables.resize_with(tracks.len(), Variables::default);
    definitions.writer.add_module("chronoscope")?;
    definitions.define_siblings(roots)?;
    definitions.writer.upscope()?;
    definitions.writer.enddefinitions()?;
    Ok(definitions.variables)
}

struct Definitions<'a, W: Write> {
    timeline: &'a Timeline<'a>,
    children: Vec<Vec<usize>>,
    writer: &'a mut Writer<W>,
    variables: Vec<Variables>,
}

impl<W: Write> Definitions<'_, W> {
    /// Defines sibling tracks by rank, and their children recursively (depth at most three).
    fn define_siblings(&mut self, mut places: Vec<usize>) -> io::Result<()> {
        let tracks = self.timeline.tracks();
        places.sort_by_key(|place| tracks[*place].rank);
        let mut taken = UniqueNames::new('_', []);
        for place in places {
            let name = taken.claim(&identifier(&tracks[place].name));
            let below = std::mem::take(&mut self.children[place]);
            if !below.is_empty() {
                self.writer.add_module(&name)?;
                self.define_siblings(below)?;
                self.writer.upscope()?;
                continue;
            }
            let is_pin = tracks[place].is_pin;
            let kind = if is_pin { VarType::Wire } else { VarType::String };
            self.variables[place].state = Some(self.writer.add_var(kind, 1, &name, None)?);
            self.variables[place].is_pin = is_pin;
            if tracks[place].has_marks {
                let [mark, when] =
                    ["mark", "marked"].map(|what| taken.claim(&format!("{name}_{what}")));
                let mark = self.writer.add_var(VarType::String, 1, &mark, None)?;
                self.variables[place].mark =
                    Some((mark, self.writer.add_var(VarType::Event, 1, &when, None)?));
            }
        }
        Ok(())
    }
}

/// Encodes a name as a string value. A space would end the value and becomes `_`; bytes outside
/// printable ASCII are escaped as in C, which viewers decode.
fn string_value(name: &str) -> String {
    let mut value = String::new();
    for byte in name.bytes() {
        match byte {
            b' ' => value.push('_'),
            b'\\' => value.push_str("\\\\"),
            b'!'..=b'~' => value.push(byte.into()),
            _ => value.push_str(&format!("\\x{byte:02x}")),
        }
    }
    if value.is_empty() { "_".to_owned() } else { value }
}
