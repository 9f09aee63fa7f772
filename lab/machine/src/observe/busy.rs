//! The place at which an image without samples spends its time: the function with the most instructions,
//! and on a Cortex-M the device's register that it waits for.

use std::{cmp::Reverse, collections::BTreeMap};

use chronoscope_chips::Table;
use chronoscope_cycles::{Class, Instruction};

use super::{events::Figures, image::Image};

/// The least share of all instructions that a block of code has in which the image may wait.
const WAITING: f64 = 0.05;

/// The instructions of a block that are looked at.
const MOST_INSTRUCTIONS: u64 = 8;

/// The addresses of a Cortex-M's devices.
const DEVICES: std::ops::Range<u64> = 0x4000_0000..0x6000_0000;

/// The sentence; `None` if nothing is known. `core` is the emulated core, `chip` the chip that the user
/// names.
pub fn sentence(
    image: &Image,
    figures: &Figures,
    table: &Table,
    core: &str,
    chip: Option<&str>,
) -> Option<String> {
    let (hottest, _) = *figures.busy.first()?;
    let symbols = image.symbols().ok();
    let function = |at: u64| {
        symbols.as_ref().map_or_else(|| format!("{at:#x}"), |symbols| symbols.function(at))
    };
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (at, instructions) in &figures.busy {
        *counts.entry(function(*at)).or_default() += instructions;
    }
    let (name, most) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let share = 100.0 * most as f64 / figures.all_blocks.max(1) as f64;
    let place = if function(hottest) == name {
        symbols.as_ref().map_or(name.clone(), |symbols| symbols.place(hottest))
    } else {
        name
    };
    let waits = waits_for(image, figures).map_or_else(String::new, |address| {
        format!(", waiting for {address:#x}, {}", remedy(address, table, core, chip))
    });
    Some(format!("{share:.0} % of the instructions: {place}{waits}"))
}

/// The address of the device's register that the busiest code loads from.
fn waits_for(image: &Image, figures: &Figures) -> Option<u64> {
    let least = WAITING * figures.all_blocks as f64;
    let mut blocks: Vec<&(u64, u64)> = figures.busy.iter().collect();
    blocks.sort_by_key(|(_, instructions)| Reverse(*instructions));
    let busy = blocks.into_iter().take_while(|(_, instructions)| *instructions as f64 >= least);
    busy.filter_map(|(at, _)| loaded(image, *at, &figures.registers)).next()
}

/// The device's address that one of the first instructions from `at` on loads from, by the registers.
fn loaded(image: &Image, mut at: u64, registers: &[u64]) -> Option<u64> {
    for _ in 0..MOST_INSTRUCTIONS {
        let word = image.word(at)?;
        let instruction = Instruction::decode(word).ok()?;
        let address = base_and_offset(word, instruction)
            .and_then(|(base, offset)| registers.get(base).map(|value| value.wrapping_add(offset)));
        if let Some(address) = address.filter(|address| DEVICES.contains(address)) {
            return Some(address & !3);
        }
        at += u64::from(instruction.bytes());
    }
    None
}

/// The base register and the offset of a load.
fn base_and_offset(word: u32, instruction: Instruction) -> Option<(usize, u64)> {
    if !matches!(instruction.class, Class::Load { is_literal: false, .. }) {
        return None;
    }
    let (first, second) = (word & 0xffff, word >> 16);
    let short = |scale: u32| ((first >> 3 & 7) as usize, u64::from((first >> 6 & 31) * scale));
    match first >> 11 {
        0b01101 => Some(short(4)),
        0b01111 => Some(short(1)),
        0b10001 => Some(short(2)),
        // `ldr.w`, `ldrh.w`, `ldrb.w` with an offset of 12 bits.
        _ if first & 0xff90 == 0xf890 => Some(((first & 15) as usize, u64::from(second & 0xfff))),
        // With a negative offset of 8 bits.
        _ if first & 0xff90 == 0xf810 && second & 0xf00 == 0xc00 => {
            let offset = u64::from(second & 0xff).wrapping_neg();
            Some(((first & 15) as usize, offset))
        }
        _ => None,
    }
}

/// The device with the register, or the flag that makes it answer. `chip` is the chip that the user names.
fn remedy(address: u64, table: &Table, core: &str, chip: Option<&str>) -> String {
    let mut having: Vec<(&[String], &str)> = table.with_register(address).collect();
    if let Some(chip) = chip {
        having.retain(|(parts, _)| parts.iter().any(|part| part == chip));
        return match having.first() {
            Some((_, name)) => format!("a register of {name}"),
            None => format!("which no device answers: --answer {address:#x}=VALUE"),
        };
    }
    let runs = |name: &&String| {
        table
            .parts
            .iter()
            .any(|part| part.name == **name && part.runs.iter().any(|one| one == core))
    };
    match having.into_iter().flat_map(|(parts, _)| parts).find(runs) {
        Some(part) => format!("which --chip {part} answers"),
        None => format!("which no device answers: --answer {address:#x}=VALUE"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_s_address_is_its_base_and_offset() {
        // ldr r1, [r0]; ldr r1, [r2, #8]; ldrb r3, [r4, #5]; ldr.w r1, [r0, #2048]; adds r0, #1
        for (word, expected) in [
            (0x6801, Some((0, 0))),
            (0x6891, Some((2, 8))),
            (0x7963, Some((4, 5))),
            (0x1800_f8d0, Some((0, 2048))),
            (0x3001, None),
        ] {
            let found = base_and_offset(word, Instruction::decode(word).unwrap());
            assert_eq!(found, expected, "{word:#x}");
        }
    }

    #[test]
    fn the_remedy_is_a_chip_with_the_register_or_an_answer() {
        let table = Table::read();
        let remedy = |address: u64, core: &str| remedy(address, &table, core, None);
        assert_eq!(remedy(0x4002_3808, "Cortex-M4F"), "which --chip stm32f401 answers");
        assert_eq!(remedy(0x4002_3808, "Cortex-M3"), "which --chip stm32f205 answers");
        assert_eq!(remedy(0x4000_1010, "Cortex-M4F"), "which --chip stm32f405 answers");
        assert!(remedy(0x5006_0800, "Cortex-M4F").contains("--answer 0x50060800=VALUE"));
    }

    #[test]
    fn a_chip_s_own_register_has_its_device_s_name() {
        let remedy = |address: u64| super::remedy(address, &Table::read(), "", Some("stm32f401"));
        assert_eq!(remedy(0x4001_1000), "a register of USART1");
        // STM32F401 has no TIM6.
        assert!(remedy(0x4000_1010).contains("--answer 0x40001010=VALUE"));
    }
}
