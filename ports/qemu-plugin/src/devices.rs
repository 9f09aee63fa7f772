//! Registers of a chip that QEMU's machine does not have: clocks, power, flash. They keep the written
//! value, and ready bits follow their enables, so that the start-up code of a firmware goes on.
//!
//! | option | meaning |
//! |---|---|
//! | `bank=ORIGIN:BYTES` | registers at these addresses; all read 0 after a reset |
//! | `reset=ADDRESS:VALUE` | a register reads this value after a reset |
//! | `follow=ADDRESS:BIT:ADDRESS:BIT` | the second bit reads as the first one |
//! | `ready=ADDRESS:BIT` | the bit always reads 1 |
//! | `answer=ADDRESS:VALUE` | a word that always reads this value |
//!
//! The types of QEMU's functions for regions of memory are of QEMU 7.2, and a self-test before the first instruction refuses a QEMU in which they differ.

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    ptr,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use crate::{
    api::{self, Id},
    emulator::{Processor, function},
    give_up,
    settings::number,
};

/// Space for QEMU's `MemoryRegion`, which has 272 bytes in QEMU 7.2.
const REGION: usize = 4096;
/// The priority of a region over those that the machine has.
const ABOVE: c_int = 10;
const LITTLE_ENDIAN: c_int = 2;

/// A place in a bank: the number of the register, and of its bit.
type Place = (usize, u32);

/// A bank of registers.
#[derive(Debug, Default, PartialEq)]
struct Bank {
    origin: u32,
    words: Vec<u32>,
    /// The bits that always read 1.
    set: Vec<u32>,
    /// Bits, and the bits that read as they do.
    follow: Vec<(Place, Place)>,
    /// Stores change nothing.
    is_constant: bool,
}

impl Bank {
    fn has(&self, address: u32) -> bool {
        (address.wrapping_sub(self.origin) as usize) < 4 * self.words.len()
    }

    fn read(&self, word: usize) -> u32 {
        let Some(mut value) = self.words.get(word).copied() else { return 0 };
        for ((from, from_bit), (to, to_bit)) in &self.follow {
            if *to == word {
                let bit = self.words.get(*from).map_or(0, |word| word >> from_bit & 1);
                value = value & !(1 << to_bit) | bit << to_bit;
            }
        }
        value | self.set[word]
    }

    fn write(&mut self, word: usize, value: u32) {
        if let Some(own) = self.words.get_mut(word).filter(|_| !self.is_constant) {
            *own = value;
        }
    }
}

static BANKS: Mutex<Vec<Bank>> = Mutex::new(Vec::new());

fn banks() -> MutexGuard<'static, Vec<Bank>> {
    BANKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The names of the options.
const OPTIONS: [&str; 5] = ["bank", "reset", "follow", "ready", "answer"];

/// Returns whether an option is of this module.
pub fn is_option(argument: &str) -> bool {
    argument.split_once('=').is_some_and(|(name, _)| OPTIONS.contains(&name))
}

/// Reads the options, and has QEMU map the registers when the machine exists.
pub fn install(id: Id, arguments: &[String]) -> Result<(), String> {
    let parsed = parse(arguments)?;
    if !parsed.is_empty() {
        *banks() = parsed;
        api::on_processor(id, map);
    }
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Vec<Bank>, String> {
    let mut banks: Vec<Bank> = Vec::new();
    let pairs = arguments.iter().filter_map(|argument| argument.split_once('='));
    for (name, value) in pairs {
        let numbers: Vec<u32> = value.split(':').map_while(number).collect();
        let wrong = || format!("`{name}={value}`: see the plugin's page");
        match (name, numbers.as_slice()) {
            ("bank", &[origin, bytes]) => {
                let words = vec![0; bytes as usize / 4];
                banks.push(Bank { origin, set: words.clone(), words, ..Bank::default() });
            }
            ("answer", &[origin, value]) => {
                let (words, set) = (vec![value], vec![0]);
                banks.push(Bank { origin, words, set, is_constant: true, ..Bank::default() });
            }
            ("reset" | "ready" | "follow", &[address, number, ref rest @ ..]) => {
                let bank = banks.iter_mut().find(|bank| bank.has(address)).ok_or_else(wrong)?;
                let word = |address: u32| (address.wrapping_sub(bank.origin) / 4) as usize;
                match (name, rest) {
                    ("reset", []) => bank.words[word(address)] = number,
                    ("ready", []) if number < 32 => bank.set[word(address)] |= 1 << number,
                    ("follow", &[to, bit]) if number < 32 && bit < 32 && bank.has(to) => {
                        bank.follow.push(((word(address), number), (word(to), bit)));
                    }
                    _ => return Err(wrong()),
                }
            }
            (name, _) if OPTIONS.contains(&name) => return Err(wrong()),
            _ => {}
        }
    }
    Ok(banks)
}

/// QEMU's `MemoryRegionOps`.
#[repr(C)]
struct Operations {
    read: extern "C" fn(*mut c_void, u64, c_uint) -> u64,
    write: extern "C" fn(*mut c_void, u64, u64, c_uint),
    read_with_attributes: *const c_void,
    write_with_attributes: *const c_void,
    endianness: c_int,
    valid: Valid,
    implemented: Implemented,
}

#[repr(C)]
struct Valid {
    least: c_uint,
    most: c_uint,
    is_unaligned: bool,
    accepts: *const c_void,
}

#[repr(C)]
struct Implemented {
    least: c_uint,
    most: c_uint,
    is_unaligned: bool,
}

// SAFETY: all pointers are null, or of functions.
unsafe impl Sync for Operations {}

static OPERATIONS: Operations = Operations {
    read: on_read,
    write: on_write,
    read_with_attributes: ptr::null(),
    write_with_attributes: ptr::null(),
    endianness: LITTLE_ENDIAN,
    valid: Valid { least: 1, most: 4, is_unaligned: false, accepts: ptr::null() },
    implemented: Implemented { least: 4, most: 4, is_unaligned: false },
};

extern "C" fn on_read(bank: *mut c_void, offset: u64, _: c_uint) -> u64 {
    banks().get(bank.addr()).map_or(0, |bank| bank.read(offset as usize / 4).into())
}

extern "C" fn on_write(bank: *mut c_void, offset: u64, value: u64, _: c_uint) {
    if let Some(bank) = banks().get_mut(bank.addr()) {
        bank.write(offset as usize / 4, value as u32);
    }
}

type Init = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *const Operations,
    *mut c_void,
    *const c_char,
    u64,
);
type Add = unsafe extern "C" fn(*mut c_void, u64, *mut c_void, c_int);
type SystemMemory = unsafe extern "C" fn() -> *mut c_void;

