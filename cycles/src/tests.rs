//! Each rule with its source, and random programs of known cost.

extern crate std;

use std::vec::Vec;

use crate::{
    Access, Cause, Class, Core, Cost, Flash, Instruction, M0, M0_PLUS, M3, M4, Model, Next, Step,
    Sum,
};

/// The least, estimated and greatest cycles.
type Bounds = (u64, f64, u64);

const FLASH: Flash = Flash {
    origin: 0x0800_0000,
    bytes: 1 << 20,
    wait_states: 0,
    read: 4,
    line: 4,
    instruction_lines: 64,
    data_lines: 8,
};

/// The code of instructions, as the assembler gives it: the first half-word in the low bits.
mod code {
    pub const ADDS_R0_1: u32 = 0x3001;
    pub const NOP: u32 = 0xbf00;
    pub const B_BACK: u32 = 0xe7fc;
    pub const BEQ: u32 = 0xd001;
    pub const BL: u32 = 0xf801_f000;
    pub const BX_LR: u32 = 0x4770;
    pub const LDR_R0_R1: u32 = 0x6808;
    pub const LDR_R2_R3: u32 = 0x681a;
    pub const LDR_R2_R0: u32 = 0x6802;
    pub const LDR_LITERAL: u32 = 0x4801;
    pub const STR_R0_R1: u32 = 0x6008;
    pub const STR_R0_R1_R2: u32 = 0x5088;
    pub const PUSH_4: u32 = 0xb470;
    pub const PUSH_R4_R5_R6_LR: u32 = 0xb570;
    pub const POP_R4_PC: u32 = 0xbd10;
    pub const LDRD: u32 = 0x0100_e9d2;
    pub const UDIV: u32 = 0xf0f1_fbb0;
    pub const MLA: u32 = 0x3002_fb01;
    pub const UMULL: u32 = 0x0102_fba3;
    pub const UMLAL: u32 = 0x0102_fbe3;
    pub const MULS: u32 = 0x4348;
    pub const MRS: u32 = 0x8011_f3ef;
    pub const MSR_BASEPRI: u32 = 0x8811_f380;
    pub const CPSID: u32 = 0xb672;
    pub const ISB: u32 = 0x8f6f_f3bf;
    pub const DSB: u32 = 0x8f4f_f3bf;
    pub const IT_EQ: u32 = 0xbf08;
    pub const ITTE_EQ: u32 = 0xbf06;
    pub const TBB: u32 = 0xf000_e8df;
    pub const LDREX: u32 = 0x0f00_e851;
    pub const VLDR_S0: u32 = 0x0a00_ed90;
    pub const VLDR_D0: u32 = 0x0b00_ed90;
    pub const VPUSH_D8_D15: u32 = 0x8b10_ed2d;
    pub const VMLA: u32 = 0x0a81_ee00;
    pub const VDIV: u32 = 0x0a81_ee80;
    pub const VADD: u32 = 0x0a81_ee30;
    pub const VSQRT: u32 = 0x0ac0_eeb1;
}

fn decode(word: u32) -> Instruction {
    Instruction::decode(word).unwrap()
}

/// The cycles of instructions in a row, from an address on.
fn straight(core: &'static Core, flash: Flash, words: &[u32]) -> Sum {
    let mut model = Model::new(core, flash);
    let mut at = 0x0800_0100;
    for word in words {
        let instruction = decode(*word);
        let next = at + instruction.bytes();
        let access =
            if instruction.accesses_memory() { Access::To(0x2000_0000) } else { Access::None };
        let next_step = Next::At(next);
        model.step(&Step { at, instruction, access, next: next_step, straddles: false });
        at = next;
    }
    *model.sum()
}

fn bounds(sum: &Sum) -> Bounds {
    (sum.least, sum.estimate(), sum.most)
}

/// The cycles of the last of these instructions on a core without wait states.
fn last(core: &'static Core, words: &[u32]) -> Bounds {
    let before = straight(core, FLASH, &words[..words.len() - 1]);
    bounds(&(straight(core, FLASH, words) - before))
}

