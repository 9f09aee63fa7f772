//! One repetition of a case on the target: the environment of an experiment, and its reports to the
//! stream.

use core::fmt;

use crate::{
    arena::Arena,
    kernel::{Kernel, Reason, Refusal, Tasks},
    mark::{self, Marks, Slot},
    order::Order,
    request::Request,
    wire::{self, BLOCK, Clock, Evidence, MAX_FRAME, PART, Pin, Record, Sample, Samples, Series},
};

/// A name formatted at run time, such as `task 3`.
pub type Name = heapless::String<48>;

/// Formats a name, cut at 48 bytes.
pub fn name(text: fmt::Arguments<'_>) -> Name {
    let mut name = Name::new();
    // Cut names are the documented result of an error here.
    let _ = fmt::write(&mut name, text);
    name
}

/// The output of the stream's bytes: a pipe, a console, a UART. It may be slow, but must not lose
/// bytes.
pub trait Sink {
    /// Writes all bytes; waits until there is room.
    fn write(&mut self, bytes: &[u8]);
}

/// The environment of an experiment: kernel, memory, request, and the stream.
pub struct Trial<'a, K: Kernel> {
    /// The kernel under test.
    pub kernel: &'static K,
    /// The memory of the case's objects.
    pub arena: &'a Arena,
    /// The experiment and its parameters.
    pub request: Request<'a>,
    sink: &'a mut dyn Sink,
    records: u32,
    next_series: u8,
    backwards: u32,
}

impl<'a, K: Kernel> Trial<'a, K> {
    /// Begins the stream with the records `Hello` and `Clock`.
    pub fn new(
        kernel: &'static K,
        arena: &'a Arena,
        request: Request<'a>,
        sink: &'a mut dyn Sink,
        names: Names<'_>,
    ) -> Self {
        let mut trial =
            Self { kernel, arena, request, sink, records: 0, next_series: 0, backwards: 0 };
        trial.send(&names.hello(request.text()));
        trial.send(&Record::Clock(Clock {
            domain: kernel.domain(),
            hertz: kernel.hertz(),
            resolution: resolution(kernel),
        }));
        trial
    }

    /// Closes the stream with the outcome of the experiment.
    pub fn end(mut self, outcome: Result<(), Refusal>) {
        match outcome {
            Ok(()) => {
                if self.backwards > 0 {
                    self.evidence(
                        "samples that end before they start",
                        f64::from(self.backwards),
                        0.0,
                        0.0,
                    );
                }
                self.send(&Record::End { records: self.records });
            }
            Err(refusal) => self.send(&refused(refusal)),
        }
    }

    fn send(&mut self, record: &Record<'_>) {
        write(self.sink, record);
        self.records += 1;
    }

    /// Sends a single number. `unit` is printed as given; empty for a plain count.
    pub fn figure(&mut self, name: &str, unit: &str, value: f64) {
        self.send(&Record::Figure { name, unit, value });
    }

    /// Sends evidence that the mechanism happened. It holds when `low <= value <= high`.
    pub fn evidence(&mut self, name: &str, value: f64, low: f64, high: f64) {
        self.send(&Record::Evidence(Evidence { name, value, low, high }));
    }

    /// Sends how the kernel was compiled, which the lab records beside the figures.
    pub fn build(&mut self, build: &str) {
        self.attach(wire::BUILD, build.as_bytes());
    }

    /// Sends a line of text for the user.
    pub fn log(&mut self, line: &str) {
        self.send(&Record::Log(line));
    }

    /// Sends a file in parts. A second call with the same name appends to the file.
    pub fn attach(&mut self, name: &str, bytes: &[u8]) {
        bytes.chunks(PART).for_each(|bytes| self.send(&Record::Attachment { name, bytes }));
    }

