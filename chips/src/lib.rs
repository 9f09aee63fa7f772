//! The table of chips, and of the cores that the bench board simulates. `machines.toml` has the rows.
//!
//! The crate knows no kernel and no experiment, and runs nothing: the lab, the builders of images and
//! the images' build scripts read here where a chip's memory is and how it is emulated.

#![warn(missing_docs)]

mod devices;

use std::{collections::BTreeMap, fmt::Write as _, ops::Range};

use serde::Deserialize;

pub use self::devices::{Bank, Device, Devices, Kind};

/// The table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The chips, in the order in which machines are listed.
    #[serde(rename = "chip")]
    pub chips: Vec<Chip>,
    /// The cores of the bench board.
    #[serde(rename = "core")]
    pub cores: Vec<Core>,
    /// The chips whose time is modelled.
    #[serde(rename = "part")]
    pub parts: Vec<Part>,
    /// The registers that QEMU's machines lack.
    #[serde(rename = "bank")]
    pub banks: Vec<Bank>,
    /// The devices that QEMU's machines lack, or have without interrupts.
    #[serde(rename = "devices")]
    pub devices: Vec<Devices>,
}

/// An emulated chip.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chip {
    /// The machine's name in a target.
    pub name: String,
    /// The manufacturer's name of the chip, or the board's.
    pub part: String,
    /// The processor.
    pub core: String,
    /// The compiler's target. Chips with [`sources`](Self::sources) have different ones.
    pub triple: String,
    /// The folder of `ports/firmware/chips` with the chip's crate; `None` if the repository has no
    /// images for the chip.
    pub sources: Option<String>,
    /// The value of `cfg(timers)`, where chips that share their sources differ in timers.
    pub timers: Option<String>,
    /// How marks of kernels in C read the clock; `None` if the kit has no library for the chip.
    pub kit: Option<Clock>,
    /// How kernels in C are compiled; `None` if the repository has no images of such kernels for the
    /// chip.
    pub c: Option<C>,
    /// Targets may name the chip: images of the repository or of the user's run on it.
    #[serde(default = "yes")]
    pub is_target: bool,
    /// The kernel runs in supervisor mode: a page of code in machine mode precedes the image.
    #[serde(default)]
    pub in_supervisor_mode: bool,
    /// The memory that holds code.
    pub flash: Memory,
    /// The memory that holds data; `None` if the repository has no images for the chip.
    pub ram: Option<Memory>,
    /// The highest rates of the core's clock and of the buses' clocks, in Hz, by their names.
    #[serde(default)]
    pub limits: BTreeMap<String, u64>,
    /// The options of QEMU's plugin that locate the pins; `None` if no image drives pins.
    pub pins: Option<String>,
    /// Registers of clocks and counters whose answer in QEMU is known.
    #[serde(default)]
    pub registers: Vec<Register>,
    /// QEMU's options.
    pub qemu: Qemu,
    /// How tandem's own images are tested; `None` if they are not built for the chip.
    pub tandem: Option<Tandem>,
}

fn yes() -> bool {
    true
}

/// How marks of kernels in C read the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Marks load a register.
    Register,
    /// Marks read the processor's counter of cycles.
    Counter,
}

/// How kernels in C are compiled for a chip.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct C {
    /// The compiler's options for the processor.
    pub options: Vec<String>,
    /// The address of the register that marks load, for [`Clock::Register`].
    pub counter: Option<u64>,
    /// The folder of FreeRTOS's port, then further folders with headers, relative to FreeRTOS's kernel;
    /// empty without a port.
    #[serde(default)]
    pub freertos: Vec<String>,
}

/// A memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The lowest address.
    pub origin: u64,
    /// The size in KiB.
    pub kib: u64,
    /// The rate of the core's clock for which each further wait state suffices, in Hz; `None` if the
    /// memory has no wait states, or they are unknown.
    pub hertz_per_wait_state: Option<u64>,
}