/// The cycles of one instruction with that instruction after it.
fn going(core: &'static Core, word: u32, next: Next, straddles: bool) -> Bounds {
    let mut model = Model::new(core, FLASH);
    let (instruction, access) = (decode(word), Access::None);
    model.step(&Step { at: 0x0800_0100, instruction, access, next, straddles });
    bounds(model.sum())
}

/// DDI 0439B, table 3-1 and section 3.3.3.
#[test]
fn the_m4_has_the_cycles_of_its_manual() {
    let rules: [(&[u32], Bounds); 25] = [
        (&[code::ADDS_R0_1], (1, 1.0, 1)),
        (&[code::NOP], (1, 1.0, 1)),
        (&[code::LDR_R0_R1], (2, 2.0, 2)),
        (&[code::LDR_R0_R1, code::LDR_R2_R3], (1, 1.0, 2)),
        (&[code::LDR_R0_R1, code::LDR_R2_R0], (2, 2.0, 2)),
        (&[code::STR_R0_R1, code::LDR_R2_R3], (2, 2.0, 3)),
        (&[code::STR_R0_R1], (1, 1.0, 2)),
        (&[code::STR_R0_R1_R2], (2, 2.0, 2)),
        (&[code::LDR_R2_R3, code::STR_R0_R1_R2], (1, 1.0, 2)),
        (&[code::PUSH_4], (4, 4.0, 4)),
        (&[code::PUSH_R4_R5_R6_LR], (5, 5.0, 5)),
        (&[code::LDRD], (3, 3.0, 3)),
        (&[code::UDIV], (2, 6.0, 12)),
        (&[code::MLA], (1, 1.0, 1)),
        (&[code::UMLAL], (1, 1.0, 1)),
        (&[code::MRS], (1, 1.0, 2)),
        (&[code::MSR_BASEPRI], (1, 2.0, 2)),
        (&[code::CPSID], (1, 1.0, 2)),
        (&[code::ISB], (2, 2.0, 4)),
        (&[code::DSB], (1, 1.0, 4)),
        (&[code::ADDS_R0_1, code::IT_EQ], (0, 0.0, 1)),
        (&[code::MLA, code::IT_EQ], (0, 1.0, 1)),
        (&[code::LDREX], (2, 2.0, 2)),
        (&[code::BEQ], (1, 1.0, 1)),
        (&[code::POP_R4_PC], (3, 3.0, 3)),
    ];
    for (words, cycles) in rules {
        assert_eq!(last(&M4, words), cycles, "{words:x?}");
    }
}

/// DDI 0439B, table 7-1.
#[test]
fn the_floating_point_unit_has_the_cycles_of_its_manual() {
    for (word, cycles) in [
        (code::VLDR_S0, (2, 2.0, 2)),
        (code::VLDR_D0, (3, 3.0, 3)),
        (code::VPUSH_D8_D15, (17, 17.0, 17)),
        (code::VADD, (1, 1.5, 2)),
        (code::VMLA, (3, 3.0, 4)),
        (code::VDIV, (14, 14.0, 15)),
        (code::VSQRT, (14, 14.0, 15)),
    ] {
        assert_eq!(last(&M4, &[word]), cycles, "{word:x}");
    }
}

/// A taken branch refills the pipeline in 1 to 3 cycles, and in 3 if its target straddles words.
#[test]
fn a_taken_branch_refills_the_pipeline() {
    let there = Next::At(0x0800_0200);
    assert_eq!(going(&M4, code::B_BACK, there, false), (2, 3.0, 4));
    assert_eq!(going(&M4, code::BL, there, true), (2, 4.0, 4));
    assert_eq!(going(&M4, code::BEQ, Next::At(0x0800_0102), false), (1, 1.0, 1));
    assert_eq!(going(&M4, code::TBB, there, false), (3, 4.0, 5));
    assert_eq!(going(&M4, code::POP_R4_PC, there, false), (4, 5.0, 6));
}

