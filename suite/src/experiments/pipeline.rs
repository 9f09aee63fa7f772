//! `pipeline`: the work of a signal processor: sample, transform, send.
//!
//! ```text
//!   sampler, Urgent(3) ──samples──► transformer, Urgent(2) ──results──► sender, Urgent(1)
//!   every 1/rate s                  fills a buffer, FFT,                a line on a UART
//!                                   index of the maximum
//! ```
//!
//! The sampler stands for the timer interrupt that reads an ADC on a microcontroller: a task of the
//! highest priority with absolute due times. The signal (12 bits: a sine of `frequency_hz` and a
//! dither of a few steps from `seed`) is laid out beforehand, so that a sample costs no more than a
//! register read would. The sender's UART is a model: it waits until the line would have left at
//! 115,200 baud, 10 bits a byte.
//!
//! - **Start**: the transformer's mark, immediately after the buffer's last sample has been stored
//!   in it.
//! - **End**: its mark immediately after the index of the maximum has been found.
//! - **Sample**: one block: real FFT, squared magnitudes, maximum. Auxiliary: `sample to result`,
//!   from the block's last sample to the sender's receipt of its result; `result to line sent`; and
//!   `sampler lateness`, from a sample's due time.
//! - **Control**: marks one straight after the other.
//! - **Evidence**: every sample reached the transformer in order, and the maximum of every block
//!   lies at the bin nearest to the frequency that was put in, or at either of two that are about
//!   equally near.
//! - **Pin**: D6: high from before the mark at the start to after the one at the end, as in the
//!   source.
//! - **Source**: P5.pipeline.
//!
//! How it differs from the source: P5 samples a real ADC and sends on a real UART, and its
//! transform is the chip vendor's; here the transform is the same Rust code (`microfft`, radix 2,
//! single precision) on every kernel, so that differences belong to the kernel and its machine.
//! Magnitudes are left squared, which moves no maximum.

