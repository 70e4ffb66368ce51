//! Fatbins: containers of one kernel's code for several cards, as machine code and as PTX, plain or
//! compressed. Nothing publishes the format; what is read here are the fields that say what an entry
//! is, how long, and how it is packed. Everything in it may be wrong, so that each number is held to
//! the bytes that are there.
//!
//! What is written here stands in place of machine code: a fatbin with PTX. Drivers load one wherever
//! they load a cubin, the emulated one and NVIDIA's; whoever looks for machine code in it finds none.

use std::io::Read;

use host::input::MAX_TEXT_BYTES;

/// What a fatbin begins with.
const MAGIC: [u8; 4] = 0xba55_ed50u32.to_le_bytes();
/// As long may one be, in bytes: most of what libraries ship is machine code for many cards.
pub const MOST_BYTES: u64 = 4 * MAX_TEXT_BYTES;
/// Of the container's header, the first bytes: the magic, a version, its length, and the length of
/// all entries.
pub const HEADER: usize = 16;
/// Of an entry's header, the bytes that are read.
const ENTRY: usize = 64;
/// Of an entry that is written, the bytes of its header.
const WRITTEN: usize = 80;
/// Kinds of entries.
const PTX: u16 = 1;
const MACHINE_CODE: u16 = 2;
/// Bits of an entry's flags.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// The others that are written: 64-bit addresses, Linux.
const FLAGS: u64 = 0x11;

/// Why there is no PTX in a fatbin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// Its numbers or its compressed texts are.
    #[error("the fatbin is damaged: {0}")]
    Damaged(String),
    /// It has none for this card.
    #[error("{0}")]
    NoPtx(String),
    /// The host has no memory for it.
    #[error("the host has not the room for {0} bytes of PTX")]
    OutOfMemory(u64),
}

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

fn broken(what: impl Into<String>) -> Wrong {
    Wrong::Damaged(what.into())
}

/// Whether bytes begin as a fatbin does.
#[must_use]
pub fn is_fatbin(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// The bytes of a whole fatbin, by its header.
///
/// # Errors
/// When it is none, or says that it is longer than any that is read.
pub fn length(header: &[u8; HEADER]) -> Result<usize, Wrong> {
    if !is_fatbin(header) {
        return Err(broken("it does not begin as one"));
    }
    let entries = u64::from_le_bytes(field(header, 8).unwrap_or_default());
    let own = u64::from(u16::from_le_bytes(field(header, 6).unwrap_or_default()));
    let whole = own.saturating_add(entries);
    if whole > MOST_BYTES {
        let log = format!("it says that it has {whole} bytes; at most {MOST_BYTES} are read");
        return Err(broken(log));
    }
    Ok(whole as usize)
}

/// A fatbin of one PTX text for an architecture, as 80 for `compute_80`.
#[must_use]
pub fn of_ptx(ptx: &[u8], architecture: u32) -> Vec<u8> {
    // It ends in zeros, at least one, at a multiple of eight.
    let padded = (ptx.len() + 1).next_multiple_of(8);
    let mut image = Vec::with_capacity(HEADER + WRITTEN + padded);
    image.extend(MAGIC);
    // Version and length of the header, then the length of all entries.
    image.extend([1u16, HEADER as u16].map(u16::to_le_bytes).concat());
    image.extend(((WRITTEN + padded) as u64).to_le_bytes());
    // Kind and version, the length of the header, that of the text.
    image.extend([PTX, 0x101].map(u16::to_le_bytes).concat());
    image.extend((WRITTEN as u32).to_le_bytes());
    image.extend((padded as u64).to_le_bytes());
    // Not compressed; where options would stand; the version of what they mean.
    image.extend([0, 64, 7 << 16, architecture].map(u32::to_le_bytes).concat());
    image.extend([0, FLAGS, 0, 0, 0, 0].map(u64::to_le_bytes).concat());
    image.extend(ptx);
    image.resize(HEADER + WRITTEN + padded, 0);
    image
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The PTX of a fatbin for a card: that for the newest card that isn't newer than it.
///
/// # Errors
/// [`Wrong::NoPtx`] where there is none, with what to ask for instead, and whatever else is wrong.
pub fn ptx_of(bytes: &[u8], card: u32) -> Result<String, Wrong> {
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
    Err(Wrong::NoPtx(format!(
        "the fatbin has {there}; the emulated GPU runs PTX: have nvcc put it in with -gencode \
         arch=compute_{card},code=compute_{card}"
    )))
}

fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Wrong> {
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
fn unpack(entry: &Entry<'_>) -> Result<String, Wrong> {
    if entry.flags & (LZ4 | ZSTD) == 0 {
        return text(entry.payload);
    }
    if entry.unpacked > MAX_TEXT_BYTES {
        return Err(broken(format!(
            "it says that its PTX has {} bytes; at most {MAX_TEXT_BYTES} are read",
            entry.unpacked
        )));
    }
    let size = entry.unpacked as usize;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| Wrong::OutOfMemory(entry.unpacked))?;
    bytes.resize(size, 0);
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
fn text(bytes: &[u8]) -> Result<String, Wrong> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
    if text.contains(".version") { Ok(text) } else { Err(broken("what it has as PTX is none")) }
}

#[cfg(test)]
#[path = "fatbin/tests.rs"]
mod tests;
