//! A run: simulates cycle after cycle until the program exits.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use crate::{
    arrivals::Sweep,
    image,
    model::{Model, Watch},
    options::Options,
    retirement::{Profile, Trace},
    semihosting::{Host, Next},
    waveform::Waveform,
};

/// Runs the program and writes the files of its instruments. Returns whether the program exited
/// with success.
pub fn run(options: &Options) -> Result<bool, String> {
    let mut model = Model::new(options.setup);
    let entry = image::load(&options.image, &mut model)?;
    let mut instruments = Instruments::new(options)?;
    let mut output = BufWriter::new(io::stdout().lock());
    let mut host =
        Host { request: &options.request, output: &mut output, errors: &mut io::stderr() };

    let ended = until_exit(&mut model, entry, options.limit, &mut host, &mut instruments);
    // A failed run's output and files are written too: they show how it failed.
    let flushed = output.flush().map_err(|error| format!("output: {error}"));
    let kept = instruments.finish(model.time(), options);
    let well = ended?;
    flushed.and(kept).map(|()| well)
}

/// More cycles than a core still shows that it sleeps once the line of its interrupt has risen. Rocket and
/// CVA6 do so, and then nothing is due any more.
const LONGEST_WAKING: u32 = 8;

fn until_exit(
    model: &mut Model,
    entry: u32,
    limit: u64,
    host: &mut Host<'_>,
    instruments: &mut Instruments,
) -> Result<bool, String> {
    let (mut time, mut begun, mut skip, mut idle) = (0, false, 0, 0);
    loop {
        let arrives = instruments.arrives(time + 1 + skip);
        if arrives {
            model.arrive(true);
        }
        let watch = if skip == 0 { model.cycle() } else { model.skip(skip) };
        if arrives {
            model.arrive(false);
        }
        time += 1 + skip;
        skip = 0;
        idle = if watch.sleeps() { idle + 1 } else { 0 };
        instruments.look(time, watch, model).map_err(|error| format!("instruments: {error}"))?;
        if instruments.is_over() {
            return Ok(true);
        }
        if watch.stopped() {
            let stop = model.stop();
            if !begun {
                // The board stops the core at reset.
                begun = true;
                model.go_on(entry, 0);
            } else {
                match host.call(model, stop)? {
                    Next::GoOn { answer } => model.go_on(stop.at + 4, answer),
                    Next::Exit { well } => return Ok(well),
                }
                // The core may have worked for the probe meanwhile.
                time = model.time();
            }
        } else if watch.sleeps() {
            if let Some(due) = model.due().into_iter().chain(instruments.due()).min() {
                (skip, idle) = (due.min(limit).saturating_sub(time + 1), 0);
            } else if idle > LONGEST_WAKING {
                return Err(format!("at cycle {time} the core sleeps, and nothing will wake it"));
            }
        }
        if time >= limit {
            return Err(format!("not over after {limit} cycles"));
        }
    }
}

/// The instruments attached by options, and the previous signals.
struct Instruments {
    before: Watch,
    waveform: Option<Waveform<BufWriter<File>>>,
    profile: Option<Profile>,
    trace: Option<Trace<BufWriter<File>>>,
    reads: Option<BufWriter<File>>,
    sweep: Option<Sweep<BufWriter<File>>>,
    /// Set once pin 0 has been high: the trace begins.
    triggered: bool,
}

impl Instruments {
    fn new(options: &Options) -> Result<Self, String> {
        let waveform = options.pins.as_deref().map(|path| {
            create(path).and_then(|file| {
                Waveform::new(file, options.setup.hertz).map_err(|error| of_file(path, error))
            })
        });
        let sweep = options
            .arrivals
            .as_ref()
            .map(|(path, asked)| Ok::<_, String>(Sweep::new(create(path)?, *asked)));
        Ok(Self {
            before: Watch::default(),
            waveform: waveform.transpose()?,
            profile: options.profile.as_ref().map(|_| Profile::default()),
            trace: options.retired.as_deref().map(create).transpose()?.map(Trace::new),
            reads: options.reads.as_deref().map(create).transpose()?,
            sweep: sweep.transpose()?,
            triggered: false,
        })
    }

