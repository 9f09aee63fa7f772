//! Each rule with its source, and programs of known cost. `code` is as the assembler gives it.

use super::{
    CORES, CV32E40P, Change, Class, Core, IBEX, IBEX_MAXPERF, Instruction, Model, Next, Step,
};
use crate::Unknown;

mod code {
    pub const LUI_A0: u32 = 0x0000_1537;
    pub const ADDI_A0_A0: u32 = 0x0015_0513;
    pub const MUL: u32 = 0x02c5_8533;
    pub const MULH: u32 = 0x02c5_9533;
    pub const DIVU: u32 = 0x02c5_d533;
    pub const LW_A0_A1: u32 = 0x0045_a503;
    pub const LHU_A0_A1: u32 = 0x0045_d503;
    pub const SB_A0_A1: u32 = 0x00a5_8223;
    pub const SW_A0_A1: u32 = 0x00a5_a223;
    pub const JAL_BACK_52: u32 = 0xfcdf_f0ef;
    pub const JALR_A0: u32 = 0x0085_00e7;
    pub const BNE_BACK_60: u32 = 0xfcb5_12e3;
    pub const CSRRW_MSTATUS: u32 = 0x3005_9573;
    pub const CSRRSI_MSTATUS: u32 = 0x3004_6073;
    pub const CSRRCI_MSTATUS: u32 = 0x3004_7073;
    pub const CSRR_MCYCLE: u32 = 0xb000_2573;
    pub const CSRR_MEPC: u32 = 0x3410_2573;
    pub const CSRW_PMPCFG0: u32 = 0x3a05_1073;
    pub const FENCE: u32 = 0x0ff0_000f;
    pub const FENCE_I: u32 = 0x0000_100f;
    pub const ECALL: u32 = 0x0000_0073;
    pub const MRET: u32 = 0x3020_0073;
    pub const WFI: u32 = 0x1050_0073;
    pub const C_NOP: u32 = 0x0001;
    pub const C_LW_A0_A1: u32 = 0x41c8;
    pub const C_SW_A0_A1: u32 = 0xc1c8;
    pub const C_LWSP_A0: u32 = 0x4512;
    pub const C_SWSP_A0: u32 = 0xc22a;
    pub const C_ADD_A0_A1: u32 = 0x952e;
    pub const C_SUB_A0_A1: u32 = 0x8d0d;
    pub const C_LI_A0: u32 = 0x450d;
    pub const C_J_BACK_142: u32 = 0xbf8d;
    pub const C_JAL_BACK_128: u32 = 0x3741;
    pub const C_BNEZ_A0_BACK_146: u32 = 0xf53d;
    pub const C_JR_RA: u32 = 0x8082;
    pub const C_EBREAK: u32 = 0x9002;
}

fn decoded(word: u32) -> Instruction {
    Instruction::decode(word).unwrap()
}

#[test]
fn classes_registers_and_targets_are_decoded() {
    let load = Class::Load { bytes: 4 };
    let store = Class::Store { bytes: 4 };
    let control = |register, change| Class::Control { register, change };
    for (word, class, result, sources) in [
        (code::LUI_A0, Class::Compute, 10, [0, 0]),
        (code::ADDI_A0_A0, Class::Compute, 10, [10, 0]),
        (code::MUL, Class::Multiply, 10, [11, 12]),
        (code::MULH, Class::MultiplyHigh, 10, [11, 12]),
        (code::DIVU, Class::Divide, 10, [11, 12]),
        (code::LW_A0_A1, load, 10, [11, 0]),
        (code::LHU_A0_A1, Class::Load { bytes: 2 }, 10, [11, 0]),
        (code::SB_A0_A1, Class::Store { bytes: 1 }, 0, [11, 10]),
        (code::SW_A0_A1, store, 0, [11, 10]),
        (code::JAL_BACK_52, Class::Jump { offset: -52 }, 1, [0, 0]),
        (code::JALR_A0, Class::JumpRegister, 1, [10, 0]),
        (code::BNE_BACK_60, Class::Branch { offset: -60 }, 0, [10, 11]),
        (code::CSRRW_MSTATUS, control(0x300, Change::Write), 10, [11, 0]),
        (code::CSRRSI_MSTATUS, control(0x300, Change::Write), 0, [0, 0]),
        (code::CSRRCI_MSTATUS, control(0x300, Change::Clear), 0, [0, 0]),
        (code::CSRR_MCYCLE, control(0xb00, Change::None), 10, [0, 0]),
        (code::FENCE, Class::Fence, 0, [0, 0]),
        (code::FENCE_I, Class::FenceInstructions, 0, [0, 0]),
        (code::ECALL, Class::Call, 0, [0, 0]),
        (code::MRET, Class::Return, 0, [0, 0]),
        (code::WFI, Class::Sleep, 0, [0, 0]),
        (code::C_LW_A0_A1, load, 10, [11, 0]),
        (code::C_SW_A0_A1, store, 0, [11, 10]),
        (code::C_LWSP_A0, load, 10, [2, 0]),
        (code::C_SWSP_A0, store, 0, [2, 10]),
        (code::C_ADD_A0_A1, Class::Compute, 10, [10, 11]),
        (code::C_SUB_A0_A1, Class::Compute, 10, [10, 11]),
        (code::C_LI_A0, Class::Compute, 10, [0, 0]),
        (code::C_J_BACK_142, Class::Jump { offset: -142 }, 0, [0, 0]),
        (code::C_JAL_BACK_128, Class::Jump { offset: -128 }, 1, [0, 0]),
        (code::C_BNEZ_A0_BACK_146, Class::Branch { offset: -146 }, 0, [10, 0]),
        (code::C_JR_RA, Class::JumpRegister, 0, [1, 0]),
        (code::C_EBREAK, Class::Call, 0, [0, 0]),
    ] {
        let is_wide = word & 3 == 3;
        let expected = Instruction { class, result, sources, is_wide };
        assert_eq!(Instruction::decode(word), Ok(expected), "{word:#x}");
    }
}