/// A register, and its answer in QEMU.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Register {
    /// The name in the reference manual.
    pub name: String,
    /// The physical address.
    pub address: u64,
    /// The value after a reset; `None` if an access is a fault.
    pub reads: Option<u32>,
}

/// QEMU's options for a chip.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Qemu {
    /// QEMU's name of the machine.
    pub machine: String,
    /// The value of `-cpu`; `None` for the machine's own.
    pub cpu: Option<String>,
    #[serde(default)]
    options: Vec<String>,
    /// The time that an instruction takes: 2 to this power, in ns. A little longer than a tick of
    /// the timers, unless that is 1 ns.
    #[serde(default)]
    pub shift: u32,
    /// The rate of the processor's clock in QEMU, by which SysTick counts, in Hz; 0 without a
    /// SysTick. `None` if unmodified images cannot be observed on the machine.
    pub systick: Option<u64>,
    /// Cycles of that clock in one of SysTick's reference clock; `None` for an STM32's.
    pub reference: Option<u64>,
}

/// How tandem's own images are built and tested on a chip.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tandem {
    /// The value of `cfg(chip)`: the module of `tandem/firmware/src/board` with the timers.
    pub board: String,
    /// The full test runs all images. On other chips it runs the hard ones, and the long test runs
    /// all.
    #[serde(default)]
    pub is_main: bool,
    /// The value of `-cpu` in the tests, where it is not the targets'.
    pub cpu: Option<String>,
    /// A feature that selects the chip among the chips of its target.
    pub feature: Option<String>,
    /// The compiler's flags.
    #[serde(default)]
    pub flags: String,
    /// Features of further builds, which the long test alone runs.
    #[serde(default)]
    pub variants: Vec<String>,
    /// Images that do not apply.
    #[serde(default)]
    pub without: Vec<String>,
}

/// A core that the bench board simulates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// The machine's name in a target, and the bench board's feature.
    pub name: String,
    /// The chip whose images run on the core.
    pub chip: String,
    /// How to read the figures of an image that has no remark of its own.
    pub remark: String,
    /// The names of the board's parameters.
    pub parameters: Vec<String>,
    /// The core's `satp` keeps no identifiers of address spaces (ASIDs).
    #[serde(default)]
    pub lacks_asids: bool,
    /// The board with the core takes minutes to build: in the long test alone.
    #[serde(default)]
    pub is_large: bool,
}

/// A chip whose time is modelled: a core with its flash.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The name, in small letters.
    pub name: String,
    /// The core, by its name in the model.
    pub core: String,
    /// The cores of emulated chips whose images the chip runs.
    pub runs: Vec<String>,
    /// The highest rate of the core's clock, in Hz.
    pub hertz: u64,
    /// The lowest rate of the core's clock, in Hz; 1 MHz unless the chip has one rate alone.
    #[serde(default = "megahertz")]
    pub lowest: u64,
    /// The memory that holds code.
    pub flash: PartFlash,
    /// The manual and the table with the wait states.
    pub source: String,
    /// The measurements that lie within the model's bounds.
    #[serde(default)]
    pub compared: Compared,
}

/// Measurements with which the bounds of a core's model were compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compared {
    /// None.
    #[default]
    Nothing,
    /// Published ones of chips with this core.
    Chips,
    /// The cycles of the core's own logic on the bench board, by a test.
    Logic,
}

/// The flash of a chip whose time is modelled.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartFlash {
    /// The lowest address.
    pub origin: u64,
    /// The size in KiB.
    pub kib: u64,
    /// The rate of the core's clock for which each further wait state suffices, in Hz; `None` if the
    /// wait states are `wait_states` at every rate.
    pub hertz_per_wait_state: Option<u64>,
    /// See `hertz_per_wait_state`.
    #[serde(default)]
    pub wait_states: u64,
    /// The bytes of a read, a power of two; `None` if a read is a line.
    pub read: Option<u32>,
    /// The bytes of a line, a power of two, of at most eight reads.
    pub line: u32,
    /// The lines of the cache of instructions; 0 if there is none.
    pub instruction_lines: u32,
    /// The lines of the cache of data; 0 if there is none.
    pub data_lines: u32,
}

