//! The codes of a dump's variables. A dump of a whole chip defines a million, so a variable takes
//! 16 bytes here, and an unwanted code has no entry in a map.

use std::collections::HashMap;

/// A variable: the channels from `first` on, one for each bit, lowest bit first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Variable {
    code: u64,
    first: u32,
    /// 0 for a variable without pins.
    width: u8,
}

/// The variables of a dump.
#[derive(Default)]
pub(super) struct Variables {
    all: Vec<Variable>,
    /// The numbers of codes longer than seven bytes.
    long: HashMap<Box<[u8]>, u64>,
}

impl Variables {
    /// Adds a variable; several may share a code.
    pub fn add(&mut self, code: &[u8], first: u32, width: u8) {
        let next = LONG | self.long.len() as u64;
        let code = packed(code).unwrap_or_else(|| *self.long.entry(code.into()).or_insert(next));
        self.all.push(Variable { code, first, width });
    }
}

/// The mark of a number that does not consist of the code's bytes.
const LONG: u64 = 0xff << 56;

/// A code of up to seven bytes as a number: its bytes, and its length in the highest byte.
fn packed(code: &[u8]) -> Option<u64> {
    if code.len() > 7 {
        return None;
    }
    let mut bytes = [0; 8];
    bytes[..code.len()].copy_from_slice(code);
    bytes[7] = code.len() as u8;
    Some(u64::from_le_bytes(bytes))
}

/// A bit of a variable that is wanted, and its index in the list of wanted channels.
pub(super) type Wanted = (u8, u32);

/// The wanted channels that each code changes. Codes of one or two characters, by far the most, are
/// indexed by number.
pub(super) struct Codes {
    short: Vec<u32>,
    others: HashMap<u64, u32>,
    /// All codes that are defined, sorted.
    defined: Vec<u64>,
    long: HashMap<Box<[u8]>, u64>,
    /// The wanted channels of all codes; an entry of `ends` for each code that has any.
    wanted: Vec<Wanted>,
    ends: Vec<usize>,
}

/// The mark of a code that is not defined, and of a code that is defined but not wanted. Other
/// codes have their index in `ends` plus `FIRST`. Memory of zeros costs nothing until it is
/// written.
const UNKNOWN: u32 = 0;
const UNWANTED: u32 = 1;
const FIRST: u32 = 2;

impl Codes {
    /// Indexes the codes of `variables`. `wanted` lists channels, perhaps several times.
    pub fn new(variables: Variables, wanted: &[usize]) -> Self {
        let Variables { mut all, long } = variables;
        all.sort_unstable();
        let mut places: Vec<(usize, u32)> =
            wanted.iter().enumerate().map(|(place, channel)| (*channel, place as u32)).collect();
        places.sort_unstable();
        let mut codes = Self {
            short: vec![UNKNOWN; 1 << 16],
            others: HashMap::new(),
            defined: Vec::new(),
            long,
            wanted: Vec::new(),
            ends: Vec::new(),
        };
        for variables in all.chunk_by(|one, other| one.code == other.code) {
            let code = variables[0].code;
            let before = codes.wanted.len();
            for variable in variables {
                let first = variable.first as usize;
                let from = places.partition_point(|(channel, _)| *channel < first);
                let bits = places[from..]
                    .iter()
                    .take_while(|(channel, _)| *channel < first + usize::from(variable.width));
                codes.wanted.extend(bits.map(|(channel, place)| ((channel - first) as u8, *place)));
            }
            let place = if codes.wanted.len() == before {
                UNWANTED
            } else {
                codes.ends.push(codes.wanted.len());
                codes.ends.len() as u32 - 1 + FIRST
            };
            match short(code) {
                Some(number) => codes.short[number] = place,
                None if place == UNWANTED => codes.defined.push(code),
                None => drop(codes.others.insert(code, place)),
            }
        }
        codes
    }

    /// The wanted channels of a code; `None` if it is not defined.
    pub fn find(&self, code: &[u8]) -> Option<&[Wanted]> {
        let number = packed(code).or_else(|| self.long.get(code).copied())?;
        let place = match short(number) {
            Some(number) => self.short[number],
            None => match self.others.get(&number) {
                Some(place) => *place,
                None if self.defined.binary_search(&number).is_ok() => UNWANTED,
                None => UNKNOWN,
            },
        };
        match place {
            UNKNOWN => None,
            UNWANTED => Some(&[]),
            place => {
                let place = (place - FIRST) as usize;
                let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
                Some(&self.wanted[start..self.ends[place]])
            }
        }
    }
}

/// The index of a code of one or two bytes.
fn short(code: u64) -> Option<usize> {
    let bytes = code.to_le_bytes();
    match bytes[7] {
        1 => Some(bytes[0].into()),
        2 => Some(usize::from(bytes[0]) << 8 | usize::from(bytes[1])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_every_length_are_found() {
        let codes = [&b"!"[..], b"!!", b"abc", b"1234567", b"12345678", b"123456789"];
        let mut variables = Variables::default();
        for (first, code) in codes.iter().enumerate() {
            variables.add(code, 2 * first as u32, 2);
        }
        // Another variable of the first code, and one that is no pin.
        variables.add(b"!", 40, 1);
        variables.add(b"real", 41, 0);
        let wanted: Vec<usize> = (0..12).step_by(2).chain([3, 40]).collect();
        let codes_of = Codes::new(variables, &wanted);
        assert_eq!(codes_of.find(b"!"), Some(&[(0, 0), (0, 7)][..]));
        assert_eq!(codes_of.find(b"!!"), Some(&[(0, 1), (1, 6)][..]));
        for (place, code) in codes.iter().enumerate().skip(2) {
            assert_eq!(codes_of.find(code), Some(&[(0, place as u32)][..]));
        }
        assert_eq!(codes_of.find(b"real"), Some(&[][..]));
        for unknown in [&b""[..], b"?", b"??", b"abd", b"1234567890", b"!\0"] {
            assert_eq!(codes_of.find(unknown), None, "{unknown:?}");
        }
    }
}