    /// Sends a series of samples `(start, value)`: the start in ticks from an arbitrary fixed
    /// point, and the length. A negative length is sent as 0 and makes the case inconclusive.
    pub fn samples(&mut self, series: Series<'_>, samples: impl IntoIterator<Item = (i64, i64)>) {
        let id = self.next_series;
        self.next_series += 1;
        self.send(&Record::Series(Series { id, ..series }));
        let mut block = heapless::Vec::<Sample, BLOCK>::new();
        let mut previous = None;
        for (start, value) in samples {
            let gap = start - previous.replace(start).unwrap_or(start);
            let value = u64::try_from(value).unwrap_or_else(|_| {
                self.backwards += 1;
                0
            });
            if block.is_full() {
                self.send(&Record::Samples(Samples {
                    series: id,
                    block: core::mem::take(&mut block),
                }));
            }
            // The push cannot fail: a full block has just been sent.
            let _ = block.push(Sample { gap, value });
        }
        if !block.is_empty() {
            self.send(&Record::Samples(Samples { series: id, block }));
        }
    }

    /// Announces a series whose samples follow in parts, by [`more`](Self::more): for a port that
    /// sends while it measures.
    pub fn open(&mut self, series: Series<'_>) -> Opened {
        let id = self.next_series;
        self.next_series += 1;
        self.send(&Record::Series(Series { id, ..series }));
        Opened { id, previous: None }
    }

    /// Sends the next samples of a series, as [`samples`](Self::samples) does.
    pub fn more(&mut self, series: &mut Opened, samples: impl IntoIterator<Item = (i64, i64)>) {
        let mut samples = samples.into_iter().peekable();
        while samples.peek().is_some() {
            let block = samples.by_ref().take(BLOCK).map(|(start, value)| {
                let gap = start - series.previous.replace(start).unwrap_or(start);
                let value = u64::try_from(value).unwrap_or_else(|_| {
                    self.backwards += 1;
                    0
                });
                Sample { gap, value }
            });
            let block = block.collect();
            self.send(&Record::Samples(Samples { series: series.id, block }));
        }
    }

    /// Sends a series of values without start times.
    pub fn values(&mut self, series: Series<'_>, values: impl IntoIterator<Item = u64>) {
        self.samples(
            series,
            values.into_iter().map(|value| (0, i64::try_from(value).unwrap_or(i64::MAX))),
        );
    }

    /// Sends a sample for each pair of marks: from place `i` of `starts` to place `i` of `ends`,
    /// less the nominal length of the series.
    pub fn durations(&mut self, series: Series<'_>, starts: &Marks<K>, ends: &Marks<K>) {
        self.starts(&series, starts);
        let nominal = series.nominal.cast_signed();
        let samples = (0..starts.len().min(ends.len())).scan(0, |start, place| {
            // Added up from mark to mark, because the case may be longer than the counter's range.
            *start += starts.until(place.saturating_sub(1), starts, place);
            Some((*start, starts.until(place, ends, place) - nominal))
        });
        self.samples(series, samples);
    }

    fn starts(&self, series: &Series<'_>, marks: &Marks<K>) {
        if !marks.is_empty() {
            self.kernel.series_starts(series.name, marks.at(0));
        }
    }

    /// Sends a sample from each mark to the next.
    pub fn intervals(&mut self, series: Series<'_>, marks: &Marks<K>) {
        self.starts(&series, marks);
        let samples = (1..marks.len()).scan(0, |end, place| {
            let value = marks.until(place - 1, marks, place);
            let start = core::mem::replace(end, *end + value);
            Some((start, value))
        });
        self.samples(series, samples);
    }

    /// Measures and sends the control of experiments with one operation between two marks: marks
    /// set in a row. `per` must equal the measured series' `per`. Overwrites `marks`.
    pub fn mark_control(&mut self, marks: &Marks<K>, per: f64) {
        marks.control(self.kernel);
        let pin = Some(Pin::Edges(mark::CONTROL));
        self.intervals(Series { per, pin, ..Series::control("mark to mark") }, marks);
    }