    /// Returns whether the alarm becomes due in that cycle by a sweep of its arrivals.
    fn arrives(&mut self, at: u64) -> bool {
        let sweep = self.sweep.as_mut().filter(|sweep| sweep.due() == Some(at));
        sweep.map(|sweep| sweep.arrive(at)).is_some()
    }

    /// The cycle at which the alarm becomes due by a sweep.
    fn due(&self) -> Option<u64> {
        self.sweep.as_ref().and_then(Sweep::due)
    }

    /// Returns whether a sweep has all its arrivals.
    fn is_over(&self) -> bool {
        self.sweep.as_ref().is_some_and(Sweep::is_over)
    }

    /// Records the signals from cycle `at` on.
    #[inline]
    fn look(&mut self, at: u64, watch: Watch, model: &Model) -> io::Result<()> {
        if watch.retired() && (self.profile.is_some() || self.trace.is_some()) {
            self.retire(at, watch, model)?;
        }
        if let Some(reads) = self.reads.as_mut().filter(|_| watch.retired()) {
            let pc = model.retired_pc();
            if reads_the_counter(instruction(model, pc)) {
                writeln!(reads, "{at} {pc:#x}")?;
            }
        }
        if let Some(sweep) = &mut self.sweep {
            sweep.look(at, watch, model.retired_pc())?;
        }
        if watch.levels() != self.before.levels() {
            if let Some(waveform) = &mut self.waveform {
                waveform.set(at, watch.levels())?;
            }
            if self.before.sleeps() != watch.sleeps() {
                self.profile.iter_mut().for_each(|profile| profile.sleep(at, watch.sleeps()));
                self.trace.iter_mut().filter(|_| !watch.sleeps()).for_each(|trace| trace.wake(at));
            }
            match (self.before.in_window(), watch.in_window()) {
                (false, true) => {
                    self.triggered = true;
                    self.profile.iter_mut().for_each(|profile| profile.begin(at));
                }
                (true, false) => self.profile.iter_mut().for_each(|profile| profile.end(at)),
                _ => (),
            }
            self.before = watch;
        }
        Ok(())
    }

    fn retire(&mut self, at: u64, watch: Watch, model: &Model) -> io::Result<()> {
        let (pc, entry) = (model.retired_pc(), watch.entry());
        if let Some(profile) = &mut self.profile {
            profile.retire(at, pc, entry);
        }
        match &mut self.trace {
            Some(trace) if self.triggered => trace.retire(at, pc, instruction(model, pc), entry),
            _ => Ok(()),
        }
    }

    fn finish(self, at: u64, options: &Options) -> Result<(), String> {
        if let (Some(waveform), Some(path)) = (self.waveform, &options.pins) {
            waveform.finish(at).map_err(|error| of_file(path, error))?;
        }
        if let (Some(trace), Some(path)) = (self.trace, &options.retired) {
            trace.finish().map_err(|error| of_file(path, error))?;
        }
        if let (Some(mut reads), Some(path)) = (self.reads, &options.reads) {
            reads.flush().map_err(|error| of_file(path, error))?;
        }
        if let (Some(sweep), Some((path, _))) = (self.sweep, &options.arrivals) {
            sweep.finish().map_err(|error| of_file(path, error))?;
        }
        if let (Some(profile), Some(path)) = (self.profile, &options.profile) {
            profile.write(create(path)?).map_err(|error| of_file(path, error))?;
        }
        Ok(())
    }
}

/// Returns whether an instruction reads `mcycle` or `cycle`.
fn reads_the_counter(instruction: u32) -> bool {
    instruction & 0xf_f07f == 0x2073 && matches!(instruction >> 20, 0xb00 | 0xc00)
}

/// The instruction at an address; 0 outside of the memory. Programs on the board do not modify
/// their code.
fn instruction(model: &Model, pc: u32) -> u32 {
    const UNCOMPRESSED: u16 = 0b11;
    match model.half(pc) {
        Some(half) if half & UNCOMPRESSED != UNCOMPRESSED => half.into(),
        _ => model.word(pc).unwrap_or(0),
    }
}

fn create(path: &Path) -> Result<BufWriter<File>, String> {
    File::create(path).map(BufWriter::new).map_err(|error| of_file(path, error))
}

fn of_file(path: impl Into<PathBuf>, error: io::Error) -> String {
    format!("{}: {error}", path.into().display())
}
