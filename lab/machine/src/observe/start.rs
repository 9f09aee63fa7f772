//! The starts of an observed image in QEMU: its command lines, and the starts that a sweep of arrivals
//! and the cycles of a chip need beside the first.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use super::{
    EVENTS, MEMORY, NOWHERE, Observed, events::Figures, image::Place, named::Named, placed,
    question::Arrivals,
};
use crate::{
    Start,
    arrivals::{HANDLER, Sweep, Waits},
    marks::Argument,
    qemu::{
        chip::quoted,
        modelled::{FILE, Modelled, Reads},
        worst::Rounds,
    },
    stream::StreamBuilder,
};
use chronoscope_child::{self as child, Folder};
use chronoscope_suite::wire::{Clock, Domain, Record};

impl Observed<'_> {
    /// The waits of an interrupt at every instruction of a round, as a stream of records. The image
    /// starts anew until it has had enough rounds.
    pub(super) fn sweep(
        &self,
        arrivals: Arrivals,
        round: &Place,
        folder: &Folder,
        start: &Start<'_>,
    ) -> Result<Vec<u8>> {
        let file = folder.path("arrivals");
        let exception = match arrivals {
            Arrivals::Timer => None,
            Arrivals::Number(number) => Some(number.to_string()),
        };
        let once = |first: usize| {
            let until = self.until().map(|place| place.address);
            let nested = self.nested.as_deref();
            let rounds =
                Rounds { until, nested, ..Rounds::new(round.address, exception.as_deref()) };
            let options = rounds.options(&file, first, self.chip.as_ref());
            let mut qemu = self.command(&options, NOWHERE)?;
            qemu.arg("-singlestep");
            // The plugin ends QEMU, so a failing status is its own.
            let discard = &mut |_: &[u8]| anyhow::Ok(());
            child::run(&mut qemu, self.emulated.program(), start.limit, start.stop, discard)?;
            Sweep::parse(&fs::read_to_string(&file)?)
        };
        let tried = once(0)?.completed(once)?;
        let mut stream = StreamBuilder::begin(&self.name, start.request)?;
        stream.send(&self.clock())?;
        let waits = Waits::by_model(self.chip.is_some());
        let end = self.until().map_or(HANDLER, |place| &place.name);
        tried.write(&mut stream, waits, end, &self.image.symbols()?)?;
        stream.end()
    }

    /// The place at which a wait ends, if it is not the handler's first instruction.
    fn until(&self) -> Option<&Place> {
        self.to
            .as_ref()
            .filter(|to| self.from.as_ref().is_none_or(|from| from.address != to.address))
    }

    /// The record of the clock: the chip's, or a tick for each instruction.
    pub(super) fn clock(&self) -> Record<'static> {
        let instructions =
            Clock { domain: Domain::Instructions, hertz: 1_000_000_000, resolution: 1 };
        self.chip.as_ref().map_or(Record::Clock(instructions), Modelled::clock)
    }

    /// The cycles at each event, by the model of the chip, if one is named: from a second start of the
    /// image, which executes the same instructions. `phase` is the plugin's option of the timer whose phases
    /// are tried.
    pub(super) fn cycles(
        &self,
        figures: &Figures,
        named: Option<&Named<'_>>,
        folder: &Folder,
        phase: Option<&str>,
        start: &Start<'_>,
    ) -> Result<Option<Reads>> {
        let Some(chip) = &self.chip else { return Ok(None) };
        let mut times = figures.times();
        times.extend(named.iter().flat_map(|named| named.times()));
        times.sort_unstable();
        times.dedup();
        let times: Vec<u8> = times.into_iter().flat_map(u64::to_le_bytes).collect();
        let (asked, found) = (folder.path("times"), folder.path(FILE));
        fs::write(&asked, times)?;
        let (asked, options) = (quoted(&asked), chip.options());
        let mut options = format!("cycles={},times={asked},{options}", quoted(&found));
        options.extend(phase.iter().flat_map(|phase| [",", phase]));
        let mut qemu = self.command(&options, NOWHERE)?;
        Reads::since_the_reset(&self.written(&mut qemu, &found, start)?).map(Some)
    }

    /// Runs the image to its end, or until it sleeps for good, and returns the file that the plugin writes
    /// then. An image may end QEMU with any status, which says why there is no file if there is none.
    pub(super) fn written(
        &self,
        qemu: &mut Command,
        file: &Path,
        start: &Start<'_>,
    ) -> Result<Vec<u8>> {
        let (program, discard) = (self.emulated.program(), &mut |_: &[u8]| Ok(()));
        let ended = child::run_to_an_end(qemu, program, start.limit, start.stop, discard);
        match (ended, fs::read(file)) {
            (Ok(()) | Err(child::Error::Failed(_) | child::Error::Asleep { .. }), Ok(bytes)) => {
                Ok(bytes)
            }
            (Err(error), _) => Err(error.into()),
            (Ok(()), Err(missing)) => Err(missing.into()),
        }
    }

    /// The plugin's options for the observer, which writes to this folder.
    pub(super) fn observer(&self, folder: &Folder) -> String {
        let mut plugin = format!("observe={}", quoted(&folder.path(EVENTS)));
        if let Some(console) = &self.console {
            plugin += &console.option(folder);
        }
        plugin += &format!(",limit={}", self.limit);
        // A place that is not watched has an address that no instruction has.
        for place in [&self.to, &self.from, &self.switch] {
            let address = place.as_ref().map_or(u64::MAX, |place| place.address);
            plugin += &format!(",at={address:#x}");
        }
        for mark in &self.marks {
            plugin += &format!(",at={:#x}", mark.address);
            if let Some(Argument { register, .. }) = mark.argument {
                plugin += &format!(":{register}");
            }
        }
        if let Some((_, view)) = &self.view {
            for (_, places) in &view.sequences {
                for index in 0..2 {
                    let address =
                        places.as_ref().map_or(u64::MAX, |places| places[index].0.address);
                    plugin += &format!(",at={address:#x}");
                }
            }
            plugin.extend(view.fields().iter().map(|field| format!(",{field}")));
            if let Some(memory) = self.memory() {
                let (start, bytes) = (memory.start, memory.end - memory.start);
                let file = quoted(&folder.path(MEMORY));
                plugin += &format!(",memory={file},range={start:#x}:{bytes}");
            }
        }
        if let Some(hertz) = self.emulated.qemu.systick.filter(|&hertz| hertz > 0) {
            plugin += &format!(",hertz={hertz}");
            if let Some(ratio) = self.emulated.qemu.reference {
                plugin += &format!(",reference={ratio}");
            }
        }
        if let Some(task) = &self.task {
            plugin += &format!(",task={:#x}", task.address);
        }
        plugin
    }

    /// The file that QEMU loads.
    fn file(&self) -> PathBuf {
        self.placed
            .as_ref()
            .map_or_else(|| self.image.path.clone(), |folder| folder.path(placed::FILE))
    }

    /// The command that runs the image with these options of the plugin, and the machine's first serial
    /// port connected so.
    pub(super) fn command(&self, options: &str, serial: &str) -> Result<Command> {
        let registers: String = self.registers.iter().map(|option| format!(",{option}")).collect();
        let plugin = format!("{},{options}{registers}", quoted(&self.machines.qemu_plugin()?));
        let mut semihosting = "enable=on,target=native".to_owned();
        for word in self.append.split(' ').filter(|word| !word.is_empty()) {
            semihosting += &format!(",arg={}", word.replace(',', ",,"));
        }
        let mut qemu = Command::new(self.emulated.program());
        if self.emulated.is_virt() {
            qemu.args(["-machine", &self.emulated.qemu.machine]);
            let firmware = self.firmware.as_ref();
            qemu.arg("-bios").arg(firmware.map_or(Path::new("none"), |firmware| &firmware.path));
        } else {
            qemu.args(self.emulated.arguments(None));
        }
        for (file, address) in &self.load {
            let file = quoted(&file.path);
            qemu.arg("-device").arg(format!("loader,file={file},addr={address:#x},force-raw=on"));
        }
        if let Some(disk) = &self.disk {
            let file = quoted(&disk.path);
            let drive = format!("file={file},if=none,format=raw,id=disk,snapshot=on");
            qemu.arg("-drive").arg(drive);
            qemu.args(["-device", "virtio-blk-device,drive=disk,bus=virtio-mmio-bus.0"]);
        }
        qemu.args(["-icount", "shift=0,sleep=off,align=off"])
            .args(["-rtc", "base=1970-01-01T00:00:00,clock=vm"])
            .args(["-display", "none", "-monitor", "none", "-serial", serial, "-parallel", "null"])
            .args(["-semihosting-config", &semihosting, "-plugin", &plugin, "-kernel"])
            .arg(self.file());
        Ok(qemu)
    }
}
