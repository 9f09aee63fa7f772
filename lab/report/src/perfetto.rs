//! Perfetto's trace format: protocol buffers, one packet for each event
//! (<https://perfetto.dev/docs/reference/trace-packet-proto>).
//!
//! Only the messages and fields written here are declared, with the field numbers of Perfetto's
//! `protos/perfetto/trace/`, which are stable.

use std::io::{self, Write};

use prost::{Message, encoding};

use crate::{
    timeline::Arrow, timeline::Event, timeline::EventKind, timeline::Timeline, timeline::TrackId,
};

/// `Trace.packet`, the only field of the outermost message.
const PACKET: u32 = 1;

/// The sequence id of all packets, as there is one writer. Id 1 belongs to the tracing service.
const SEQUENCE: u32 = 2;

/// UUID of the first track, chosen not to collide with other writers' tracks in a merged trace.
const FIRST_TRACK: u64 = 0x6368_726f_6e6f_0000;

/// A packet: an event, a track, or the beginning of the stream.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// The time of the event in ns.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// The writer of the packet.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// The event, in a packet of an event.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names that later packets refer to by number.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// The flags `INCREMENTAL_STATE_CLEARED` and `NEEDS_INCREMENTAL_STATE`.
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// The track, in a packet of a track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
    /// `true` in the first packet of a writer.
    #[prost(bool, optional, tag = "87")]
    pub first_packet_on_sequence: Option<bool>,
}

/// Value of [`TracePacket::sequence_flags`]: interned names are reset.
const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// Value of [`TracePacket::sequence_flags`]: the packet refers to interned names.
const NEEDS_INCREMENTAL_STATE: u32 = 2;

/// A row of the timeline.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// The identity of the track.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// The name at the head of the row.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The track under which this one is shown.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// A [`ChildOrdering`].
    #[prost(enumeration = "ChildOrdering", optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// The sort key among the tracks with the same parent.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
    /// A sentence about the track.
    #[prost(string, optional, tag = "14")]
    pub description: Option<String>,
    /// A [`SiblingMerge`].
    #[prost(enumeration = "SiblingMerge", optional, tag = "15")]
    pub sibling_merge_behavior: Option<i32>,
}

/// The order of a track's children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub enum ChildOrdering {
    /// By time or name, as the viewer chooses.
    Unknown = 0,
    /// Sorted by [`TrackDescriptor::sibling_order_rank`].
    Explicit = 3,
}

/// The treatment of tracks with the same name and parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub enum SiblingMerge {
    /// Merged, as the viewer chooses.
    Unspecified = 0,
    /// Tracks with the same name are not merged.
    None = 2,
}

/// An event of a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// A [`Type`].
    #[prost(enumeration = "Type", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// The number of the name in [`InternedData`].
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// The [`TrackDescriptor::uuid`] of the track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// The arrows that start at the event or pass through it.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// The arrows that end at the event.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// The effect of an event on its track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub enum Type {
    /// Not set.
    Unspecified = 0,
    /// A slice begins.
    SliceBegin = 1,
    /// The innermost open slice ends.
    SliceEnd = 2,
    /// An instant.
    Instant = 3,
}

/// Names with their numbers.
#[derive(Clone, PartialEq, Message)]
pub struct InternedData {
    /// The names of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<EventName>,
}

/// A name of events with its number.
#[derive(Clone, PartialEq, Message)]
pub struct EventName {
    /// The number that events refer to.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The text.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

/// Writes a timeline and consumes its events, one packet at a time.
///
/// # Errors
/// When writing to `output` fails.
pub fn write(timeline: &mut Timeline<'_>, output: &mut dyn Write) -> io::Result<()> {
    let mut packets = Packets { output, bytes: Vec::new() };
    packets.write(&TracePacket {
        trusted_packet_sequence_id: Some(SEQUENCE),
        sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
        first_packet_on_sequence: Some(true),
        ..TracePacket::default()
    })?;
    for (place, track) in timeline.tracks().iter().enumerate() {
        let description = Some(track.description.clone()).filter(|text| !text.is_empty());
        packets.write(&TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_descriptor: Some(TrackDescriptor {
                uuid: Some(FIRST_TRACK + place as u64),
                name: Some(track.name.clone()),
                parent_uuid: track.parent.map(uuid),
                child_ordering: Some(ChildOrdering::Explicit.into()),
                sibling_order_rank: Some(track.rank),
                description,
                sibling_merge_behavior: Some(SiblingMerge::None.into()),
            }),
            ..TracePacket::default()
        })?;
    }
    // For each name, whether a packet has interned it.
    let mut interned = Vec::new();
    for event in timeline.events() {
        packets.write(&packet(&event, timeline, &mut interned))?;
    }
    Ok(())
}

fn uuid(track: TrackId) -> u64 {
    FIRST_TRACK + track.index() as u64
}

fn packet(event: &Event, timeline: &Timeline<'_>, interned: &mut Vec<bool>) -> TracePacket {
    let (r#type, name) = match event.kind {
        EventKind::Begin(name) => (Type::SliceBegin, Some(name)),
        EventKind::End => (Type::SliceEnd, None),
        EventKind::Mark(name) => (Type::Instant, Some(name)),
    };
    // 0 is not a valid id.
    let iid = name.map(|name| name.index() as u64 + 1);
    let new = name.filter(|name| {
        interned.resize(interned.len().max(name.index() + 1), false);
        !std::mem::replace(&mut interned[name.index()], true)
    });
    let event_name = |name| EventName { iid, name: Some(timeline.name(name).to_owned()) };
    let (flow_ids, terminating_flow_ids) = match event.arrow {
        None => (Vec::new(), Vec::new()),
        Some(Arrow::Leaves(flow)) => (vec![flow.number().into()], Vec::new()),
        Some(Arrow::Ends(flow)) => (Vec::new(), vec![flow.number().into()]),
    };
    TracePacket {
        timestamp: Some(event.at),
        trusted_packet_sequence_id: Some(SEQUENCE),
        sequence_flags: Some(NEEDS_INCREMENTAL_STATE),
        interned_data: new.map(|name| InternedData { event_names: vec![event_name(name)] }),
        track_event: Some(TrackEvent {
            r#type: Some(r#type.into()),
            name_iid: iid,
            track_uuid: Some(uuid(event.track)),
            flow_ids,
            terminating_flow_ids,
        }),
        ..TracePacket::default()
    }
}

struct Packets<'a> {
    output: &'a mut dyn Write,
    /// Buffer for the encoding of one packet.
    bytes: Vec<u8>,
}

impl Packets<'_> {
    fn write(&mut self, packet: &TracePacket) -> io::Result<()> {
        self.bytes.clear();
        encoding::message::encode(PACKET, packet, &mut self.bytes);
        self.output.write_all(&self.bytes)
    }
}