impl Part {
    /// The wait states that the flash needs at that rate, which is not 0.
    pub fn wait_states(&self, hertz: u64) -> u64 {
        let by_rate = self.flash.hertz_per_wait_state.map(|each| hertz.div_ceil(each) - 1);
        by_rate.unwrap_or(self.flash.wait_states)
    }
}

fn megahertz() -> u64 {
    1_000_000
}

/// Bytes of the code in machine mode, which precedes an image in supervisor mode.
const MACHINE_MODE: u64 = 4096;

impl Table {
    /// Reads the table.
    ///
    /// # Panics
    /// If `machines.toml` is not of this form; a test holds it.
    pub fn read() -> Self {
        toml::from_str(include_str!("../machines.toml")).expect("machines.toml is a table of chips")
    }

    /// The chip of that name.
    pub fn chip(&self, name: &str) -> Option<&Chip> {
        self.chips.iter().find(|chip| chip.name == name)
    }

    /// The chip whose images the compiler's target makes.
    pub fn with_images(&self, triple: &str) -> Option<&Chip> {
        self.chips.iter().find(|chip| chip.triple == triple && chip.sources.is_some())
    }

    /// The chips that targets may name.
    pub fn targets(&self) -> impl Iterator<Item = &Chip> + Clone {
        self.chips.iter().filter(|chip| chip.is_target)
    }

    /// The machines that run a chip's images: the chip itself, then cores of the bench board.
    pub fn machines<'a>(&'a self, chip: &'a Chip) -> impl Iterator<Item = &'a str> {
        let cores = self.cores.iter().filter(|core| core.chip == chip.name);
        [&*chip.name].into_iter().chain(cores.map(|core| &*core.name))
    }
}

impl Chip {
    /// The instruction set: `arm`, `riscv32` or `riscv64`.
    pub fn architecture(&self) -> &'static str {
        let known = ["riscv32", "riscv64"];
        known.into_iter().find(|name| self.triple.starts_with(name)).unwrap_or("arm")
    }

    /// The addresses of the memory that holds code.
    pub fn code(&self) -> Range<u64> {
        self.flash.origin..self.flash.origin + 1024 * self.flash.kib
    }

    /// A firmware in machine mode can run before an image (`-bios`), and the machine has sockets for
    /// virtio's disks.
    pub fn is_virt(&self) -> bool {
        self.qemu.machine == "virt"
    }

    /// QEMU's program.
    pub fn program(&self) -> &'static str {
        match self.architecture() {
            "riscv32" => "qemu-system-riscv32",
            "riscv64" => "qemu-system-riscv64",
            _ => "qemu-system-arm",
        }
    }

    /// Debian's package with QEMU's program.
    pub fn package(&self) -> &'static str {
        if self.architecture() == "arm" { "qemu-system-arm" } else { "qemu-system-misc" }
    }

    /// Debian's C compiler for the chip.
    pub fn c_compiler(&self) -> &'static str {
        if self.architecture() == "arm" { "arm-none-eabi-gcc" } else { "riscv64-unknown-elf-gcc" }
    }

    /// QEMU's arguments that choose the machine and the processor: `cpu`, or the targets' one.
    pub fn arguments<'a>(&'a self, cpu: Option<&'a str>) -> impl Iterator<Item = &'a str> {
        let cpu = cpu.or(self.qemu.cpu.as_deref());
        let cpu = cpu.into_iter().flat_map(|cpu| ["-cpu", cpu]);
        let options = self.qemu.options.iter().map(String::as_str);
        ["-machine", &self.qemu.machine].into_iter().chain(options).chain(cpu)
    }

    /// The number of instructions in a second of the emulated time.
    pub fn hertz(&self) -> u64 {
        1_000_000_000 >> self.qemu.shift
    }

    /// The linker script `memory.x`: the memories FLASH and RAM of an image. On RISC-V it also gives
    /// the regions that `riscv-rt` places sections in.
    ///
    /// # Panics
    /// If the row has no `ram`.
    pub fn linker_script(&self) -> String {
        let ram = self.ram.expect("a chip with images has RAM");
        let before = if self.in_supervisor_mode { MACHINE_MODE } else { 0 };
        let (origin, length) = (self.flash.origin + before, 1024 * self.flash.kib - before);
        let mut script = String::new();
        if self.in_supervisor_mode {
            script += "INCLUDE machine-mode.x\n";
        }
        script += &format!(
            "MEMORY\n{{\n  FLASH : ORIGIN = {origin:#x}, LENGTH = {length}\n  \
             RAM : ORIGIN = {:#x}, LENGTH = {}K\n}}\n",
            ram.origin, ram.kib
        );
        if self.architecture() != "arm" {
            for (region, memory) in REGIONS {
                writeln!(script, "REGION_ALIAS(\"REGION_{region}\", {memory});")
                    .expect("a string takes everything");
            }
        }
        script
    }
}

