"""Reads a trace with Perfetto's own published classes, and prints what is in it as JSON. Ends with a line that says what is wrong, if
anything is: fields that the schema does not know, time that goes backwards within a track, slices that do not close,
flows with one end, or that go back in time.

Needs: pip install perfetto (tools/test-requirements.txt). Usage: perfetto_check.py FILE
"""

import collections
import json
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackDescriptor, TrackEvent


def unknown(message, path):
    """Where the message has fields that the schema does not know."""
    if len(UnknownFieldSet(message)) > 0:
        yield path
    for field, value in message.ListFields():
        if field.message_type is not None:
            values = value if isinstance(value, collections.abc.Sequence) else [value]
            for one in values:
                yield from unknown(one, f"{path}.{field.name}")


def check(trace):
    tracks, names = {}, {}
    latest, stack = collections.defaultdict(int), collections.defaultdict(list)
    begun, ended, left = collections.Counter(), collections.Counter(), {}
    slices, marks = collections.defaultdict(list), collections.Counter()
    assert trace.packet[0].sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED, "names are not cleared first"
    for packet in trace.packet:
        for path in unknown(packet, "packet"):
            raise AssertionError(f"unknown field in {path}")
        assert packet.trusted_packet_sequence_id == 2, "a packet of no sequence"
        for name in packet.interned_data.event_names:
            assert name.iid and name.iid not in names, f"the name {name.iid} is told twice"
            names[name.iid] = name.name
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in tracks, f"track {track.name} is told twice"
            assert not track.HasField("parent_uuid") or track.parent_uuid in tracks, f"{track.name} comes before its parent"
            assert track.child_ordering == TrackDescriptor.EXPLICIT
            tracks[track.uuid] = track
        if not packet.HasField("track_event"):
            continue
        event, at = packet.track_event, packet.timestamp
        assert event.track_uuid in tracks, "an event of no track"
        track = event.track_uuid
        assert at >= latest[track], f"{tracks[track].name}: {at} comes after {latest[track]}"
        latest[track] = at
        if event.type == TrackEvent.TYPE_SLICE_END:
            assert stack[track], f"{tracks[track].name}: a slice ends that has not begun"
            name, begin = stack[track].pop()
            slices[track].append([name, begin, at])
        else:
            assert packet.sequence_flags & TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            name = names[event.name_iid]
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                stack[track].append((name, at))
            else:
                assert event.type == TrackEvent.TYPE_INSTANT
                marks[track] += 1
        for flow in event.flow_ids:
            assert flow not in ended, f"flow {flow} goes on after its end"
            assert at >= left.get(flow, at), f"flow {flow} goes back in time, to {at}"
            begun[flow] += 1
            left[flow] = at
        for flow in event.terminating_flow_ids:
            assert flow in begun and at >= left[flow], f"flow {flow} ends before it begins"
            ended[flow] += 1
    for track, open_slices in stack.items():
        assert not open_slices, f"{tracks[track].name}: {len(open_slices)} slices do not end"
    for flow in begun:
        assert ended[flow] == 1, f"flow {flow} has {ended[flow]} ends"

    def path(uuid):
        track = tracks[uuid]
        return (path(track.parent_uuid) + " > " if track.HasField("parent_uuid") else "") + track.name

    shown = [
        {"track": path(uuid), "description": track.description, "slices": slices[uuid], "marks": marks[uuid]}
        for uuid, track in tracks.items()
    ]
    return {"tracks": shown, "flows": [begun[flow] for flow in sorted(begun)]}


def main():
    trace = Trace()
    with open(sys.argv[1], "rb") as file:
        trace.ParseFromString(file.read())
    json.dump(check(trace), sys.stdout)


main()
