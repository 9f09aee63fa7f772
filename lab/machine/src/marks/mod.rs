//! The marks in a program's file: notes of the crate `chronoscope-mark`, in the form of USDT probes
//! with the provider `chronoscope` (SystemTap's `sdt.h`).

mod intake;
mod pairing;
mod stream;
mod tasks;
mod view;

use anyhow::{Context as _, Result, bail};
use object::{Architecture, File, Object, ObjectSection, SectionKind};

pub use self::{
    intake::{Counts, Intake, is_control},
    pairing::{Pairing, Series, remarks},
    stream::{Counter, Frame},
    view::View,
};
use chronoscope_units::printable;

/// The most marks of a program.
const MOST: usize = 1000;

/// The longest name of a mark, in bytes.
const LONGEST_NAME: usize = 60;

/// The event that a mark names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The start of an interval.
    Begin,
    /// The end of an interval.
    End,
    /// An instant.
    Instant,
    /// A number.
    Value,
}

/// A mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The programmer's name of it.
    pub name: String,
    /// The event that it names.
    pub kind: Kind,
    /// The address of the instruction that it is executed before, or of its own `nop`.
    pub address: u64,
    /// The place of its id or number; `None` for a mark without.
    pub argument: Option<Argument>,
}

/// A register that holds an id or a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Argument {
    /// Its number: a debugger's on Arm and RISC-V, perf's on x86-64 and AArch64.
    pub register: usize,
    /// Its low bytes that count: 4 or 8.
    pub size: usize,
}

/// The marks of a program, in the order of their notes; those that the linker has dropped are left
/// out. The order among marks of one address is the one in which they were written.
///
/// # Errors
/// A note is damaged, or there are too many.
pub fn read(file: &File<'_>) -> Result<Vec<Mark>> {
    let mut marks = Vec::new();
    let notes = file.sections().filter(|section| section.name() == Ok(".note.stapsdt"));
    for section in notes {
        let mut notes = Bytes(section.data().ok().context(DAMAGED)?);
        while !notes.0.is_empty() {
            let Some(mark) = note(&mut notes, file)? else { continue };
            if is_code(file, mark.address) {
                marks.push(mark);
            }
            if marks.len() > MOST {
                bail!("the program has more than {MOST} marks: leave some out of the build");
            }
        }
    }
    check(&marks)?;
    Ok(marks)
}

/// # Errors
/// One name is of an interval, and of an instant or a number: their series would be one.
fn check(marks: &[Mark]) -> Result<()> {
    let sort = |kind| if kind == Kind::End { Kind::Begin } else { kind };
    for (place, mark) in marks.iter().enumerate() {
        let is_other = |one: &&Mark| one.name == mark.name && sort(one.kind) != sort(mark.kind);
        if marks[..place].iter().any(|one| is_other(&one)) {
            bail!(
                "the marks `{}` are of two kinds, as an interval and a number: give them two names",
                printable(&mark.name)
            );
        }
    }
    Ok(())
}

/// The words for notes that cannot be read.
const DAMAGED: &str = "the program's marks are damaged: build it anew";

/// The next note; `None` for one of another owner or another provider.
fn note(notes: &mut Bytes<'_>, file: &File<'_>) -> Result<Option<Mark>> {
    const PROBE: u32 = 3;
    let mut length = || notes.word().context(DAMAGED);
    let (owner, body, kind) = (length()?, length()?, length()?);
    let owner = notes.padded(owner).context(DAMAGED)?;
    let mut body = Bytes(notes.padded(body).context(DAMAGED)?);
    if owner != b"stapsdt\0" || kind != PROBE {
        return Ok(None);
    }
    let address = body.address(file.is_64()).context(DAMAGED)?;
    // The base and the semaphore.
    (0..2).try_for_each(|_| body.address(file.is_64()).map(drop)).context(DAMAGED)?;
    let mut text = || body.text().context(DAMAGED);
    let (provider, name, argument) = (text()?, text()?, text()?);
    if provider != "chronoscope" {
        return Ok(None);
    }
    let Some((name, kind)) = name.rsplit_once("__").and_then(|(name, kind)| {
        let kind = match kind {
            "begin" => Kind::Begin,
            "end" => Kind::End,
            "instant" => Kind::Instant,
            "value" => Kind::Value,
            _ => return None,
        };
        Some((name, kind))
    }) else {
        bail!("the mark `{}` is of another version of chronoscope-mark", printable(name));
    };
    if name.is_empty() || name.len() > LONGEST_NAME {
        bail!("the mark `{}`: a name has 1 to {LONGEST_NAME} letters", printable(name));
    }
    let argument = match argument {
        "" => None,
        argument => Some(parse(argument, file.architecture()).with_context(|| {
            format!("the mark `{}`: `{}` is no register", printable(name), printable(argument))
        })?),
    };
    Ok(Some(Mark { name: name.to_owned(), kind, address, argument }))
}

