//! Kernel arguments: parsing the `--arg` option, and filling buffers.

use std::fs;
use std::io::Read;
use std::str::FromStr;

use crate::room::vector;

pub use super::element::Element;
use super::table::{Field, fields};

/// The maximum size of a buffer of the command line.
const MAX_BUFFER_BYTES: usize = 1 << 31;

/// A number, or a buffer whose address is passed to the kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A number.
    Number {
        /// The type of the number.
        element: Element,
        /// The bytes of the number.
        bytes: Vec<u8>,
    },
    /// A buffer.
    Buffer(Buffer),
    /// A buffer that holds numbers and addresses.
    Table(Vec<Field>),
    /// A structure of numbers and addresses, passed by value.
    Structure(Vec<Field>),
}

/// A buffer as described on the command line. Its contents are only computed by [`bytes`](Self::bytes), so that
/// a rejected launch allocates nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// The type of an element.
    pub element: Element,
    count: usize,
    contents: Contents,
}

/// The initial contents of a buffer.
#[derive(Clone, Debug, PartialEq)]
enum Contents {
    /// The bytes of a file.
    File(String),
    /// 0, 1, 2, ….
    Iota,
    /// Numbers from −1 to 1, the same at each run.
    Random,
    /// The bytes of all elements.
    List(Vec<u8>),
    /// The bytes of one element, which every element is set to.
    Each(Vec<u8>),
}

impl FromStr for Argument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (ty, value) = text.split_once(':').ok_or("expected TYPE:VALUE, such as u32:64")?;
        if ty == "table" {
            return fields(value).map(Self::Table);
        }
        if ty == "struct" {
            return fields(value).map(Self::Structure);
        }
        let (name, count) = match ty.split_once('[') {
            None => (ty, None),
            Some((name, count)) => {
                let count = count.strip_suffix(']').and_then(|count| count.parse().ok());
                (name, Some(count.ok_or("expected TYPE[N], such as f32[64]")?))
            }
        };
        let known = Element::NAMED.iter().find(|(known, ..)| *known == name);
        let &(_, element, _) = known.ok_or_else(|| {
            let names: Vec<&str> = Element::NAMED.iter().map(|(name, ..)| *name).collect();
            format!("`{name}` is not a type: expected one of {}, table or struct", names.join(" "))
        })?;
        let Some(count) = count else {
            return element.parse(value).map(|bytes| Self::Number { element, bytes });
        };
        Buffer::parse(element, count, value).map(Self::Buffer)
    }
}

impl Buffer {
    /// A buffer: its number of elements, and their initial values.
    fn parse(element: Element, count: usize, what: &str) -> Result<Self, String> {
        let size = count.checked_mul(element.bytes()).filter(|&size| size <= MAX_BUFFER_BYTES);
        let size = size.ok_or("a buffer of more than 2 GiB")?;
        let contents = match what {
            file if file.starts_with('@') => Contents::File(file[1..].to_owned()),
            "iota" => Contents::Iota,
            "random" => Contents::Random,
            list if list.contains(',') => {
                fits(list.split(',').count() * element.bytes(), size)?;
                let mut bytes = room(size)?;
                for one in list.split(',') {
                    bytes.extend(element.parse(one)?);
                }
                Contents::List(bytes)
            }
            one => Contents::Each(element.parse(one)?),
        };
        Ok(Self { element, count, contents })
    }

    /// The bytes of all elements.
    ///
    /// # Errors
    /// If the host is out of memory, or a file can't be read or has another size.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let Self { element, count, ref contents } = *self;
        let size = count * element.bytes();
        let mut bytes = room(size)?;
        match contents {
            Contents::File(path) => {
                // One byte more, to detect a longer file.
                let read = fs::File::open(path)
                    .and_then(|file| file.take(size as u64 + 1).read_to_end(&mut bytes));
                let read = read.map_err(|error| format!("can't read {path}: {error}"))?;
                if read > size {
                    return Err(format!("{path} has more than the {size} bytes of the buffer"));
                }
                fits(read, size)?;
            }
            Contents::Iota => {
                (0..count as u64).for_each(|i| bytes.extend(element.integer_bytes(i)))
            }
            Contents::Random => {
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
            Contents::List(list) => bytes.extend(list),
            Contents::Each(one) => (0..count).for_each(|_| bytes.extend(one)),
        }
        Ok(bytes)
    }
}

/// Returns an error unless the given bytes are exactly as many as the buffer's.
fn fits(given: usize, size: usize) -> Result<(), String> {
    match given == size {
        true => Ok(()),
        false => Err(format!("{given} bytes were given for a buffer of {size}")),
    }
}

/// An empty vector with capacity for a buffer, and for one more byte that a file may have.
fn room(size: usize) -> Result<Vec<u8>, String> {
    vector(size + 1).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        match text.parse().unwrap() {
            Argument::Number { bytes, .. } => bytes,
            Argument::Buffer(buffer) => buffer.bytes().unwrap(),
            Argument::Table(_) | Argument::Structure(_) => panic!("{text} has fields"),
        }
    }

    #[test]
    fn numbers_and_buffers_are_parsed() {
        assert_eq!(bytes("u32:64"), 64_u32.to_le_bytes());
        assert_eq!(bytes("s8:-1"), [0xff]);
        assert_eq!(bytes("f32:0.5"), 0.5_f32.to_le_bytes());
        assert_eq!(bytes("u16[3]:7"), [7, 0, 7, 0, 7, 0]);
        assert_eq!(bytes("u8[3]:iota"), [0, 1, 2]);
        assert_eq!(bytes("s16[2]:-1,2"), [0xff, 0xff, 2, 0]);
        // 2049 is a tie and rounds to even; the number just above it rounds up.
        assert_eq!(bytes("f16[2]:2049,2049.0000001"), [0x00, 0x68, 0x01, 0x68]);
        assert_eq!(bytes("bf16:-1.5"), [0xc0, 0xbf]);
        assert_eq!(Element::F16.list(&bytes("f16[3]:iota"), 9), " 0.0 1.0 2.0");
        assert_eq!(Element::Bf16.list(&bytes("bf16[1]:0.1"), 9), " 0.100097656");
        assert_eq!(Element::F32.list(&bytes("f32[3]:1,2.5,-0"), 2), " 1.0 2.5 …");
        assert_eq!(Element::S32.list(&bytes("s32[2]:-7"), 9), " -7 -7");
        let random = bytes("f32[1000]:random");
        let values = random.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
        assert!(values.clone().all(|v| (-1.0..1.0).contains(&v)));
        assert!(values.sum::<f32>().abs() < 100.0);
    }

    #[test]
    fn invalid_arguments_are_reported() {
        for (text, reason) in [
            ("64", "expected TYPE:VALUE"),
            ("u33:1", "`u33` is not a type"),
            ("u8:256", "`256` is not a number of this type"),
            ("f32[x]:1", "expected TYPE[N]"),
            ("f32[3]:1,2", "8 bytes were given for a buffer of 12"),
            ("f64[9999999999999999999]:0", "more than 2 GiB"),
            ("f64[999999999999]:0", "more than 2 GiB"),
        ] {
            let message = text.parse::<Argument>().unwrap_err();
            assert!(message.contains(reason), "{text}: {message}");
        }
        let Argument::Buffer(missing) = "u8[4]:@/does/not/exist".parse().unwrap() else { panic!() };
        assert!(missing.bytes().unwrap_err().contains("can't read /does/not/exist"));
    }
}
