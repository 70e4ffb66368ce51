//! Fatbins: containers of one kernel's code for several cards, as machine code and as PTX, plain or
//! compressed. Nothing publishes the format; what is read here are the fields that say what an entry
//! is, how long, and how it is packed. Everything in it may be wrong, so that each number is held to
//! the bytes that are there.

use std::io::Read;

use ptx_emulator::room::filled;
use tensor::file::MOST_TEXT_BYTES;

use crate::error::{Code, Refusal};
use crate::host;

/// What a fatbin begins with.
const MAGIC: [u8; 4] = 0xba55_ed50u32.to_le_bytes();
/// What the structure begins with that a host compiler puts around it: two numbers, and its address.
const WRAPPER: [u8; 4] = 0x4662_43b1u32.to_le_bytes();
/// As long may one be: most of what libraries ship is machine code for many cards.
const MOST_BYTES: u64 = 4 * MOST_TEXT_BYTES;
/// Of the container's header, the first bytes: the magic, a version, its length, and the length of
/// all entries.
const HEADER: usize = 16;
/// Of an entry's header, the bytes that are read.
const ENTRY: usize = 64;
/// Kinds of entries.
const PTX: u16 = 1;
const MACHINE_CODE: u16 = 2;
/// Bits of an entry's flags.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;

/// One text for one card.
#[derive(Clone, Copy, Debug)]
struct Entry<'a> {
    kind: u16,
    /// The compute capability, as 90.
    capability: u32,
    flags: u64,
    payload: &'a [u8],
    /// The length of the text, where it is compressed.
    unpacked: u64,
}

fn refuse(code: Code, log: impl Into<String>) -> Refusal {
    Refusal { code, log: log.into() }
}

fn broken(what: &str) -> Refusal {
    refuse(Code::INVALID_IMAGE, format!("the fatbin is damaged: {what}"))
}

/// Whether bytes begin as a fatbin does, or as the structure around one.
pub(crate) fn is_fatbin(magic: [u8; 4]) -> bool {
    magic == MAGIC || magic == WRAPPER
}