/// `amoadd.w`, `flw`, `sret`, nothing, a shift of 64 bits.
#[test]
fn other_extensions_are_unknown() {
    for word in [0x00b6_252f, 0x0005_2507, 0x1020_0073, 0, 0x9c0d, 0x0205_1513] {
        assert_eq!(Instruction::decode(word), Err(Unknown), "{word:#x}");
    }
}

/// The least, estimated and greatest cycles of instructions that follow each other, and of the last one
/// with a jump to the address if there is one.
fn cycles(core: &'static Core, words: &[u32], jump: Option<u32>) -> (u64, f64, u64) {
    let mut model = Model::new(core);
    let mut at = 0x8000_0000;
    for (index, word) in words.iter().enumerate() {
        let instruction = decoded(*word);
        let behind = at + instruction.bytes();
        let is_last = index + 1 == words.len();
        let follower = words.get(index + 1).copied().unwrap_or(code::C_NOP);
        let wide = decoded(code::LUI_A0);
        let (to, follower) = match jump.filter(|_| is_last) {
            Some(to) => (to, wide),
            None => (behind, decoded(follower)),
        };
        let next = Next { at: to, instruction: follower, is_trap: false };
        model.step(&Step { at, instruction, address: None, next });
        at = behind;
    }
    let sum = model.sum();
    assert_eq!(sum.instructions, words.len() as u64);
    (sum.least, sum.estimate(), sum.most)
}

fn exactly(core: &'static Core, words: &[u32], jump: Option<u32>) -> u64 {
    let (least, estimate, most) = cycles(core, words, jump);
    assert!(least == most && estimate == least as f64, "{least}, {estimate}, {most}");
    least
}

/// Ibex Reference Guide, Pipeline Details: stall cycles, each with the instruction's own one. The last
/// column is of CV32E40P: User Manual, Pipeline Details, cycle counts per instruction type.
#[test]
fn instructions_take_the_cycles_of_their_manuals() {
    let (aligned, straddling) = (Some(0x8000_0100), Some(0x8000_0102));
    for (words, jump, expected) in [
        (&[code::ADDI_A0_A0][..], None, [1, 1, 1]),
        (&[code::MUL], None, [3, 1, 1]),
        (&[code::MULH], None, [4, 2, 5]),
        (&[code::LW_A0_A1], None, [2, 1, 1]),
        (&[code::SW_A0_A1], None, [2, 1, 1]),
        (&[code::JAL_BACK_52], aligned, [2, 2, 2]),
        (&[code::C_JR_RA], straddling, [3, 3, 3]),
        (&[code::BNE_BACK_60], None, [1, 1, 1]),
        (&[code::BNE_BACK_60], aligned, [3, 2, 3]),
        (&[code::BNE_BACK_60], straddling, [4, 3, 4]),
        (&[code::CSRR_MCYCLE], None, [1, 1, 4]),
        (&[code::CSRR_MEPC], None, [1, 1, 4]),
        // A result of a load that the next instruction takes.
        (&[code::LW_A0_A1, code::ADDI_A0_A0], None, [3, 3, 3]),
        (&[code::LW_A0_A1, code::C_NOP, code::ADDI_A0_A0], None, [4, 3, 3]),
        // Not in the manuals: measured.
        (&[code::CSRRSI_MSTATUS], None, [3, 3, 4]),
        (&[code::CSRRCI_MSTATUS], None, [1, 1, 4]),
        (&[code::CSRW_PMPCFG0], None, [3, 3, 1]),
        (&[code::MRET], aligned, [3, 3, 5]),
    ] {
        let found = [&IBEX, &IBEX_MAXPERF, &CV32E40P].map(|core| exactly(core, words, jump));
        assert_eq!(found, expected, "{words:x?}");
    }
}