/// Returns whether there is code at an address: the linker sets marks of dropped functions to 0.
fn is_code(file: &File<'_>, address: u64) -> bool {
    let mut code = file.sections().filter(|section| section.kind() == SectionKind::Text);
    code.any(|section| {
        (section.address()..=section.address().saturating_add(section.size())).contains(&address)
    })
}

/// The argument of a note, as `8@%rax`.
fn parse(text: &str, architecture: Architecture) -> Option<Argument> {
    let (size, name) = text.split_once('@')?;
    let size = size.parse().ok().filter(|size| [4, 8].contains(size))?;
    let name = name.trim_start_matches('%');
    let at = |names: &[&str]| names.iter().position(|one| *one == name);
    let numbered = |letter: char, most: usize| {
        let number = name.strip_prefix(letter)?.parse().ok()?;
        (number <= most).then_some(number)
    };
    let register = match architecture {
        Architecture::Arm => numbered('r', 14)
            .or_else(|| at(&["sl", "fp", "ip", "sp", "lr"]).map(|place| place + 10)),
        Architecture::Riscv32 | Architecture::Riscv64 => at(&RISCV).or_else(|| numbered('x', 31)),
        Architecture::Aarch64 => numbered('x', 30),
        Architecture::X86_64 => at(&X86_64),
        _ => None,
    }?;
    Some(Argument { register, size })
}

/// The registers of RISC-V, by their numbers.
const RISCV: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

/// The registers of x86-64, by perf's numbers (`asm/perf_regs.h`). The empty names are of no
/// general register.
const X86_64: [&str; 24] = [
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "", "", "", "", "", "", "", "", "r8",
    "r9", "r10", "r11", "r12", "r13", "r14", "r15",
];

/// Bytes that are read from their start on.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn address(&mut self, is_wide: bool) -> Option<u64> {
        let low = u64::from(self.word()?);
        let high = if is_wide { u64::from(self.word()?) } else { 0 };
        Some(high << 32 | low)
    }

    /// Bytes that are filled up to a multiple of four; the last may lack that.
    fn padded(&mut self, length: u32) -> Option<&'a [u8]> {
        let length = usize::try_from(length).ok()?;
        let taken = self.take(length)?;
        self.take((length.next_multiple_of(4) - length).min(self.0.len()))?;
        Some(taken)
    }

    /// A text that ends with a zero.
    fn text(&mut self) -> Option<&'a str> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = str::from_utf8(self.take(end)?).ok()?;
        self.take(1)?;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_have_the_names_of_each_assembler() {
        let register = |text, architecture| parse(text, architecture).map(|one| one.register);
        assert_eq!(register("8@%rdi", Architecture::X86_64), Some(5));
        assert_eq!(register("8@r15", Architecture::X86_64), Some(23));
        assert_eq!(register("4@r3", Architecture::Arm), Some(3));
        assert_eq!(register("4@ip", Architecture::Arm), Some(12));
        assert_eq!(register("4@a5", Architecture::Riscv32), Some(15));
        assert_eq!(register("8@x8", Architecture::Aarch64), Some(8));
        for wrong in ["8@", "@r0", "3@r0", "4@[sp, #8]", "4@r15", "4@x0", "99999999999@r0"] {
            assert_eq!(register(wrong, Architecture::Arm), None, "{wrong}");
        }
    }

    #[test]
    fn a_name_is_of_one_kind() {
        let mark = |kind| Mark { name: "loop".to_owned(), kind, address: 0, argument: None };
        assert!(check(&[Kind::Begin, Kind::End, Kind::Begin].map(mark)).is_ok());
        assert!(check(&[Kind::Instant, Kind::Instant].map(mark)).is_ok());
        let error = check(&[Kind::Begin, Kind::Value].map(mark)).unwrap_err().to_string();
        assert!(error.contains("the marks `loop` are of two kinds"), "{error}");
    }

    #[test]
    fn damaged_notes_are_no_marks_and_no_panic() {
        let mut bytes: Vec<u8> =
            [8_u32, 40, 3].iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(b"stapsdt\0");
        for length in 0..bytes.len() {
            let mut notes = Bytes(&bytes[..length]);
            let body = || {
                let (owner, body, _) = (notes.word()?, notes.word()?, notes.word()?);
                notes.padded(owner)?;
                notes.padded(body)
            };
            assert_eq!({ body }(), None, "{length}");
        }
    }
}