/// DDI 0337H, table 18-1; DDI 0432C and DDI 0484C, tables 3-1.
#[test]
fn the_other_cores_have_the_cycles_of_their_manuals() {
    let there = Next::At(0x0800_0200);
    assert_eq!(last(&M3, &[code::MLA]), (2, 2.0, 2));
    assert_eq!(last(&M3, &[code::UMULL]), (3, 4.0, 5));
    assert_eq!(last(&M3, &[code::UMLAL]), (4, 5.0, 7));
    for (core, branch, link, pop, system) in [(&M0, 3, 4, 5, 4), (&M0_PLUS, 2, 3, 4, 3)] {
        let exactly = |cycles: u64| (cycles, cycles as f64, cycles);
        assert_eq!(going(core, code::B_BACK, there, false), exactly(branch));
        assert_eq!(going(core, code::BX_LR, there, false), exactly(branch));
        assert_eq!(going(core, code::BL, there, false), exactly(link));
        assert_eq!(going(core, code::POP_R4_PC, there, false), exactly(pop));
        assert_eq!(last(core, &[code::MRS]), exactly(system));
        assert_eq!(last(core, &[code::LDR_R0_R1, code::LDR_R2_R3]), exactly(2));
        assert_eq!(last(core, &[code::MULS]), (1, 1.0, 32));
        assert_eq!(going(core, code::BEQ, Next::At(0x0800_0102), false), exactly(1));
    }
}

/// 12 cycles to a handler, 10 back, 6 from one to the next; 17 more for a live frame of floats, and
/// the work of the instruction that was given up.
#[test]
fn exceptions_cost_their_frames() {
    let entry = |has_float| Next::Entry { has_float };
    assert_eq!(going(&M4, code::ADDS_R0_1, entry(false), false), (13, 13.0, 15));
    assert_eq!(going(&M4, code::ADDS_R0_1, entry(true), false), (13, 13.0, 32));
    assert_eq!(going(&M4, code::PUSH_4, entry(false), false), (16, 16.0, 20));
    let back = Next::Return { has_float: false };
    assert_eq!(going(&M4, code::BX_LR, back, false), (11, 11.0, 13));
    assert_eq!(going(&M4, code::BX_LR, Next::Chain, false), (7, 7.0, 10));
}

#[test]
fn a_skipped_load_takes_one_cycle_and_an_unknown_one_either() {
    let under = |access| {
        let mut model = Model::new(&M4, FLASH);
        let mut step = |at, word, access| {
            let instruction = decode(word);
            let next = Next::At(at + instruction.bytes());
            model.step(&Step { at, instruction, access, next, straddles: false });
            *model.sum()
        };
        let before = step(0x0800_0100, code::IT_EQ, Access::None);
        bounds(&(step(0x0800_0102, code::LDR_R0_R1, access) - before))
    };
    assert_eq!(under(Access::None), (1, 1.0, 1));
    assert_eq!(under(Access::To(0x2000_0000)), (2, 2.0, 2));
    assert_eq!(under(Access::Unknown), (1, 2.0, 2));
}

/// A handler runs inside the instructions that an IT instruction makes conditional, and its own are
/// not.
#[test]
fn an_exception_keeps_the_conditions_of_what_it_interrupts() {
    let mut model = Model::new(&M4, FLASH);
    let mut step = |at: u32, word, access, next| {
        let before = *model.sum();
        model.step(&Step { at, instruction: decode(word), access, next, straddles: false });
        bounds(&(*model.sum() - before))
    };
    let none = Access::None;
    step(0x0800_0100, code::ITTE_EQ, none, Next::At(0x0800_0102));
    step(0x0800_0102, code::ADDS_R0_1, none, Next::Entry { has_float: false });
    let in_handler = step(0x0800_0300, code::LDR_R0_R1, none, Next::At(0x0800_0302));
    assert_eq!(in_handler, (2, 2.0, 2));
    step(0x0800_0302, code::BX_LR, none, Next::Return { has_float: false });
    let after = step(0x0800_0104, code::LDR_R0_R1, none, Next::At(0x0800_0106));
    assert_eq!(after, (1, 1.0, 1));
}