/// The regions of `riscv-rt`'s linker script, and their memories.
const REGIONS: [(&str, &str); 6] = [
    ("TEXT", "FLASH"),
    ("RODATA", "FLASH"),
    ("DATA", "RAM"),
    ("BSS", "RAM"),
    ("HEAP", "RAM"),
    ("STACK", "RAM"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_of_machines_and_triples_of_images_are_unique() {
        let table = Table::read();
        let chips = table.chips.iter().map(|chip| &*chip.name);
        let names: Vec<&str> = chips.chain(table.cores.iter().map(|core| &*core.name)).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        let with_images = table.chips.iter().filter(|chip| chip.sources.is_some());
        let triples: Vec<&str> = with_images.map(|chip| &*chip.triple).collect();
        assert_eq!(triples.iter().collect::<BTreeSet<_>>().len(), triples.len(), "{triples:?}");
    }

    #[test]
    fn a_chip_with_images_has_memory_and_every_core_a_chip_with_images() {
        let table = Table::read();
        for chip in table.chips.iter().filter(|chip| chip.sources.is_some()) {
            assert!(chip.linker_script().contains("RAM"), "{}", chip.name);
            assert!(chip.is_target, "{}", chip.name);
        }
        for core in &table.cores {
            let chip = table.chip(&core.chip).unwrap_or_else(|| panic!("{}: no chip", core.name));
            assert!(chip.sources.is_some(), "{}", core.name);
            assert!(table.machines(chip).any(|machine| machine == core.name));
        }
    }

    #[test]
    fn a_page_of_machine_mode_precedes_an_image_in_supervisor_mode() {
        let table = Table::read();
        let chip = table.with_images("riscv64imac-unknown-none-elf").unwrap();
        assert!(chip.linker_script().starts_with(
            "INCLUDE machine-mode.x\nMEMORY\n{\n  FLASH : ORIGIN = 0x80001000, LENGTH = 1044480\n"
        ));
        assert_eq!(chip.code(), 0x8000_0000..0x8010_0000);
    }

    #[test]
    fn the_processor_of_a_test_replaces_the_targets_one() {
        let table = Table::read();
        let chip = table.chip("qemu_riscv32").unwrap();
        let words = |cpu| chip.arguments(cpu).collect::<Vec<_>>().join(" ");
        assert_eq!(words(None), "-machine virt -bios none -m 256 -cpu rv32");
        assert_eq!(words(Some("rv64")), "-machine virt -bios none -m 256 -cpu rv64");
    }
}