/// CV32E40P: User Manual, Pipeline Details, hazards: one that needs the load's register, or writes it.
#[test]
fn what_a_load_gives_is_waited_for() {
    let pair = |second| exactly(&CV32E40P, &[code::LW_A0_A1, second], None);
    assert_eq!([code::C_SW_A0_A1, code::LUI_A0, code::C_NOP].map(pair), [3, 3, 2]);
}

#[test]
fn cores_are_found_by_name() {
    for core in CORES {
        assert_eq!(Core::find(core.name).unwrap().name, core.name);
    }
    assert!(Core::find("ibex2").is_none());
}

#[test]
fn unknown_operands_make_bounds() {
    assert_eq!(cycles(&IBEX, &[code::DIVU], None), (2, 37.0, 38));
    assert_eq!(cycles(&CV32E40P, &[code::DIVU], None), (3, 19.0, 35));
    // A jump to an address that the instruction before computes.
    let words = [code::ADDI_A0_A0, code::JALR_A0];
    assert_eq!(cycles(&CV32E40P, &words, Some(0x8000_0100)), (4, 5.0, 5));
    assert_eq!(exactly(&IBEX, &words, Some(0x8000_0100)), 3);
}

#[test]
fn an_access_of_two_words_takes_a_cycle_more() {
    for (word, offset, more) in [
        (code::LW_A0_A1, 0, 0),
        (code::LW_A0_A1, 2, 1),
        (code::LHU_A0_A1, 2, 0),
        (code::LHU_A0_A1, 3, 1),
        (code::SB_A0_A1, 3, 0),
    ] {
        for core in CORES {
            let mut model = Model::new(core);
            let (at, address) = (0x8000_0000, Some(0x8010_0000 + offset));
            let nop = decoded(code::C_NOP);
            let next = Next { at: at + 4, instruction: nop, is_trap: false };
            model.step(&Step { at, instruction: decoded(word), address, next });
            let expected = u64::from(core.access.least) + more;
            assert_eq!(model.sum().least, expected, "{word:#x} at {offset}");
        }
    }
}

/// An interrupt: the entry is between the instruction before and the handler's first one.
#[test]
fn a_trap_costs_the_entry() {
    for core in CORES {
        let mut model = Model::new(core);
        let nop = decoded(code::C_NOP);
        let next = Next { at: 0x8000_1000, instruction: nop, is_trap: true };
        model.step(&Step { at: 0x8000_0000, instruction: nop, address: None, next });
        let sum = model.sum();
        assert_eq!(sum.least, 1 + u64::from(core.entry.least));
        assert_eq!(sum.most, 1 + u64::from(core.entry.most));
        // A call of the system is one instruction with its entry.
        let mut model = Model::new(core);
        let call = decoded(code::ECALL);
        model.step(&Step { at: 0x8000_0000, instruction: call, address: None, next });
        assert_eq!(model.sum().least, u64::from(core.call.least));
    }
}

/// The way from an instruction to another is found out without registers, except after a jump to an
/// address in one.
#[test]
fn a_trap_is_where_an_instruction_does_not_lead() {
    let at = 0x8000_0100;
    assert!(decoded(code::C_NOP).leads_to(at, at + 2));
    assert!(!decoded(code::C_NOP).leads_to(at, at + 4));
    assert!(decoded(code::BNE_BACK_60).leads_to(at, at + 4));
    assert!(decoded(code::BNE_BACK_60).leads_to(at, at - 60));
    assert!(!decoded(code::BNE_BACK_60).leads_to(at, at - 64));
    assert!(!decoded(code::JAL_BACK_52).leads_to(at, at + 4));
    assert!(decoded(code::C_JR_RA).leads_to(at, 0));
    assert!(!decoded(code::ECALL).leads_to(at, 0x8000_1000));
}

/// A loop of known cost: three instructions, of which the last jumps back, any number of times.
#[test]
fn loops_cost_the_same_in_every_round() {
    let words = [code::LW_A0_A1, code::ADDI_A0_A0, code::BNE_BACK_60];
    for (core, round) in [(&IBEX, 6), (&IBEX_MAXPERF, 5), (&CV32E40P, 6)] {
        let mut model = Model::new(core);
        for turn in 1..=10 {
            for (index, word) in words.iter().enumerate() {
                let at = 0x8000_0000 + 4 * index as u32;
                let (to, next) = if index == 2 { (0x8000_0000, 0) } else { (at + 4, index + 1) };
                let next = Next { at: to, instruction: decoded(words[next]), is_trap: false };
                model.step(&Step { at, instruction: decoded(*word), address: None, next });
            }
            assert_eq!((model.sum().least, model.sum().most), (turn * round, turn * round));
        }
    }
}
