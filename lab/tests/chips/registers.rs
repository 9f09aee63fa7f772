//! Clock registers answer in QEMU as the table of chips says.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use chronoscope_chips::Table;

#[test]
fn clock_registers_answer_as_the_table_says() {
    let table = Table::read();
    for chip in table.targets().filter(|chip| !chip.registers.is_empty()) {
        let mut qemu = Command::new(chip.program());
        qemu.args(chip.arguments(None)).args(["-S", "-display", "none", "-serial", "null"]);
        qemu.args(["-monitor", "stdio"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut qemu = qemu.spawn().unwrap();
        let mut monitor = qemu.stdin.take().unwrap();
        for register in &chip.registers {
            writeln!(monitor, "xp /1wx {:#x}", register.address).unwrap();
        }
        writeln!(monitor, "quit").unwrap();
        let output = qemu.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        for register in &chip.registers {
            let start = format!("{:016x}: ", register.address);
            let answer = text.lines().find_map(|line| line.trim().strip_prefix(&start));
            let value = register.reads.map(|value| format!("{value:#010x}"));
            let expected = value.unwrap_or("Cannot access memory".to_owned());
            assert_eq!(answer, Some(&*expected), "{} of {}:\n{text}", register.name, chip.name);
        }
    }
}
