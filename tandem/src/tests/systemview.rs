//! The bytes for SystemView, by a decoder that is written from the description of the format alone.

use super::begin_test;
use crate::{
    Coroutine, Info, Priority,
    systemview::{HEADER, System, SystemView},
    trace::{Event, Record, Ring},
};

/// A packet: its number, the words and the text of its payload, and its time.
#[derive(Debug, PartialEq, Eq)]
struct Packet {
    number: u8,
    words: Vec<u32>,
    text: String,
    time: u64,
}

/// The words and the texts of each packet's payload.
const FORMS: [(u8, usize, bool); 15] = [
    (1, 1, false),
    (2, 1, false),
    (3, 0, false),
    (4, 1, false),
    (5, 0, false),
    (6, 1, false),
    (7, 2, false),
    (8, 1, false),
    (9, 2, true),
    (10, 0, false),
    (14, 0, true),
    (17, 0, false),
    (24, 4, false),
    (27, 1, false),
    (29, 1, false),
];

fn word(bytes: &mut &[u8]) -> u32 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first().expect("a word ends");
        *bytes = rest;
        value |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
        shift += 7;
    }
}

fn decode(mut bytes: &[u8]) -> Vec<Packet> {
    let mut packets = Vec::new();
    let mut time = 0;
    assert_eq!(bytes[..10], [0; 10]);
    bytes = &bytes[10..];
    while let Some((&number, rest)) = bytes.split_first() {
        bytes = rest;
        let length = (number >= 24).then(|| word(&mut bytes) as usize);
        let before = bytes.len();
        let form = FORMS.iter().find(|form| form.0 == number).expect("a known packet");
        let words = (0..form.1).map(|_| word(&mut bytes)).collect();
        let mut text = String::new();
        if form.2 {
            let count = usize::from(bytes[0]);
            text = String::from_utf8(bytes[1..=count].to_vec()).unwrap();
            bytes = &bytes[1 + count..];
        }
        assert!(length.is_none_or(|length| length == before - bytes.len()), "{number}");
        time += u64::from(word(&mut bytes));
        packets.push(Packet { number, words, text, time });
    }
    packets
}

const SYSTEM: System<'static> = System {
    name: "a name that is longer than the space for it, äöü, and goes on and on, to the end",
    device: "chip",
    clock_hertz: 1_000_000,
    core_hertz: 168_000_000,
};

#[test]
fn a_recording_begins_with_a_description() {
    let mut bytes = Vec::new();
    SystemView::start(|part| bytes.extend_from_slice(part), &SYSTEM, u32::MAX);
    let packets = decode(&bytes);
    let numbers: Vec<u8> = packets.iter().map(|packet| packet.number).collect();
    assert_eq!(numbers, [10, 24, 14, 14, 14, 14, 27]);
    assert_eq!(packets[1].words, [1_000_000, 168_000_000, 0, 0]);
    let texts: Vec<&str> = packets[2..6].iter().map(|packet| &*packet.text).collect();
    let name = format!("N={}", &SYSTEM.name[..62]);
    assert_eq!(texts, [&*name, "D=chip", "O=tandem", "I#1=handlers"]);
    assert!(packets.iter().all(|packet| packet.time == 0));
    assert_eq!(packets[6].words, [0]);
    assert!(HEADER.starts_with(";\n; Version") && HEADER.ends_with(";\n"));
}

#[test]
fn records_become_packets_with_their_times() {
    static TASK: Coroutine<64> = Coroutine::new();
    let _turn = begin_test();
    TASK.spawn(Priority::new(5), "filter", async {}).unwrap();
    let (task, idle) = (TASK.info(), crate::current());
    let ring = Ring::<16>::new();
    // The clock wraps, and one record is older than the one before.
    let records = [
        (0xffff_fff0, Event::Created, task),
        (0xffff_fff8, Event::Ready, task),
        (0xffff_fff8, Event::Run, task),
        (0xffff_fff9, Event::Lock, task),
        (0x10, Event::InterruptIn, task),
        (0x0f, Event::InterruptOut, task),
        (300, Event::Blocked, task),
        (300, Event::Run, idle),
        (400, Event::Ready, task),
        (400, Event::Run, task),
        (500, Event::Ended, task),
        (500, Event::Run, idle),
    ];
    let push = |(clock, event, task): (u32, Event, Info)| ring.push(Record { clock, event, task });
    records.into_iter().for_each(push);
    let mut bytes = Vec::new();
    let mut view = SystemView::start(|part| bytes.extend_from_slice(part), &SYSTEM, 0xffff_ff00);
    assert_eq!(view.drain(&ring), 12);
    // Of twenty records, the ring keeps sixteen.
    (0..20).for_each(|clock| push((1000 + clock, Event::Ready, task)));
    assert_eq!(view.drain(&ring), 16);
    view.task(task);
    let id = task.id() as u32;
    let packets = decode(&bytes);
    let seen: Vec<(u8, Vec<u32>, u64)> =
        packets.iter().skip(7).map(|one| (one.number, one.words.clone(), one.time)).collect();
    let mut expected = vec![
        (8, vec![id], 0xf0),
        (9, vec![id, 5], 0xf0),
        (6, vec![id], 0xf8),
        (4, vec![id], 0xf8),
        (2, vec![1], 0x110),
        (3, vec![], 0x110),
        (7, vec![id, 0], 0x100 + 300),
        (17, vec![], 0x100 + 300),
        (6, vec![id], 0x100 + 400),
        (4, vec![id], 0x100 + 400),
        (5, vec![], 0x100 + 500),
        (29, vec![id], 0x100 + 500),
        (17, vec![], 0x100 + 500),
        (1, vec![4], 0x100 + 1004),
    ];
    expected.extend((1004..1020).map(|clock| (6, vec![id], 0x100 + clock)));
    expected.push((9, vec![id, 5], 0x100 + 1019));
    assert_eq!(seen, expected);
    assert_eq!((&*packets[8].text, &*packets.last().unwrap().text), ("filter", "filter"));
}