use core::{
    hint::black_box,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use microfft::{Complex32, real};

use crate::{
    kernel::{Clock, Kernel, Messages, Priority, Reason, Refusal},
    mark::{self, Marks},
    signal::{Adc, MIDDLE},
    spec::{KIND, MEDIAN, Parameter, Reading, Spec, Values},
    trial::{Trial, name},
    wire::{Pin, Series},
};

/// The description of `pipeline`.
pub static SPEC: Spec = Spec {
    name: "pipeline",
    summary: "1 kHz samples through a queue to an FFT, its result through a queue to a UART",
    start: "immediately after the last sample has been stored in the buffer",
    end: "immediately after the index of the spectrum's maximum has been found",
    statistic: "one block; beside it sample to result, result to line sent, and the sampler's \
                lateness",
    control: "marks set one straight after the other",
    evidence: "every sample arrived in order; every block's maximum is the bin nearest to the \
               signal's frequency",
    pin: "D6: high while a block is transformed",
    source: "P5.pipeline",
    parameters: &[
        KIND,
        Parameter {
            name: "points",
            unit: "",
            default: "256",
            values: Values::Word(&["64", "128", "256", "512", "1024"]),
            help: "samples in one block",
        },
        Parameter {
            name: "blocks",
            unit: "",
            default: "2",
            values: Values::Number(1, 1000),
            help: "blocks",
        },
        Parameter {
            name: "rate_hz",
            unit: "Hz",
            default: "1000",
            values: Values::Number(10, 20_000),
            help: "samples per second",
        },
        Parameter {
            name: "frequency_hz",
            unit: "Hz",
            default: "50",
            values: Values::Number(1, 10_000),
            help: "the signal's frequency: at least two bins (of rate / points) from 0 and from \
                   half the rate",
        },
        Parameter {
            name: "seed",
            unit: "",
            default: "1",
            values: Values::Number(0, u32::MAX as u64),
            help: "of the dither",
        },
    ],
    duration_us: |request| {
        let samples = request.number("points") * request.number("blocks");
        samples * 1_000_000 / request.number("rate_hz") + 1_000_000 / LEAD
    },
};

/// The first sample is due this part of a second after the sampler is created.
const LEAD: u64 = 50;

/// Room in the queue of samples: on a slow chip a transform outlasts many samples.
const CAPACITY: usize = 64;

struct Pipeline<T: Messages> {
    kernel: &'static T::Kernel,
    /// The ADC's samples.
    signal: &'static [u16],
    /// Each word is the sample's number and, in its low 12 bits, its value.
    samples: T::Queue,
    /// Each word is the block's number and, in its low 16 bits, the bin of the maximum.
    results: T::Queue,
    points: u64,
    blocks: usize,
    rate: u64,
    /// A mark for each sample.
    sampled: Marks<T::Kernel>,
    /// A mark for each block.
    filled: Marks<T::Kernel>,
    found: Marks<T::Kernel>,
    received: Marks<T::Kernel>,
    sent: Marks<T::Kernel>,
    /// The result that the sender received for each block.
    words: &'static [AtomicU32],
    samples_in_order: AtomicU32,
    /// The sampler's leave to end, and the transformer's.
    leave: &'static [<T::Kernel as Kernel>::Semaphore],
    /// Given by each task when it has done; by those that the sampler needs, also when they are in
    /// place.
    done: &'static <T::Kernel as Kernel>::Semaphore,
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena, or for a frequency too near to an end of the spectrum.
pub async fn run<T: Messages>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal> {
    let kernel = trial.kernel;
    let [points, rate, frequency] =
        ["points", "rate_hz", "frequency_hz"].map(|key| trial.request.number(key));
    // Nearer to an end, the sine's mirror image moves the maximum.
    if !(2 * rate..=(points / 2 - 2) * rate).contains(&(frequency * points)) {
        return Err(Refusal::new(
            Reason::Invalid,
            "the signal's frequency is within two bins of an end of the spectrum",
            "choose frequency_hz from 2 * rate_hz / points to rate_hz / 2 - 2 * rate_hz / points",
        ));
    }
    // A block lies between two marks of one kind.
    trial.stretch(points * 1_000_000 / rate)?;
    let blocks = trial.request.count("blocks");
    let count = blocks * points as usize;
    let mut adc = Adc::new(rate, frequency, trial.request.number("seed") as u32);
    let pipeline: &'static Pipeline<T> = trial.arena.place(Pipeline {
        kernel,
        signal: trial.arena.fill(count, |_| Ok(adc.read()))?,
        samples: T::queue(kernel, CAPACITY)?,
        results: T::queue(kernel, CAPACITY)?,
        points,
        blocks,
        rate,
        sampled: Marks::new(trial.arena, count)?,
        filled: Marks::new(trial.arena, blocks)?,
        found: Marks::new(trial.arena, blocks)?,
        received: Marks::new(trial.arena, blocks)?,
        sent: Marks::new(trial.arena, blocks)?,
        words: trial.arena.fill(blocks, |_| Ok(AtomicU32::new(u32::MAX)))?,
        samples_in_order: AtomicU32::new(0),
        leave: trial.arena.fill(2, |_| kernel.semaphore(0))?,
        done: trial.semaphore(0)?,
    })?;
    T::spawn(kernel, Priority::Urgent(1), sender(pipeline))?;
    match points {
        64 => spawn_transformer(trial, pipeline, |buffer| real::rfft_64(buffer))?,
        128 => spawn_transformer(trial, pipeline, |buffer| real::rfft_128(buffer))?,
        256 => spawn_transformer(trial, pipeline, |buffer| real::rfft_256(buffer))?,
        512 => spawn_transformer(trial, pipeline, |buffer| real::rfft_512(buffer))?,
        _ => spawn_transformer(trial, pipeline, |buffer| real::rfft_1024(buffer))?,
    }
    // Both are in place before time begins to run.
    trial.wait(pipeline.done, 2).await;
    let first = kernel.now() + kernel.hertz() / LEAD;
    T::spawn(kernel, Priority::Urgent(3), sampler(pipeline, first))?;
    trial.wait(pipeline.done, 3).await;
    report(trial, pipeline, frequency, first);
    Ok(())
}

