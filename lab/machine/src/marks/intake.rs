//! Takes in a board's stream of marks: their hits in the order of time, and everything that was
//! lost.

use std::collections::HashMap;

use anyhow::{Result, bail, ensure};

use super::{
    Kind, Mark, Pairing,
    stream::{Counter, Extended, Frame, Frames, VERSION},
    tasks::{self, Break, Names},
};
use chronoscope_units::printable;

/// The name of the marks that the program sets at its start with nothing between: their cost.
pub const CONTROL: &str = "mark_to_mark";

/// The most names of tasks.
const MOST_NAMES: usize = 1000;

/// A board's stream so far.
pub struct Intake {
    frames: Frames,
    /// The marks by the low words of their addresses.
    marks: HashMap<u32, (usize, bool)>,
    hits: Hits,
    counts: Counts,
    clock: Option<Time>,
    names: Names,
}

/// The hits of the marks so far.
struct Hits {
    pairing: Pairing,
    /// The places at which hits are missing between tasks' numbers.
    breaks: Vec<Break>,
}

impl Hits {
    /// Hits are missing from here on: no interval is made across this place.
    fn break_off(&mut self) {
        self.pairing.break_off();
        let place = tasks::place(self.pairing.series());
        // Without a hit since the last one, it is the same break.
        if self.breaks.last() != Some(&place) {
            self.breaks.push(place);
        }
    }
}

/// The numbers of everything in a stream that is no interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The records of marks, without the lost ones.
    pub records: u64,
    /// The records that were overwritten on the board, or damaged on the way.
    pub lost: u64,
    /// The records of addresses where the image has no mark.
    pub unknown: u64,
    /// The pauses in which the clock may have begun anew, more often than can be known.
    pub pauses: u64,
    /// The starts of the board after the first.
    pub restarts: u64,
    /// The bytes that are part of no frame.
    pub garbage: u64,
}

/// The board's clock, from the first head on.
struct Time {
    counter: Counter,
    extended: Extended,
    /// The number of records before the next one.
    position: u32,
    /// The time of the last record and of the last head.
    record: u64,
    head: u64,
    /// The time of the first record.
    first: Option<u64>,
    /// The ticks of the watch before the program began anew.
    before: u64,
}

impl Time {
    fn new(counter: Counter, position: u32, clock: u32, before: u64) -> Self {
        let extended = Extended::new(counter, clock);
        Self { counter, extended, position, record: 0, head: 0, first: None, before }
    }

    /// The ticks of the watch until a time.
    fn elapsed(&self, now: u64) -> u64 {
        self.before + now.saturating_sub(self.first.unwrap_or(now))
    }
}

impl Intake {
    /// Takes in the records of these marks.
    pub fn new(marks: &[Mark]) -> Self {
        let place = |(number, mark): (usize, &Mark)| {
            (mark.address as u32, (number, mark.argument.is_some()))
        };
        Self {
            frames: Frames::default(),
            marks: marks.iter().enumerate().map(place).collect(),
            hits: Hits { pairing: Pairing::new(marks), breaks: Vec::new() },
            counts: Counts::default(),
            clock: None,
            names: Names::new(),
        }
    }

