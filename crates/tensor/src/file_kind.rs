//! Early recognition of files of the wrong kind from their first bytes, so that an endless pipe or device
//! is not read up to the limit.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// The maximum size of a safetensors file's header. The header of ten thousand tensors has 1 MiB.
const MAX_HEADER_BYTES: u64 = 1 << 24;
/// The size up to which the beginning of JSON is checked. Files of another kind are recognised long before.
const MAX_JSON_BYTES: usize = 1 << 24;

/// An entry of a safetensors header: the position of a tensor in the file. The entry for metadata has none.
#[derive(Deserialize)]
struct TensorPlace {
    #[serde(default, rename = "data_offsets")]
    bytes: Value,
}

/// Whether a reader of safetensors can stop after these first bytes of a file, because the file is of another kind, or
/// longer than its header states. A safetensors file begins with the length of its header. The header is JSON, and
/// states the first and the last byte of each tensor.
#[must_use]
pub fn cannot_be_safetensors(bytes: &[u8]) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk() else { return false };
    let length = u64::from_le_bytes(*length);
    if length > MAX_HEADER_BYTES || rest.first().is_some_and(|first| *first != b'{') {
        return true;
    }
    let Some((header, tensors)) = rest.split_at_checked(length as usize) else { return false };
    let Ok(places) = serde_json::from_slice::<HashMap<String, TensorPlace>>(header) else {
        return true;
    };
    let end = places.values().filter_map(|place| place.bytes.get(1)?.as_u64()).max();
    tensors.len() as u64 > end.unwrap_or(0)
}

/// Whether these first bytes of a file can't be the beginning of JSON objects, so that a reader of dumps or reports can
/// stop.
#[must_use]
pub fn cannot_be_json(bytes: &[u8]) -> bool {
    if bytes.len() > MAX_JSON_BYTES {
        return false;
    }
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return true;
    }
    let error = |bytes: &[u8]| {
        let mut objects = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
        let error = objects.find_map(Result::err)?;
        (!error.is_eof()).then(|| (error.line(), error.column()))
    };
    // A syntax error at the end may be caused by a truncated number. Such an error is at another position if the last
    // byte is removed.
    error(bytes).is_some_and(|place| error(&bytes[..bytes.len() - 1]) == Some(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn safetensors(header: &str, tensors: usize) -> Vec<u8> {
        let length = header.len() as u64;
        [&length.to_le_bytes()[..], header.as_bytes(), &vec![0; tensors]].concat()
    }

    #[test]
    fn a_safetensors_file_is_read_to_its_end_and_no_other_one_is() {
        let header = r#"{"__metadata__":{"data_offsets":"no number"},"b":{"dtype":"F32","shape":[2],"data_offsets":[40,48]},"a":{"data_offsets":[0,40]}}"#;
        let whole = safetensors(header, 48);
        for length in 0..=whole.len() {
            assert!(!cannot_be_safetensors(&whole[..length]), "{length} bytes");
        }
        assert!(cannot_be_safetensors(&safetensors(header, 49)));
        let others: [&[u8]; 5] = [
            &[0; 1 << 16],
            &b"y\n".repeat(1 << 15),
            b"version https://git-lfs.github.com/spec/v1",
            &safetensors("[1, 2, 3]", 8),
            &safetensors("{not JSON}", 8),
        ];
        for other in others {
            assert!(cannot_be_safetensors(other), "{:?}", &other[..8]);
        }
    }

    #[test]
    fn dumps_are_read_to_their_end_and_nothing_else_is() {
        let dumps = b" \n{\"a\": [1, -2.5e3, \"text\"], \"b\": {}}\n{\"a\": null}\n";
        // Beginnings of fewer than three bytes are left out, because a reader doesn't check before the first brace.
        for length in 3..=dumps.len() {
            assert!(!cannot_be_json(&dumps[..length]), "{length} bytes");
        }
        let long = [&b"{\"a\": \""[..], &vec![b'x'; 1 << 20]].concat();
        assert!(!cannot_be_json(&long));
        let others: [&[u8]; 6] = [
            &[b' '; 1 << 16],
            &[0; 1 << 16],
            &b"y\n".repeat(1 << 15),
            b"[1, 2",
            &b"{\n".repeat(1 << 15),
            b"{\"a\": 1}\n{\"b\": 2} y\n",
        ];
        for other in others {
            assert!(cannot_be_json(other), "{:?}", &other[..2]);
        }
    }
}