/// Called by QEMU when the processor exists: maps the banks, once.
extern "C" fn map(_: Id, _: c_uint) {
    static ONCE: OnceLock<()> = OnceLock::new();
    const NAME: &CStr = c"chronoscope";
    ONCE.get_or_init(|| {
        let sizes: Vec<(u32, usize)> =
            banks().iter().map(|bank| (bank.origin, 4 * bank.words.len())).collect();
        // SAFETY: the functions have these types in QEMU 7.2 (include/exec/memory.h). Each region is
        // of zeroed memory that is never freed, larger than QEMU's type; the operations are a static;
        // the number of the bank stands for a pointer that QEMU hands back only. QEMU calls this on
        // the thread that builds the machine.
        let mapped: Result<(), String> = (|| unsafe {
            let init: Init = function(c"memory_region_init_io")?;
            let add: Add = function(c"memory_region_add_subregion_overlap")?;
            let memory: SystemMemory = function(c"get_system_memory")?;
            for (index, (origin, bytes)) in sizes.into_iter().enumerate() {
                let region = Box::leak(Box::new([0_u64; REGION / 8])).as_mut_ptr().cast();
                let bank = ptr::without_provenance_mut(index);
                init(
                    region,
                    ptr::null_mut(),
                    &raw const OPERATIONS,
                    bank,
                    NAME.as_ptr(),
                    bytes as u64,
                );
                add(memory(), origin.into(), region, ABOVE);
            }
            Ok(())
        })();
        mapped.unwrap_or_else(|error| give_up(&error));
    });
}

/// Ends QEMU unless each register reads its value after a reset. Call it before the first instruction.
pub fn check(processor: &Processor) {
    let expected: Vec<(u32, u32)> = banks()
        .iter()
        .flat_map(|bank| {
            (0..bank.words.len()).map(|word| (bank.origin + 4 * word as u32, bank.read(word)))
        })
        .collect();
    for (address, value) in expected {
        let [read] = processor.words(address.into());
        if read != value {
            give_up(&format!(
                "the register at {address:#x} reads {read:#x} in place of {value:#x}: use Debian's \
                 QEMU 7.2"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bank(options: &[&str]) -> Result<Vec<Bank>, String> {
        parse(&options.iter().map(|option| (*option).to_owned()).collect::<Vec<_>>())
    }

    /// STM32F4's RCC: HSEON is bit 16, HSERDY bit 17; SW is bits 0 and 1, SWS bits 2 and 3.
    #[test]
    fn ready_bits_follow_their_enables() {
        let rcc = [
            "bank=0x40023800:0x400",
            "reset=0x40023800:0x83",
            "follow=0x40023800:16:0x40023800:17",
        ];
        let mut banks =
            bank(&[&rcc[..], &["follow=0x40023808:1:0x40023808:3", "out=x"]].concat()).unwrap();
        let [rcc] = banks.as_mut_slice() else { panic!() };
        assert_eq!(rcc.read(0), 0x83);
        rcc.write(0, 0x1_0083);
        assert_eq!(rcc.read(0), 0x3_0083);
        rcc.write(0, 0x83 | 1 << 17);
        assert_eq!(rcc.read(0), 0x83, "a ready bit cannot be written");
        rcc.write(2, 0b10);
        assert_eq!((rcc.read(2), rcc.read(200), rcc.read(400)), (0b1010, 0, 0));
    }

    #[test]
    fn an_answer_is_constant_and_a_set_bit_stays() {
        let mut banks =
            bank(&["answer=0x50060800:7", "bank=0x40007000:8", "ready=0x40007004:14"]).unwrap();
        banks[0].write(0, 9);
        banks[1].write(1, 0);
        assert_eq!((banks[0].read(0), banks[1].read(1)), (7, 1 << 14));
    }

    #[test]
    fn wrong_options_are_refused() {
        for option in
            ["bank=0x40023800", "bank=x:4", "ready=0x40007004:14", "answer=1", "follow=1:2:3"]
        {
            assert!(bank(&[option]).unwrap_err().contains(option), "{option}");
        }
        assert!(bank(&["bank=0:8", "ready=4:32"]).is_err());
        assert!(bank(&["bank=0:8", "follow=0:1:8:1"]).is_err());
    }
}