fn report<T: Messages>(
    trial: &mut Trial<'_, T::Kernel>,
    pipeline: &Pipeline<T>,
    frequency: u64,
    first: u64,
) {
    let &Pipeline { points, rate, blocks, ref sampled, .. } = pipeline;
    let in_order = f64::from(pipeline.samples_in_order.load(Relaxed));
    let right = pipeline.words.iter().enumerate().filter(|(block, word)| {
        let word = word.load(Relaxed);
        let bin = u64::from(word & 0xFFFF);
        (word >> 16) as usize == *block && near(bin, [points, rate, frequency])
    });
    let right = right.count() as f64;
    trial.evidence("samples in order", in_order, sampled.len() as f64, sampled.len() as f64);
    trial.evidence("blocks with the right frequency", right, blocks as f64, blocks as f64);
    let bin = pipeline.words[0].load(Relaxed) & 0xFFFF;
    trial.figure("base frequency", "Hz", f64::from(bin) * rate as f64 / points as f64);

    // When a sample was taken, from when the first was due, and how late.
    let late = |sample: usize| {
        let late = sampled.lateness(sample, pipeline.due(first, sample));
        (pipeline.due(0, sample).cast_signed() + late, late)
    };
    let period = (trial.kernel.hertz() / rate) as i64;
    let missed = (0..sampled.len()).filter(|&sample| late(sample).1 >= period).count();
    trial.figure("samples late by a period or more", "", missed as f64);

    let pin = Some(Pin::Pulse(mark::BLOCK));
    trial.durations(
        Series { pin, ..Series::measured("fft block") },
        &pipeline.filled,
        &pipeline.found,
    );
    let to_result = (0..blocks).map(|block| {
        let last = (block + 1) * points as usize - 1;
        (late(last).0, sampled.until(last, &pipeline.received, block))
    });
    trial.samples(Series::auxiliary("sample to result"), to_result);
    trial.durations(Series::auxiliary("result to line sent"), &pipeline.received, &pipeline.sent);
    trial.samples(Series::auxiliary("sampler lateness"), (0..sampled.len()).map(late));
    trial.mark_control(sampled, 1.0);
}

/// Returns `true` if a bin is the nearest to the frequency, with a tolerance of 0.6 bins: halfway
/// between two bins, the mirror image and the dither decide.
fn near(bin: u64, [points, rate, frequency]: [u64; 3]) -> bool {
    10 * (bin * rate).abs_diff(frequency * points) <= 6 * rate
}

impl<T: Messages> Pipeline<T> {
    /// Returns the due time of a sample, counted from the first so that rounding errors do not add
    /// up.
    fn due(&self, first: u64, sample: usize) -> u64 {
        first + sample as u64 * self.kernel.hertz() / self.rate
    }
}

async fn sampler<T: Messages>(pipeline: &'static Pipeline<T>, first: u64) {
    let kernel = pipeline.kernel;
    for (sample, &value) in pipeline.signal.iter().enumerate() {
        T::delay_until(kernel, pipeline.due(first, sample)).await;
        pipeline.sampled.mark(kernel, sample);
        T::send(kernel, &pipeline.samples, (sample as u32) << 12 | u32::from(value)).await;
    }
    T::take(kernel, &pipeline.leave[0]).await;
    kernel.give(pipeline.done);
}

/// A real FFT of N points, in place.
type Transform<const N: usize> = fn(&mut [f32; N]) -> &mut [Complex32];

