//! Options: each is `name=value`, the value numbers between colons.
//!
//! | option | meaning |
//! |---|---|
//! | `bank=ORIGIN:BYTES` | registers at these addresses; all read 0 after a reset |
//! | `reset=ADDRESS:VALUE` | a register reads this value after a reset |
//! | `follow=ADDRESS:BIT:ADDRESS:BIT` | the second bit reads as the first one |
//! | `ready=ADDRESS:BIT` | the bit always reads 1 |
//! | `answer=ADDRESS:VALUE` | a word that always reads this value |
//! | `clocks=ADDRESS:HERTZ` | the bank at this address is RCC of an STM32F2 or F4, with a crystal of this rate |
//! | `timer=NAME:ORIGIN:ENABLE:BIT:INTERRUPT:INTERRUPT:BITS:CHANNELS:REPEATS` | a timer; ENABLE and BIT are its clock in RCC; the interrupts of updates and compares; REPEATS is 1 for one with a repetition counter |
//! | `uart=NAME:ORIGIN:ENABLE:BIT:INTERRUPT` | a serial port |
//! | `gpio=NAME:ORIGIN:ENABLE:BIT:MODER:OSPEEDR:PUPDR` | a port of pins, with these registers after a reset |
//! | `exti=NAME:ORIGIN:SELECTION` | external interrupts; SELECTION is the address of SYSCFG_EXTICR1 |
//! | `phase=NAME:STEP:FIRST` | the timer NAME stands still for STEP ns after each update that raises its interrupt, and for FIRST ns after the first one |

use crate::{
    bank::Bank,
    chip::{Device, Kind, Peripherals},
    clocks::Gate,
    exti::Exti,
    gpio::Gpio,
    phases::Phases,
    timer::{Features, Timer},
    uart::Uart,
};

/// The names of the options.
const OPTIONS: [&str; 11] = [
    "bank", "reset", "follow", "ready", "answer", "clocks", "timer", "uart", "gpio", "exti",
    "phase",
];

/// Returns whether an option, as `name=value`, is of this crate.
pub fn is_option(option: &str) -> bool {
    option.split_once('=').is_some_and(|(name, _)| OPTIONS.contains(&name))
}

/// The number that a text is, in hexadecimal after `0x`.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Peripherals {
    /// Reads options; other ones are skipped.
    ///
    /// # Errors
    /// The message names an option that is not of its form.
    pub fn parse<'a>(options: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut chip = Self::default();
        let pairs = options.into_iter().filter_map(|option| option.split_once('='));
        let known = pairs.filter(|(name, _)| OPTIONS.contains(name));
        // The timer that a phase is of may be named later.
        let (phases, others): (Vec<_>, Vec<_>) = known.partition(|(name, _)| *name == "phase");
        for (name, value) in others.into_iter().chain(phases) {
            chip.add(name, value)
                .ok_or_else(|| format!("`{name}={value}`: no such register or device"))?;
        }
        chip.start();
        Ok(chip)
    }

    /// Adds the registers of an option; `None` if it is not of its form.
    fn add(&mut self, name: &str, value: &str) -> Option<()> {
        let is_device = ["timer", "uart", "gpio", "exti", "phase"].contains(&name);
        let (own, value) = if is_device { value.split_once(':')? } else { ("", value) };
        let numbers: Option<Vec<u32>> = value.split(':').map(number).collect();
        let gate =
            |enable: u32, bit: u32| (bit < 32).then_some(Gate { word: enable as usize / 4, bit });
        let (kind, origin, gate) = match (name, numbers?.as_slice()) {
            ("bank", &[origin, bytes]) if bytes <= 0x1_0000 => {
                self.banks.push(Bank::new(origin, bytes));
                return Some(());
            }
            ("answer", &[origin, value]) => {
                self.banks.push(Bank::constant(origin, value));
                return Some(());
            }
            ("clocks", &[address, crystal]) => {
                let bank = self.banks.iter().position(|bank| bank.origin == address)?;
                self.tree = Some((bank, crystal.into()));
                return Some(());
            }
            ("phase", &[step, first]) => {
                let is_named = |device: &&mut Device| device.name == own;
                let device = self.devices.iter_mut().find(is_named)?;
                let Kind::Timer { timer, .. } = &mut device.kind else { return None };
                timer.phases = Some(Phases::new(step, first));
                return Some(());
            }
            ("reset" | "ready" | "follow", numbers) => return self.add_to_bank(name, numbers),
            ("timer", &[origin, enable, bit, update, compare, bits, channels, repeats]) => {
                if ![16, 32].contains(&bits) || channels > 4 {
                    return None;
                }
                let (channels, repeats) = (channels as usize, repeats == 1);
                let timer = Timer::new(Features { bits, channels, repeats });
                let interrupts = [update, compare];
                (Kind::Timer { timer, interrupts }, origin, Some(gate(enable, bit)?))
            }
            ("uart", &[origin, enable, bit, interrupt]) => {
                (Kind::Uart { uart: Uart::new(), interrupt }, origin, Some(gate(enable, bit)?))
            }
            ("gpio", &[origin, enable, bit, mode, speed, pull]) => {
                (Kind::Gpio(Gpio::new([mode, speed, pull])), origin, Some(gate(enable, bit)?))
            }
            // EXTI has no clock of its own.
            ("exti", &[origin, selection]) => {
                (Kind::Exti { exti: Exti::default(), selection }, origin, None)
            }
            _ => return None,
        };
        self.devices.push(Device { name: own.to_owned(), origin, gate, kind });
        Some(())
    }

    fn add_to_bank(&mut self, name: &str, numbers: &[u32]) -> Option<()> {
        let &[address, number, ref rest @ ..] = numbers else { return None };
        let bank = self.banks.iter_mut().find(|bank| bank.has(address))?;
        let word = |address: u32| (address.wrapping_sub(bank.origin) / 4) as usize;
        match (name, rest) {
            ("reset", []) => bank.words[word(address)] = number,
            ("ready", []) if number < 32 => bank.set[word(address)] |= 1 << number,
            ("follow", &[to, bit]) if number < 32 && bit < 32 && bank.has(to) => {
                bank.follow.push(((word(address), number), (word(to), bit)));
            }
            _ => return None,
        }
        Some(())
    }
}
