//! Buffers with names, and tables that hold their addresses.

use std::str::FromStr;

use super::argument::{Argument, Buffer};

/// Maximum number of fields of a table.
const MAX_FIELDS: usize = 1 << 16;

/// A buffer with a name, which is not an argument.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedBuffer {
    /// The name that tables use.
    pub name: String,
    /// The buffer and its initial contents.
    pub buffer: Buffer,
}

impl FromStr for NamedBuffer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, what) =
            text.split_once('=').ok_or("expected NAME=TYPE[N]:WHAT, such as w1=f32[64]:random")?;
        if !is_name(name) {
            return Err(format!(
                "`{name}` is not a name: use letters, digits and _, with a letter first"
            ));
        }
        match what.parse()? {
            Argument::Buffer(buffer) => Ok(Self { name: name.to_owned(), buffer }),
            _ => Err(format!("{name} must be a buffer, such as f32[64]:random")),
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text != NULL
}

/// The null address.
const NULL: &str = "null";

/// A field of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// The bytes of a number.
    Number(Vec<u8>),
    /// The address of a buffer, by its name; `None` for null.
    Address(Option<String>),
}

/// Parses the fields of a table or a structure, separated by commas: TYPE:VALUE, the name of a buffer, or null.
pub(super) fn fields(text: &str) -> Result<Vec<Field>, String> {
    let mut fields = Vec::new();
    for one in text.split(',') {
        if fields.len() == MAX_FIELDS {
            return Err(format!("a table of more than {MAX_FIELDS} fields"));
        }
        fields.push(match one {
            NULL => Field::Address(None),
            name if is_name(name) => Field::Address(Some(name.to_owned())),
            number => match number.parse()? {
                Argument::Number { bytes, .. } => Field::Number(bytes),
                _ => {
                    return Err(format!(
                        "`{number}` is not a field: a table has numbers, and addresses of buffers by \
                         the names that --buffer gives them"
                    ));
                }
            },
        });
    }
    Ok(fields)
}

/// The bytes of a table, with the layout of a C structure: each field at a multiple of its size. `address`
/// returns the address of a named buffer.
///
/// # Errors
/// If a name is unknown.
pub(super) fn lay_out(
    fields: &[Field],
    address: impl Fn(&str) -> Option<u64>,
) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for field in fields {
        let field = match field {
            Field::Number(bytes) => bytes.clone(),
            Field::Address(None) => vec![0; 8],
            Field::Address(Some(name)) => {
                let buffer_address = address(name);
                let buffer_address = buffer_address.ok_or_else(|| {
                    format!("a table refers to `{name}`, but no --buffer has this name")
                })?;
                buffer_address.to_le_bytes().to_vec()
            }
        };
        bytes.resize(bytes.len().next_multiple_of(field.len()), 0);
        bytes.extend(field);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_layout_of_a_c_structure() {
        let found = fields("u32:3,u8:7,u16:9,b,null,f32:1").unwrap();
        let bytes = lay_out(&found, |name| (name == "b").then_some(0x1122)).unwrap();
        let mut expected = vec![3, 0, 0, 0, 7, 0, 9, 0, 0x22, 0x11];
        expected.resize(24, 0);
        expected.extend(1_f32.to_le_bytes());
        assert_eq!(bytes, expected);
    }

    #[test]
    fn invalid_tables_are_reported() {
        assert!(lay_out(&fields("x").unwrap(), |_| None).unwrap_err().contains("refers to `x`"));
        for (text, reason) in [
            ("", "expected TYPE:VALUE"),
            ("u32:1,,x", "expected TYPE:VALUE"),
            ("u32[3]:1", "is not a field"),
            ("u99:1", "`u99` is not a type"),
            ("1x", "expected TYPE:VALUE"),
        ] {
            assert!(fields(text).unwrap_err().contains(reason), "{text}");
        }
        for (text, reason) in [
            ("w", "expected NAME=TYPE[N]:WHAT"),
            ("3=f32[1]:0", "is not a name"),
            ("null=f32[1]:0", "is not a name"),
            ("w=f32:0", "must be a buffer"),
            ("w=table:u32:1", "must be a buffer"),
        ] {
            assert!(text.parse::<NamedBuffer>().unwrap_err().contains(reason), "{text}");
        }
    }
}