/// Creates the transformer. Its buffer is in the arena, because the stack of a small kernel's task
/// may be too small.
fn spawn_transformer<T: Messages, const N: usize>(
    trial: &Trial<'_, T::Kernel>,
    pipeline: &'static Pipeline<T>,
    transform: Transform<N>,
) -> Result<(), Refusal> {
    let buffer = trial.arena.lend(N, |_| Ok(0.0))?.as_mut_array().ok_or(Refusal::full())?;
    T::spawn(pipeline.kernel, Priority::Urgent(2), transformer(pipeline, buffer, transform))
}

async fn transformer<T: Messages, const N: usize>(
    pipeline: &'static Pipeline<T>,
    buffer: &'static mut [f32; N],
    transform: Transform<N>,
) {
    let kernel = pipeline.kernel;
    kernel.give(pipeline.done);
    let mut expected = 0;
    let mut in_order = 0;
    for block in 0..pipeline.blocks {
        for slot in buffer.iter_mut() {
            let word = T::receive(kernel, &pipeline.samples).await;
            *slot = (word & 0xFFF) as f32 - MIDDLE;
            in_order += u32::from(word >> 12 == expected);
            expected += 1;
        }
        // The black boxes keep the compiler from moving the work out from between the marks.
        let full = black_box(&mut *buffer);
        pipeline.filled.start(kernel, block, mark::BLOCK);
        let bin = black_box(loudest(transform(full)));
        pipeline.found.end(kernel, block, mark::BLOCK);
        T::send(kernel, &pipeline.results, (block as u32) << 16 | bin as u32).await;
    }
    pipeline.samples_in_order.store(in_order, Relaxed);
    T::take(kernel, &pipeline.leave[1]).await;
    kernel.give(pipeline.done);
}

/// Returns the bin with the largest magnitude. Leaves out bin 0, which holds the mean and, in its
/// imaginary part, the bin at half the rate.
fn loudest(spectrum: &[Complex32]) -> usize {
    let mut loudest = (0, 0.0);
    for (index, bin) in spectrum.iter().enumerate().skip(1) {
        let power = bin.re * bin.re + bin.im * bin.im;
        if power > loudest.1 {
            loudest = (index, power);
        }
    }
    loudest.0
}

async fn sender<T: Messages>(pipeline: &'static Pipeline<T>) {
    const BAUD: u64 = 115_200;
    const BITS_PER_BYTE: u64 = 10;
    let kernel = pipeline.kernel;
    kernel.give(pipeline.done);
    for block in 0..pipeline.blocks {
        let word = T::receive(kernel, &pipeline.results).await;
        pipeline.received.mark(kernel, block);
        pipeline.words[block].store(word, Relaxed);
        let hundredths = u64::from(word & 0xFFFF) * pipeline.rate * 100 / pipeline.points;
        let line = name(format_args!(
            "{}: {}.{:02} Hz\r\n",
            word >> 16,
            hundredths / 100,
            hundredths % 100
        ));
        let wire_time = line.len() as u64 * BITS_PER_BYTE * kernel.hertz() / BAUD;
        T::delay_until(kernel, kernel.now() + wire_time).await;
        pipeline.sent.mark(kernel, block);
    }
    // The others may end only now: the end of a more urgent task may take longer than all its work,
    // and would delay the last result.
    pipeline.leave.iter().for_each(|leave| kernel.give(leave));
    kernel.give(pipeline.done);
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long does a block of work take?",
    compared: "a block of work takes",
    sentences: &["a block of work takes {p50} at the median, {max} at worst"],
    ..MEDIAN
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_is_the_bin_nearest_to_the_signal() {
        for frequency in 8..=492 {
            let mut adc = Adc::new(1000, frequency, 7);
            let mut buffer: [f32; 256] = core::array::from_fn(|_| f32::from(adc.read()) - MIDDLE);
            let bin = loudest(real::rfft_256(&mut buffer)) as u64;
            assert!(near(bin, [256, 1000, frequency]), "{frequency} Hz: bin {bin}");
        }
    }
}