/// A line of the flash costs its wait states once, less if it follows the line before.
#[test]
fn flash_stalls_where_a_line_is_new() {
    let flash = Flash { wait_states: 2, ..FLASH };
    // Sixteen narrow instructions are two lines; the first one of all follows nothing.
    let sum = straight(&M4, flash, &[code::ADDS_R0_1; 16]);
    assert_eq!(bounds(&sum), (18, 18.0, 20));
    assert_eq!(sum.width[Cause::Flash as usize], 2);
    let mut model = Model::new(&M4, flash);
    let mut turn = || {
        let before = *model.sum();
        for (at, next) in [(0x0800_0100, 0x0800_0200), (0x0800_0200, 0x0800_0100)] {
            let (instruction, access) = (decode(code::B_BACK), Access::None);
            let next = Next::At(next);
            model.step(&Step { at, instruction, access, next, straddles: false });
        }
        bounds(&(*model.sum() - before))
    };
    assert_eq!(turn(), (8, 10.0, 12), "two lines from flash");
    assert_eq!(turn(), (4, 6.0, 8), "two lines from the cache");
}

/// The least and the greatest stall of a fetch.
fn stall(model: &mut Model, at: u32) -> [u64; 2] {
    let before = *model.sum();
    let next = Next::At(at.wrapping_add(2));
    let (instruction, access) = (decode(code::NOP), Access::None);
    model.step(&Step { at, instruction, access, next, straddles: false });
    let sum = *model.sum() - before;
    [sum.least - 1, sum.most - 1]
}

/// STM32G4: lines of four reads. A read of a held line may still be on its way (RM0440, 3.3.4).
#[test]
fn a_line_of_several_reads_may_be_complete_or_not() {
    let flash = Flash { wait_states: 4, read: 3, line: 5, instruction_lines: 2, ..FLASH };
    let mut model = Model::new(&M4, flash);
    assert_eq!(stall(&mut model, 0x0800_0100), [4, 4], "the line is new");
    assert_eq!(stall(&mut model, 0x0800_0110), [0, 4], "its line is held");
    assert_eq!(stall(&mut model, 0x0800_0100), [0, 0]);
    assert_eq!(stall(&mut model, 0x0800_0110), [0, 0]);
    stall(&mut model, 0x0800_0200);
    stall(&mut model, 0x0800_0300);
    assert_eq!(stall(&mut model, 0x0800_0100), [4, 4], "two other lines have taken both places");
}

/// STM32F1: two buffers of 64 bits, and no cache (RM0008, 3.3.3).
#[test]
fn without_a_cache_each_branch_may_wait() {
    let flash = Flash { wait_states: 2, read: 3, line: 3, instruction_lines: 0, ..FLASH };
    let mut model = Model::new(&M4, flash);
    for _ in 0..3 {
        for at in [0x0800_0100, 0x0800_0200, 0x0800_0300] {
            assert_eq!(stall(&mut model, at), [0, 2]);
        }
    }
}

/// With a cache, a read before the last one is there as long as its line is.
#[test]
fn a_cache_of_one_line_holds_one() {
    let flash = Flash { wait_states: 2, read: 3, line: 3, instruction_lines: 1, ..FLASH };
    let mut model = Model::new(&M4, flash);
    for at in [0x0800_0100, 0x0800_0200, 0x0800_0100] {
        assert_eq!(stall(&mut model, at), [2, 2]);
    }
}

#[test]
fn cores_are_found_by_name() {
    for core in [&M0, &M0_PLUS, &M3, &M4] {
        assert_eq!(Core::find(core.name).unwrap().name, core.name);
    }
    assert!(Core::find("cortex-m5").is_none());
}

#[test]
fn a_later_sum_is_less_in_no_width() {
    let sum = |cause: Cause| {
        let mut sum = Sum::default();
        sum.add(Cost::between(0, 1, 2), cause);
        sum
    };
    let (flash, branch) = (sum(Cause::Flash), sum(Cause::Branch));
    assert!(flash.is_before(&flash) && Sum::default().is_before(&flash));
    assert!(!flash.is_before(&branch) && !flash.is_before(&Sum::default()));
}