    /// Returns the numbers below `count` in the order in which an experiment creates as many equal
    /// tasks: ascending, unless the request varies the start state.
    pub fn order(&self, count: usize) -> Order {
        match self.request.start_state() {
            Some(mut random) => Order::chosen(count, &mut random),
            None => Order::ascending(count),
        }
    }

    /// Waits, as the director, for `count` gives of `done`.
    pub async fn wait(&self, done: &'static K::Semaphore, count: usize) {
        for _ in 0..count {
            K::Director::take(self.kernel, done).await;
        }
    }

    /// Converts microseconds to ticks of the clock, rounded down.
    pub fn ticks(&self, microseconds: u64) -> u64 {
        (u128::from(microseconds) * u128::from(self.kernel.hertz()) / 1_000_000) as u64
    }

    /// Converts the length of an interval between two marks from microseconds to ticks.
    ///
    /// # Errors
    /// [`Refusal`] for an interval that the counter could not represent: more than half its range,
    /// less a sixteenth of that as a reserve for lateness.
    pub fn stretch(&self, microseconds: u64) -> Result<u64, Refusal> {
        let half = 1 << (8 * size_of::<K::Slot>() - 1);
        match self.ticks(microseconds) {
            ticks if ticks <= half - half / 16 => Ok(ticks),
            _ => Err(Refusal::new(
                Reason::Invalid,
                "the case asks for a longer time than the clock of this target can tell",
                "ask for less than half its counter's range: for 32 bits at 1 GHz, at most 2 s",
            )),
        }
    }

    /// Creates a semaphore in the arena.
    ///
    /// # Errors
    /// [`Refusal`] when the arena is full or the kernel has no more semaphores.
    pub fn semaphore(&self, initial: u32) -> Result<&'static K::Semaphore, Refusal> {
        self.arena.place(self.kernel.semaphore(initial)?)
    }
}

/// A series whose samples are sent in parts.
pub struct Opened {
    id: u8,
    /// The start of the last sample that was sent.
    previous: Option<i64>,
}

/// The kernel's name and version, for the record `Hello`.
pub struct Names<'a> {
    /// The kernel's part of the target's name: `linux`.
    pub kernel: &'a str,
    /// The kernel's version.
    pub release: &'a str,
}

impl Names<'_> {
    fn hello<'a>(&'a self, request: &'a str) -> Record<'a> {
        Record::Hello {
            version: wire::VERSION,
            kernel: self.kernel,
            release: self.release,
            request,
        }
    }
}

/// Sends the stream of a case that was refused before it had a [`Trial`].
pub fn refuse(sink: &mut dyn Sink, names: Names<'_>, request: &str, refusal: Refusal) {
    write(sink, &names.hello(request));
    write(sink, &refused(refusal));
}

fn refused(Refusal { reason, what, mend, code }: Refusal) -> Record<'static> {
    Record::Refused { reason, what, mend, code }
}

/// Writes a record. Not inlined: the frame's buffer would enlarge the stack of every caller.
#[inline(never)]
fn write(sink: &mut dyn Sink, record: &Record<'_>) {
    let mut frame = [0; MAX_FRAME + 1];
    match wire::encode(record, &mut frame) {
        Ok(length) => sink.write(&frame[..length]),
        // Only texts can be too long. The lab counts records, so it notices a missing one.
        Err(_) => debug_assert!(false, "a record is longer than a frame"),
    }
}

/// Measures the clock's resolution: the smallest difference between two reads that differ, of 100.
fn resolution<K: Kernel>(kernel: &K) -> u64 {
    let step = || {
        let first = kernel.read();
        loop {
            let step = K::Slot::between(first, kernel.read());
            if step > 0 {
                return step.unsigned_abs();
            }
        }
    };
    (0..100).map(|_| step()).min().unwrap_or(1)
}
