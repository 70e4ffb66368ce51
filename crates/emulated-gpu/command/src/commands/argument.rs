//! An argument of a kernel, as the command line writes it, and back.

use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::str::FromStr;

use ptx_emulator::room::vector;

use super::table::{Field, fields};

/// The most bytes that a buffer of the command line has.
const MOST_BYTES: usize = 1 << 31;

/// A number, or a buffer whose address the kernel is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// The bytes of a number.
    Number(Vec<u8>),
    /// The bytes of a buffer.
    Buffer {
        /// The type of an element.
        element: Element,
        /// All elements.
        bytes: Vec<u8>,
    },
    /// A buffer of numbers and addresses, of this type and that.
    Table(Vec<Field>),
}

/// The type of an argument or of the elements of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// `.u8`
    U8,
    /// `.u16`
    U16,
    /// `.u32`
    U32,
    /// `.u64`
    U64,
    /// `.s8`
    S8,
    /// `.s16`
    S16,
    /// `.s32`
    S32,
    /// `.s64`
    S64,
    /// `.f32`
    F32,
    /// `.f64`
    F64,
}

impl Element {
    const ALL: [(&'static str, Self); 10] = [
        ("u8", Self::U8),
        ("u16", Self::U16),
        ("u32", Self::U32),
        ("u64", Self::U64),
        ("s8", Self::S8),
        ("s16", Self::S16),
        ("s32", Self::S32),
        ("s64", Self::S64),
        ("f32", Self::F32),
        ("f64", Self::F64),
    ];

    /// Its size.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
            Self::U64 | Self::S64 | Self::F64 => 8,
        }
    }

    /// The name, as in PTX without the dot.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, element)| *element == self).map_or("", |(name, _)| name)
    }

    /// The bytes of a number that is written out.
    fn parse(self, text: &str) -> Result<Vec<u8>, String> {
        fn number<T: FromStr>(text: &str) -> Result<T, String> {
            text.trim().parse().map_err(|_| format!("`{}` is not such a number", text.trim()))
        }
        Ok(match self {
            Self::U8 => number::<u8>(text)?.to_le_bytes().to_vec(),
            Self::U16 => number::<u16>(text)?.to_le_bytes().to_vec(),
            Self::U32 => number::<u32>(text)?.to_le_bytes().to_vec(),
            Self::U64 => number::<u64>(text)?.to_le_bytes().to_vec(),
            Self::S8 => number::<i8>(text)?.to_le_bytes().to_vec(),
            Self::S16 => number::<i16>(text)?.to_le_bytes().to_vec(),
            Self::S32 => number::<i32>(text)?.to_le_bytes().to_vec(),
            Self::S64 => number::<i64>(text)?.to_le_bytes().to_vec(),
            Self::F32 => number::<f32>(text)?.to_le_bytes().to_vec(),
            Self::F64 => number::<f64>(text)?.to_le_bytes().to_vec(),
        })
    }

    /// The bytes of a whole number; of its low bits where the type is narrow.
    fn whole(self, number: u64) -> Vec<u8> {
        match self {
            Self::F32 => (number as f32).to_le_bytes().to_vec(),
            Self::F64 => (number as f64).to_le_bytes().to_vec(),
            _ => number.to_le_bytes()[..self.bytes()].to_vec(),
        }
    }

    /// A number from −1 to 1, or any integer, from 32 random bits.
    fn random(self, bits: u32) -> Vec<u8> {
        // 24 bits, so that the f32 is exact.
        let unit = f64::from(bits >> 8) / f64::from(1 << 23) - 1.0;
        match self {
            Self::F32 => (unit as f32).to_le_bytes().to_vec(),
            Self::F64 => unit.to_le_bytes().to_vec(),
            _ => self.whole(u64::from(bits)),
        }
    }

    /// One element, in decimal.
    fn show(self, bytes: &[u8]) -> String {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(wide);
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => bits.to_string(),
            Self::S8 => (bits as u8 as i8).to_string(),
            Self::S16 => (bits as u16 as i16).to_string(),
            Self::S32 => (bits as u32 as i32).to_string(),
            Self::S64 => (bits as i64).to_string(),
            Self::F32 => format!("{:?}", f32::from_bits(bits as u32)),
            Self::F64 => format!("{:?}", f64::from_bits(bits)),
        }
    }

    /// The first elements of a buffer, in decimal.
    #[must_use]
    pub fn list(self, bytes: &[u8], most: usize) -> String {
        let mut text = String::new();
        for element in bytes.chunks_exact(self.bytes()).take(most) {
            let _ = write!(text, " {}", self.show(element));
        }
        if bytes.len() / self.bytes() > most {
            text.push_str(" …");
        }
        text
    }
}