    /// Takes in more bytes.
    ///
    /// # Errors
    /// The stream is of another version, or its clock changes or does not tick.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<()> {
        let mut frames = std::mem::take(&mut self.frames);
        let mut outcome = Ok(());
        frames.feed(bytes, &mut |frame| {
            if outcome.is_ok() {
                outcome = self.take(frame);
            }
        });
        self.frames = frames;
        outcome
    }

    /// Takes in a frame.
    ///
    /// # Errors
    /// The stream is of another version, or its clock changes or does not tick.
    pub fn take(&mut self, frame: Frame) -> Result<()> {
        match frame {
            Frame::Head { version, .. } if version != VERSION => bail!(
                "the stream is of version {version}, and this program reads {VERSION}: build the image \
                 with the marks of this version"
            ),
            Frame::Head { counter, .. } if counter.hertz == 0 || counter.top < 255 => bail!(
                "the board's clock has {} Hz and ends at {}: give chrono_start_… its rate and its \
                 largest value",
                counter.hertz,
                counter.top
            ),
            Frame::Head { counter, position, clock, .. } => self.head(counter, position, clock)?,
            Frame::Record { position, place, clock, argument } => {
                self.record(position, place, clock, argument);
            }
            Frame::Name { id, letters } => {
                let end = letters.iter().position(|letter| *letter == 0).unwrap_or(letters.len());
                let name = printable(&String::from_utf8_lossy(&letters[..end]));
                // A task that has ended leaves its number to another one.
                if name.is_empty() {
                    self.names.remove(&id.into());
                } else if self.names.len() < MOST_NAMES {
                    self.names.insert(id.into(), name);
                }
            }
        }
        Ok(())
    }

    fn head(&mut self, counter: Counter, position: u32, clock: u32) -> Result<()> {
        let Some(time) = &mut self.clock else {
            self.clock = Some(Time::new(counter, position, clock, 0));
            return Ok(());
        };
        ensure!(
            time.counter == counter,
            "the board's clock changes from {} to {} Hz, or its largest value: watch one program",
            time.counter.hertz,
            counter.hertz
        );
        if position.wrapping_sub(time.position).cast_signed() < 0 {
            // A program that begins anew.
            *time = Time::new(counter, position, clock, time.elapsed(time.record));
            self.counts.restarts += 1;
            self.hits.break_off();
            return Ok(());
        }
        match time.extended.at(clock) {
            Some(now) if now < time.head => {
                time.head = time.extended.jump(clock).unwrap_or(time.head);
                self.counts.pauses += 1;
                self.hits.break_off();
            }
            Some(now) => time.head = now,
            None => {}
        }
        self.skip(position);
        Ok(())
    }

    /// Counts the records up to a position as lost.
    fn skip(&mut self, position: u32) {
        let Some(time) = &mut self.clock else { return };
        let lost = position.wrapping_sub(time.position);
        time.position = position;
        if lost > 0 {
            self.counts.lost += u64::from(lost);
            self.hits.break_off();
        }
    }

    fn record(&mut self, position: u32, place: u32, clock: u32, argument: u32) {
        // Without a head before it, the record's time is unknown: the watch begins later.
        let Some(time) = &self.clock else { return };
        if position.wrapping_sub(time.position).cast_signed() < 0 {
            // A program that begins anew sends a head first; this one was lost.
            return;
        }
        self.skip(position);
        let Some(time) = &mut self.clock else { return };
        time.position = position.wrapping_add(1);
        self.counts.records += 1;
        let now = match time.extended.at(clock) {
            Some(now) if now >= time.record => now,
            Some(_) => {
                self.counts.pauses += 1;
                self.hits.break_off();
                time.extended.jump(clock).unwrap_or(time.record)
            }
            None => {
                self.counts.lost += 1;
                self.hits.break_off();
                return;
            }
        };
        time.record = now;
        time.first.get_or_insert(now);
        let now = time.elapsed(now);
        match self.marks.get(&place) {
            Some(&(mark, has_argument)) => {
                let argument = has_argument.then_some(u64::from(argument));
                // All numbers are of marks.
                let _ = self.hits.pairing.hit(mark, 0, now, argument);
            }
            None => self.counts.unknown += 1,
        }
    }

    /// The numbers so far. The bytes behind the last frame count as garbage: the stream is cut there.
    pub fn counts(&self) -> Counts {
        Counts { garbage: self.frames.garbage + self.frames.rest(), ..self.counts }
    }

    /// The board's clock; `None` before the first head.
    pub fn counter(&self) -> Option<Counter> {
        self.clock.as_ref().map(|time| time.counter)
    }

    /// The intervals so far, in ticks.
    pub fn pairing(&self) -> &Pairing {
        &self.hits.pairing
    }

    /// The intervals, in ticks, and the number of tasks that have none, because there are too many. The
    /// numbers of a kernel's switches are intervals of its tasks.
    pub fn finish(self) -> (Vec<super::Series>, usize) {
        tasks::by_task(self.hits.pairing.finish(), &self.names, &self.hits.breaks)
    }
}

/// Returns whether a series is the marks' own cost.
pub fn is_control(series: &super::Series) -> bool {
    series.name == CONTROL && series.kind == Kind::Begin
}

#[cfg(test)]
mod tests {
    use super::{super::stream::encode, *};

    const TOP: u32 = 999_999;

    fn head(position: u32, clock: u32) -> Vec<u8> {
        encode(b'H', &[1, 1_000_000, TOP, position, clock])
    }

    fn record(position: u32, place: u32, clock: u32) -> Vec<u8> {
        encode(b'M', &[position, place, clock, 0])
    }

    /// The lengths of the intervals `loop`, and the numbers, of a stream.
    fn read(stream: &[Vec<u8>]) -> (Vec<u64>, Counts) {
        let mark = |kind, address| Mark { name: "loop".to_owned(), kind, address, argument: None };
        let mut intake = Intake::new(&[mark(Kind::Begin, 16), mark(Kind::End, 32)]);
        intake.feed(&stream.concat()).unwrap();
        let counts = intake.counts();
        let series = intake.finish().0.remove(0);
        (series.intervals.iter().map(|interval| interval.length).collect(), counts)
    }

    #[test]
    fn intervals_over_the_clock_s_end_and_the_head_s_place() {
        // The head is later than the first two records, which waited.
        let stream = [
            head(5, 100),
            record(5, 16, 999_990),
            record(6, 32, 20),
            record(7, 16, 30),
            record(8, 32, 130),
        ];
        let (lengths, counts) = read(&stream);
        assert_eq!(lengths, [30, 100]);
        assert_eq!(counts, Counts { records: 4, ..Counts::default() });
    }