/// The bytes of a fatbin in the program's memory, or of the one that a structure there names.
///
/// # Errors
/// When it can't be read, or says that it is longer than any text that is loaded.
pub(crate) fn read(address: usize) -> Result<Vec<u8>, Refusal> {
    let mut magic = [0; 4];
    let mut address = address;
    if host::gather(&[(address, 4)], &mut magic) && magic == WRAPPER {
        let inner = address.checked_add(8).and_then(|at| host::words(at, 1).ok());
        address = inner.ok_or_else(|| broken("the structure around it can't be read"))?[0];
    }
    let mut header = [0; HEADER];
    if !host::gather(&[(address, HEADER)], &mut header) || header[..4] != MAGIC {
        return Err(broken("there is none at the address that the structure around it names"));
    }
    let entries = u64::from_le_bytes(field(&header, 8).unwrap_or_default());
    let length = u64::from(u16::from_le_bytes(field(&header, 6).unwrap_or_default()));
    let whole = length.saturating_add(entries);
    if whole > MOST_BYTES {
        return Err(broken(&format!(
            "it says that it has {whole} bytes; at most {MOST_BYTES} are read"
        )));
    }
    let room = |error| refuse(Code::OUT_OF_MEMORY, format!("the host has not the room: {error}"));
    let mut bytes = filled(0, whole as usize).map_err(room)?;
    if !host::gather(&[(address, whole as usize)], &mut bytes) {
        return Err(broken(&format!("it says that it has {whole} bytes, which can't be read")));
    }
    Ok(bytes)
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The PTX of a fatbin for a card: that for the newest card that isn't newer than it.
///
/// # Errors
/// `NO_BINARY_FOR_GPU` where there is none, `INVALID_IMAGE` where it is damaged.
pub(crate) fn ptx_of(bytes: &[u8], card: u32) -> Result<String, Refusal> {
    let entries = entries(bytes)?;
    let texts = entries.iter().filter(|entry| entry.kind == PTX);
    let best =
        texts.clone().filter(|entry| entry.capability <= card).max_by_key(|one| one.capability);
    if let Some(best) = best {
        return unpack(best);
    }
    let newer: Vec<String> = texts.map(|entry| format!("compute_{}", entry.capability)).collect();
    let there = match newer.as_slice() {
        [] => "machine code for NVIDIA's hardware alone".to_owned(),
        newer => format!(
            "PTX for {} alone, which the emulated sm_{card} is older than",
            newer.join(", ")
        ),
    };
    Err(refuse(
        Code::NO_BINARY_FOR_GPU,
        format!(
            "the fatbin has {there}; the emulated GPU runs PTX: have nvcc put it in with -gencode \
             arch=compute_{card},code=compute_{card}"
        ),
    ))
}

fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Refusal> {
    let start = field(bytes, 6).map(u16::from_le_bytes);
    let mut at = usize::from(start.ok_or_else(|| broken("its header is cut off"))?);
    if at < HEADER {
        return Err(broken("its header is too short"));
    }
    let length =
        u64::from_le_bytes(field(bytes, 8).ok_or_else(|| broken("its header is cut off"))?);
    let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length));
    let end = end.filter(|end| *end <= bytes.len()).ok_or_else(|| broken("its end is cut off"))?;
    let mut found = Vec::new();
    while at < end {
        let header = bytes.get(at..end).filter(|rest| rest.len() >= ENTRY);
        let header = header.ok_or_else(|| broken("the header of an entry is cut off"))?;
        let half = |at| field(header, at).map_or(0, u16::from_le_bytes);
        let word = |at| field(header, at).map_or(0, u32::from_le_bytes);
        let long = |at| field(header, at).map_or(0, u64::from_le_bytes);
        let (own, packed) = (word(4) as usize, u64::from(word(16)));
        let size = usize::try_from(long(8)).ok();
        // Each is longer than nothing, so that this ends.
        let next = size.and_then(|size| own.checked_add(size)?.checked_add(at));
        let next = next.filter(|next| own >= ENTRY && *next <= end);
        let next = next.ok_or_else(|| broken("an entry is longer than the whole"))?;
        let payload = bytes.get(at + own..next).unwrap_or_default();
        let flags = long(40);
        let payload = match flags & (LZ4 | ZSTD) {
            0 => payload,
            // Behind it, zeros fill up to a multiple of eight.
            _ => payload
                .get(..usize::try_from(packed).unwrap_or(usize::MAX))
                .ok_or_else(|| broken("the text of an entry is longer than the entry"))?,
        };
        let kind = half(0);
        if matches!(kind, PTX | MACHINE_CODE) {
            let capability = word(28);
            found.push(Entry { kind, capability, flags, payload, unpacked: long(56) });
        }
        at = next;
    }
    Ok(found)
}

/// The text of an entry.
fn unpack(entry: &Entry<'_>) -> Result<String, Refusal> {
    if entry.flags & (LZ4 | ZSTD) == 0 {
        return text(entry.payload);
    }
    if entry.unpacked > MOST_TEXT_BYTES {
        return Err(broken(&format!(
            "it says that its PTX has {} bytes; at most {MOST_TEXT_BYTES} are read",
            entry.unpacked
        )));
    }
    let size = entry.unpacked as usize;
    let room = |error| refuse(Code::OUT_OF_MEMORY, format!("the host has not the room: {error}"));
    let mut bytes = filled(0, size).map_err(room)?;
    let whole = if entry.flags & LZ4 != 0 {
        lz4_flex::block::decompress_into(entry.payload, &mut bytes).is_ok_and(|len| len == size)
    } else {
        // It reads no further than what it was told, whatever is packed.
        ruzstd::decoding::StreamingDecoder::new(entry.payload)
            .is_ok_and(|mut decoder| decoder.read_exact(&mut bytes).is_ok())
    };
    if !whole {
        return Err(broken("its PTX can't be unpacked"));
    }
    text(&bytes)
}

/// A text, which zeros may stand behind.
fn text(bytes: &[u8]) -> Result<String, Refusal> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
    if text.contains(".version") { Ok(text) } else { Err(broken("what it has as PTX is none")) }
}

#[cfg(test)]
#[path = "fatbin/tests.rs"]
mod tests;
