//! A test image in machine code: a program that the stimulus interrupts once.

/// Numbers of registers.
const T0: u32 = 5;
const T1: u32 = 6;
const T2: u32 = 7;
const A0: u32 = 10;
const A1: u32 = 11;

const MSTATUS: u32 = 0x300;
const MIE: u32 = 0x304;
const MTVEC: u32 = 0x305;
const MCYCLE: u32 = 0xb00;

const NOP: u32 = 0x13;
const WFI: u32 = 0x1050_0073;
const EBREAK: u32 = 0x0010_0073;

fn lui(rd: u32, upper: u32) -> u32 {
    upper << 12 | rd << 7 | 0x37
}

fn addi(rd: u32, rs: u32, value: i32) -> u32 {
    (value as u32) << 20 | rs << 15 | rd << 7 | 0x13
}

fn sw(rs: u32, offset: u32, base: u32) -> u32 {
    (offset >> 5) << 25 | rs << 20 | base << 15 | 2 << 12 | (offset & 31) << 7 | 0x23
}

fn lw(rd: u32, offset: u32, base: u32) -> u32 {
    offset << 20 | base << 15 | 2 << 12 | rd << 7 | 0x03
}

fn sub(rd: u32, a: u32, b: u32) -> u32 {
    0x20 << 25 | b << 20 | a << 15 | rd << 7 | 0x33
}

fn sltiu(rd: u32, rs: u32, value: u32) -> u32 {
    value << 20 | rs << 15 | 3 << 12 | rd << 7 | 0x13
}

fn csrw(csr: u32, rs: u32) -> u32 {
    csr << 20 | rs << 15 | 1 << 12 | 0x73
}

fn csrr(rd: u32, csr: u32) -> u32 {
    csr << 20 | 2 << 12 | rd << 7 | 0x73
}

/// `jal x0, by`: a jump by a multiple of 4 bytes, less than 2 KiB.
fn jump(by: i32) -> u32 {
    let by = by as u32;
    (by >> 20 & 1) << 31
        | (by >> 1 & 0x3ff) << 21
        | (by >> 11 & 1) << 20
        | (by >> 12 & 0xff) << 12
        | 0x6f
}

/// Builds an ELF file whose program raises pin 0, sets the stimulus to come after 200 cycles plus
/// `late` times 2^32, and waits for it, busy or asleep. The handler lowers the pin and exits: with
/// success if `mcycle` is then at most 63 cycles later than the line's rise.
pub fn interrupted_once(asleep: bool, late: i32) -> Vec<u8> {
    const VECTORS: usize = 0x100;
    const EXTERNAL: usize = VECTORS + 4 * 11;
    const HANDLER: usize = 0x180;
    let mut code = vec![
        lui(T0, 0x80000),
        addi(T0, T0, VECTORS as i32 + 1),
        csrw(MTVEC, T0),
        // Interrupt controller: priority 1 for source 12, and enabled.
        lui(T1, 0x0c000),
        addi(T2, 0, 1),
        sw(T2, 4 * 12, T1),
        lui(T1, 0x0c002),
        lui(T2, 1),
        sw(T2, 0, T1),
        lui(T1, 0x02003),
        // Core: external interrupts enabled.
        lui(T2, 1),
        addi(T2, T2, -2048),
        csrw(MIE, T2),
        0x8 << 15 | 6 << 12 | MSTATUS << 20 | 0x73, // csrsi mstatus, 8
        addi(T2, 0, 1),
        sw(T2, 0x10, T1),
        csrr(T0, MCYCLE),
        addi(T0, T0, 200),
        addi(T2, 0, late),
        sw(T2, 0x20, T1),
        sw(T0, 0x24, T1),
        if asleep { WFI } else { NOP },
        jump(-4),
    ];
    code.resize(EXTERNAL / 4, EBREAK);
    code.push(jump(HANDLER as i32 - EXTERNAL as i32));
    code.resize(HANDLER / 4, EBREAK);
    code.extend([
        csrr(T0, MCYCLE),
        addi(T2, 0, 1),
        sw(T2, 0x14, T1),
        lw(T2, 0x28, T1),
        sw(0, 0x30, T1),
        sub(T0, T0, T2),
        sltiu(T0, T0, 64),
        // The exit reason: 0x20026, an application's exit, or one less.
        lui(A1, 0x20),
        addi(A1, A1, 0x25),
        0x5 << 20 | A1 << 15 | A1 << 7 | 0x33, // add a1, a1, t0
        addi(A0, 0, 0x18),
        0x01f0_1013,
        EBREAK,
        0x4070_5013,
    ]);
    elf(&code)
}

/// An ELF file with one segment at 0x8000_0000, whose first word is the entry point.
fn elf(code: &[u32]) -> Vec<u8> {
    const ORIGIN: u32 = 0x8000_0000;
    const HEADERS: u32 = 52 + 32;
    let size = code.len() as u32 * 4;
    let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let halves = |file: &mut Vec<u8>, values: &[u16]| {
        values.iter().for_each(|half| file.extend(half.to_le_bytes()))
    };
    let words = |file: &mut Vec<u8>, values: &[u32]| {
        values.iter().for_each(|word| file.extend(word.to_le_bytes()))
    };
    halves(&mut file, &[2, 243]); // an executable, for RISC-V
    words(&mut file, &[1, ORIGIN, 52, 0, 0]);
    halves(&mut file, &[52, 32, 1, 0, 0, 0]);
    words(&mut file, &[1, HEADERS, ORIGIN, ORIGIN, size, size, 5, 4]);
    words(&mut file, code);
    file
}