impl FromStr for Argument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (ty, value) = text.split_once(':').ok_or("expected TYPE:VALUE, such as u32:64")?;
        if ty == "table" {
            return fields(value).map(Self::Table);
        }
        let (name, count) = match ty.split_once('[') {
            None => (ty, None),
            Some((name, count)) => {
                let count = count.strip_suffix(']').and_then(|count| count.parse().ok());
                (name, Some(count.ok_or("expected TYPE[N], such as f32[64]")?))
            }
        };
        let known = Element::ALL.iter().find(|(known, _)| *known == name);
        let &(_, element) = known.ok_or_else(|| {
            let names = Element::ALL.map(|(name, _)| name).join(" ");
            format!("`{name}` is not a type: expected one of {names}")
        })?;
        let Some(count) = count else { return element.parse(value).map(Self::Number) };
        buffer(element, count, value).map(|bytes| Self::Buffer { element, bytes })
    }
}

/// The bytes of a buffer.
fn buffer(element: Element, count: usize, what: &str) -> Result<Vec<u8>, String> {
    let size = count.checked_mul(element.bytes()).filter(|&size| size <= MOST_BYTES);
    let size = size.ok_or("a buffer of more than 2 GiB")?;
    let check = |given: usize| match given == size {
        true => Ok(()),
        false => Err(format!("{given} bytes were given for a buffer of {size}")),
    };
    if let Some(path) = what.strip_prefix('@') {
        let mut bytes = room(size)?;
        // One byte more, so that a longer file is found to be one.
        let read = fs::File::open(path)
            .and_then(|file| file.take(size as u64 + 1).read_to_end(&mut bytes));
        let read = read.map_err(|error| format!("can't read {path}: {error}"))?;
        if read > size {
            return Err(format!("{path} has more than the {size} bytes of the buffer"));
        }
        return check(read).map(|()| bytes);
    }
    let mut bytes = room(size)?;
    match what {
        "iota" => (0..count as u64).for_each(|i| bytes.extend(element.whole(i))),
        "random" => {
            // Knuth's multiplier and increment for 64 bits; the high half is random enough here.
            let mut state: u64 = 1;
            let mut next = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (state >> 32) as u32
            };
            (0..count).for_each(|_| bytes.extend(element.random(next())));
        }
        list if list.contains(',') => {
            check(list.split(',').count() * element.bytes())?;
            for one in list.split(',') {
                bytes.extend(element.parse(one)?);
            }
        }
        one => {
            let one = element.parse(one)?;
            (0..count).for_each(|_| bytes.extend(&one));
        }
    }
    Ok(bytes)
}

/// Room for the bytes of a buffer, and for one more that a file may have.
fn room(size: usize) -> Result<Vec<u8>, String> {
    vector(size + 1).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        match text.parse().unwrap() {
            Argument::Number(bytes) | Argument::Buffer { bytes, .. } => bytes,
            Argument::Table(_) => panic!("{text} is a table"),
        }
    }

    #[test]
    fn numbers_and_buffers_are_read() {
        assert_eq!(bytes("u32:64"), 64_u32.to_le_bytes());
        assert_eq!(bytes("s8:-1"), [0xff]);
        assert_eq!(bytes("f32:0.5"), 0.5_f32.to_le_bytes());
        assert_eq!(bytes("u16[3]:7"), [7, 0, 7, 0, 7, 0]);
        assert_eq!(bytes("u8[3]:iota"), [0, 1, 2]);
        assert_eq!(bytes("s16[2]:-1,2"), [0xff, 0xff, 2, 0]);
        assert_eq!(Element::F32.list(&bytes("f32[3]:1,2.5,-0"), 2), " 1.0 2.5 …");
        assert_eq!(Element::S32.list(&bytes("s32[2]:-7"), 9), " -7 -7");
        let random = bytes("f32[1000]:random");
        let values = random.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
        assert!(values.clone().all(|v| (-1.0..1.0).contains(&v)));
        assert!(values.sum::<f32>().abs() < 100.0);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, reason) in [
            ("64", "expected TYPE:VALUE"),
            ("u33:1", "`u33` is not a type"),
            ("u8:256", "`256` is not such a number"),
            ("f32[x]:1", "expected TYPE[N]"),
            ("f32[3]:1,2", "8 bytes were given for a buffer of 12"),
            ("f64[9999999999999999999]:0", "more than 2 GiB"),
            ("f64[999999999999]:0", "more than 2 GiB"),
            ("u8[4]:@/does/not/exist", "can't read /does/not/exist"),
        ] {
            let said = text.parse::<Argument>().unwrap_err();
            assert!(said.contains(reason), "{text}: {said}");
        }
    }
}