    #[test]
    fn lost_marks_make_no_interval_of_two() {
        let stream = [
            head(0, 0),
            record(0, 16, 10),
            record(3, 32, 40),
            record(4, 16, 50),
            record(5, 32, 70),
        ];
        let (lengths, counts) = read(&stream);
        assert_eq!((lengths, counts.lost, counts.records), (vec![20], 2, 4));
        // Some before the first head are not of the watch.
        let late = [record(0, 16, 10), head(1, 20), record(1, 16, 30), record(2, 32, 35)];
        assert_eq!(read(&late), (vec![5], Counts { records: 2, ..Counts::default() }));
    }

    #[test]
    fn a_pause_of_more_than_half_a_period_is_counted() {
        let stream = [
            head(0, 0),
            record(0, 16, 10),
            head(1, 700_000),
            record(1, 32, 700_010),
            record(2, 16, 700_020),
            record(3, 32, 700_030),
        ];
        let (lengths, counts) = read(&stream);
        assert_eq!((lengths, counts.pauses), (vec![10], 1));
    }

    #[test]
    fn a_board_that_begins_anew_and_marks_of_another_image_are_counted() {
        let stream = [
            head(0, 0),
            record(0, 16, 10),
            record(1, 64, 20),
            head(0, 5),
            record(0, 16, 10),
            record(1, 32, 17),
        ];
        let (lengths, counts) = read(&stream);
        assert_eq!((lengths, counts.restarts, counts.unknown), (vec![7], 1, 1));
    }

    /// The tasks' intervals of a stream of numbers `task_runs` and `task_ready`.
    fn tasks(stream: &[Vec<u8>]) -> Vec<(String, Vec<u64>)> {
        let argument = Some(super::super::Argument { register: 0, size: 4 });
        let mark = |name: &str, address| Mark {
            name: name.to_owned(),
            kind: Kind::Value,
            address,
            argument,
        };
        let mut intake = Intake::new(&[mark(tasks::RUNS, 16), mark(tasks::READY, 32)]);
        intake.feed(&stream.concat()).unwrap();
        let lengths = |series: super::super::Series| {
            (series.name, series.intervals.iter().map(|interval| interval.length).collect())
        };
        intake.finish().0.into_iter().map(lengths).collect()
    }

    #[test]
    fn tasks_have_no_interval_across_lost_marks_restarts_and_pauses() {
        let number = |position: u32, place: u32, clock: u32, task: u32| {
            encode(b'M', &[position, place, clock, task])
        };
        let before = |first: u32| vec![number(first, 32, 10, 9), number(first + 1, 16, 20, 7)];
        let whole = vec![number(2, 32, 50, 8), number(3, 16, 60, 9), number(4, 16, 75, 0)];
        let of_whole = vec![
            ("task 0x7, on the processor".to_owned(), vec![40]),
            ("task 0x9, on the processor".to_owned(), vec![15]),
            ("task 0x9, ready to running".to_owned(), vec![50]),
        ];
        let stream = [vec![head(0, 0)], before(0), whole].concat();
        assert_eq!(tasks(&stream), of_whole);
        // The same with a lost mark, a reset, and a pause in the middle.
        let after = |first: u32, clock: u32| {
            vec![number(first, 16, clock + 10, 9), number(first + 1, 16, clock + 25, 0)]
        };
        let expected = vec![("task 0x9, on the processor".to_owned(), vec![15])];
        for (break_off, first, clock) in
            [(None, 3, 50), (Some(head(0, 5)), 0, 50), (Some(head(2, 700_000)), 2, 700_010)]
        {
            let stream: Vec<Vec<u8>> = [head(0, 0)]
                .into_iter()
                .chain(before(0))
                .chain(break_off)
                .chain(after(first, clock))
                .collect();
            assert_eq!(tasks(&stream), expected, "{first} {clock}");
        }
    }

    #[test]
    fn the_bytes_of_a_cut_frame_are_counted() {
        let last = record(1, 32, 20);
        let stream = [head(0, 0), record(0, 16, 10), last[..7].to_vec()];
        assert_eq!(read(&stream), (vec![], Counts { records: 1, garbage: 7, ..Counts::default() }));
    }

    #[test]
    fn a_clock_that_changes_is_refused() {
        let mut intake = Intake::new(&[]);
        intake.feed(&head(0, 0)).unwrap();
        let other = encode(b'H', &[1, 2_000_000, TOP, 1, 5]);
        let error = intake.feed(&other).unwrap_err().to_string();
        assert!(error.contains("from 1000000 to 2000000 Hz"), "{error}");
    }

    #[test]
    fn a_stream_of_another_version_is_refused() {
        let refusal = |head: Vec<u8>| Intake::new(&[]).feed(&head).unwrap_err().to_string();
        assert!(refusal(encode(b'H', &[2, 1, TOP, 0, 0])).contains("of version 2"));
        assert!(refusal(encode(b'H', &[1, 0, TOP, 0, 0])).contains("has 0 Hz"));
    }
}
