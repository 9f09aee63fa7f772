//! Registers and devices that QEMU's machines lack, and an observed firmware needs.

use serde::Deserialize;

use crate::Table;

/// A bank of registers of some chips, which an observed firmware's start-up code waits for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bank {
    /// The name in the reference manual.
    pub name: String,
    /// The chips that have it, by their names as [`Part`](crate::Part)s.
    pub parts: Vec<String>,
    /// The manual and its section.
    pub source: String,
    /// The lowest address.
    pub origin: u32,
    /// The size, a multiple of four.
    pub bytes: u32,
    /// Offsets, and the values after a reset; 0 elsewhere.
    #[serde(default)]
    pub reset: Vec<(u32, u32)>,
    /// Offsets and bits that always read 1.
    #[serde(default)]
    pub set: Vec<(u32, u32)>,
    /// Offset and bit of an enable, and of the ready bit that follows it.
    #[serde(default)]
    pub follow: Vec<(u32, u32, u32, u32)>,
    /// The bank has the tree of clocks, in the form of STM32F2 and F4.
    #[serde(default)]
    pub is_clock_tree: bool,
}

/// Devices of some chips, for an observed firmware. The crate `chronoscope-peripherals` has their
/// behaviour.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Devices {
    /// The chips that have them, by their names as [`Part`](crate::Part)s.
    pub parts: Vec<String>,
    /// The manual and its sections.
    pub source: String,
    /// The devices.
    pub list: Vec<Device>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Device {
    /// The name in the reference manual.
    pub name: String,
    /// The lowest address.
    pub origin: u32,
    /// The offset of the register of RCC that enables the clock, and its bit; `None` for a device that
    /// always has one.
    pub clock: Option<(u32, u32)>,
    /// The features of its kind.
    #[serde(flatten)]
    pub kind: Kind,
}

/// The kind of a device.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Kind {
    /// A timer.
    Timer {
        /// The number of the interrupt of updates, and of compares.
        interrupts: (u32, u32),
        /// The bits of the counter: 16 or 32.
        bits: u32,
        /// The compare channels, at most 4.
        channels: u32,
        /// A repetition counter divides the updates.
        #[serde(default)]
        repeats: bool,
    },
    /// A serial port.
    Uart {
        /// The number of the interrupt.
        interrupt: u32,
    },
    /// A port of pins.
    Gpio {
        /// MODER, OSPEEDR and PUPDR after a reset.
        #[serde(default)]
        reset: (u32, u32, u32),
    },
    /// External interrupts.
    Exti {
        /// The address of SYSCFG_EXTICR1.
        selection: u32,
    },
}

/// The bytes of a device's registers.
const DEVICE: u32 = 0x400;

impl Device {
    /// Returns whether the address is one of the device's registers.
    pub fn has(&self, address: u64) -> bool {
        let origin = u64::from(self.origin);
        (origin..origin + u64::from(DEVICE)).contains(&address)
    }

    /// The option of QEMU's plugin.
    fn option(&self) -> String {
        let (enable, bit) = self.clock.unwrap_or_default();
        let Self { name, origin, .. } = self;
        let place = format!("{name}:{origin:#x}:{enable:#x}:{bit}");
        match self.kind {
            Kind::Timer { interrupts: (update, compare), bits, channels, repeats } => {
                let repeats = u32::from(repeats);
                format!("timer={place}:{update}:{compare}:{bits}:{channels}:{repeats}")
            }
            Kind::Uart { interrupt } => format!("uart={place}:{interrupt}"),
            Kind::Gpio { reset: (mode, speed, pull) } => {
                format!("gpio={place}:{mode:#x}:{speed:#x}:{pull:#x}")
            }
            Kind::Exti { selection } => format!("exti={name}:{origin:#x}:{selection:#x}"),
        }
    }
}

impl Bank {
    /// Returns whether the address is one of the bank's registers.
    pub fn has(&self, address: u64) -> bool {
        let origin = u64::from(self.origin);
        (origin..origin + u64::from(self.bytes)).contains(&address)
    }

    /// The options of QEMU's plugin, with the crystal's rate in Hz.
    fn options(&self, crystal: u32) -> Vec<String> {
        let at = |offset: u32| format!("{:#x}", self.origin + offset);
        let reset =
            self.reset.iter().map(|(offset, value)| format!("reset={}:{value:#x}", at(*offset)));
        let set = self.set.iter().map(|(offset, bit)| format!("ready={}:{bit}", at(*offset)));
        let follow = self.follow.iter().map(|(offset, bit, to, ready)| {
            format!("follow={}:{bit}:{}:{ready}", at(*offset), at(*to))
        });
        let bank = format!("bank={:#x}:{:#x}", self.origin, self.bytes);
        let clocks = self.is_clock_tree.then(|| format!("clocks={:#x}:{crystal}", self.origin));
        [bank].into_iter().chain(reset).chain(set).chain(follow).chain(clocks).collect()
    }
}

impl Table {
    /// The devices of a part, by its name, in the order of the table.
    pub fn devices<'a>(&'a self, part: &'a str) -> impl Iterator<Item = &'a Device> {
        let has = move |devices: &&Devices| devices.parts.iter().any(|name| name == part);
        self.devices.iter().filter(has).flat_map(|devices| &devices.list)
    }

    /// The options of QEMU's plugin for the registers and devices of a part, by its name, with a crystal
    /// of this rate in Hz.
    pub fn registers(&self, part: &str, crystal: u32) -> Vec<String> {
        let has = |bank: &&Bank| bank.parts.iter().any(|name| name == part);
        let banks = self.banks.iter().filter(has).flat_map(|bank| bank.options(crystal));
        banks.chain(self.devices(part).map(Device::option)).collect()
    }

    /// The parts that have a register at an address, and the name of its bank or device.
    pub fn with_register(&self, address: u64) -> impl Iterator<Item = (&[String], &str)> {
        let banks = self.banks.iter().filter(move |bank| bank.has(address));
        let banks = banks.map(|bank| (&*bank.parts, &*bank.name));
        let devices = self.devices.iter().flat_map(move |devices| {
            let having = devices.list.iter().filter(move |device| device.has(address));
            having.map(|device| (&*devices.parts, &*device.name))
        });
        banks.chain(devices)
    }
}