#[test]
fn constants_in_flash_have_a_cache_of_their_own() {
    let flash = Flash { wait_states: 5, line: 4, read: 3, ..FLASH };
    let mut model = Model::new(&M4, flash);
    let mut load = |at: u32, constant: u32| {
        let before = *model.sum();
        let (instruction, access) = (decode(code::LDR_LITERAL), Access::To(constant));
        let next = Next::At(at + 2);
        model.step(&Step { at, instruction, access, next, straddles: false });
        (*model.sum() - before).width[Cause::Flash as usize]
    };
    load(0x0800_0100, 0x0800_4000);
    assert_eq!(load(0x0800_0102, 0x0800_4000), 1, "it is held");
    assert_eq!(load(0x0800_0104, 0x0800_4008), 6, "its line is held");
}

/// Code in memory without wait states has no stalls.
#[test]
fn code_elsewhere_does_not_stall() {
    let flash = Flash { wait_states: 5, origin: 0x1000_0000, ..FLASH };
    assert_eq!(bounds(&straight(&M4, flash, &[code::ADDS_R0_1; 32])), (32, 32.0, 32));
}

#[test]
fn the_causes_add_up_to_the_width() {
    let words = [code::STR_R0_R1, code::LDR_R2_R3, code::MRS, code::UDIV, code::IT_EQ];
    let sum = straight(&M4, Flash { wait_states: 3, ..FLASH }, &words);
    assert_eq!(sum.width.iter().sum::<u64>(), sum.most - sum.least);
}

/// A program of instructions with one cost each takes their sum, in any order.
#[test]
fn random_programs_of_known_costs_add_up() {
    let known =
        [(code::ADDS_R0_1, 1), (code::MULS, 1), (code::PUSH_4, 4), (code::LDRD, 3), (code::MLA, 1)];
    let mut state = 1_u32;
    for length in 1..200 {
        let mut words = Vec::new();
        let mut cycles = 0;
        for _ in 0..length {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (word, cost) = known[(state >> 16) as usize % known.len()];
            words.push(word);
            cycles += cost;
        }
        assert_eq!(bounds(&straight(&M4, FLASH, &words)), (cycles, cycles as f64, cycles));
    }
}

/// No half-word that begins a narrow instruction, and no pair that begins a wide one, panics; the
/// estimate of each is within its bounds.
#[test]
fn every_encoding_is_decoded_or_refused() {
    let (mut known, mut unknown) = (0, 0);
    for first in 0..=u16::MAX {
        for second in [0, 0x00f0, 0x0a00, 0x0b10, 0x8000, 0x8f4f, 0xd000, 0xf0f1, 0xffff_u32] {
            let Ok(instruction) = Instruction::decode(second << 16 | u32::from(first)) else {
                unknown += 1;
                continue;
            };
            known += 1;
            assert_eq!(instruction.is_wide, first >= 0xe800);
            for core in [&M0, &M3, &M4] {
                let mut model = Model::new(core, FLASH);
                let (at, next) = (0x0800_0100, Next::At(0x0800_0300));
                let access = Access::Unknown;
                model.step(&Step { at, instruction, access, next, straddles: false });
                let (least, estimate, most) = bounds(model.sum());
                assert!(least as f64 <= estimate && estimate <= most as f64, "{instruction:?}");
            }
        }
    }
    assert!(known > 400_000 && unknown > 10_000, "{known} and {unknown}");
    // `udf`, Neon, a coprocessor, `srs`.
    for word in [0xde00, 0x0000_ef00, 0x0100_ee00, 0x0000_e80d] {
        assert!(Instruction::decode(word).is_err(), "{word:x}");
    }
    let class = |word| decode(word).class;
    assert_eq!(class(code::BX_LR), Class::Branch { links: false, is_conditional: false });
    assert_eq!(class(code::ITTE_EQ), Class::IfThen { instructions: 3 });
    assert_eq!(class(code::VPUSH_D8_D15), Class::FloatTransfer { words: 16 });
}
