//! Fatbins: containers with one program's code for several cards, as machine code or as PTX,
//! uncompressed or compressed. The format is not published; this module reads the fields that give
//! an entry's kind, length and compression. The input is untrusted, so each number is checked
//! against the bytes that are there.
//!
//! The fatbins written here contain PTX and no machine code. Both the emulated driver and NVIDIA's
//! load a fatbin wherever they load a cubin; a tool that looks for machine code in one of these
//! finds none.

use std::io::Read;

use host::input::MAX_TEXT_BYTES;

/// The magic bytes at the start of a fatbin.
const MAGIC: [u8; 4] = 0xba55_ed50u32.to_le_bytes();
/// The maximum size of a fatbin in bytes. Libraries ship machine code for many cards, so fatbins
/// are larger than texts.
pub const MAX_BYTES: u64 = 4 * MAX_TEXT_BYTES;
/// The size of the container's header in bytes: the magic, a version, the header's length, and the
/// length of all entries.
pub const HEADER: usize = 16;
/// How many bytes of an entry's header are read; headers may be longer.
const ENTRY_HEADER: usize = 64;
/// The header size of the entries that this module writes.
const PTX_ENTRY_HEADER: usize = 80;
/// Kinds of entries.
const PTX: u16 = 1;
const MACHINE_CODE: u16 = 2;
/// Bits of an entry's flags.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// The flags of the entries that this module writes: 64-bit addresses, Linux.
const FLAGS: u64 = 0x11;

/// Why no PTX could be read from a fatbin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FatbinError {
    /// The header fields or the compressed data are invalid.
    #[error("the fatbin is damaged: {0}")]
    Damaged(String),
    /// The fatbin contains no PTX for this card.
    #[error("{0}")]
    NoPtx(String),
    /// The host is out of memory.
    #[error("the host is out of memory: it can't allocate {0} bytes for PTX")]
    OutOfMemory(u64),
}

/// An entry: code for one card.
#[derive(Clone, Copy, Debug)]
struct FatbinEntry<'a> {
    kind: u16,
    /// The compute capability, such as 90 for 9.0.
    capability: u32,
    flags: u64,
    payload: &'a [u8],
    /// The length of the text once decompressed, if it is compressed.
    unpacked: u64,
}

fn damaged(what: impl Into<String>) -> FatbinError {
    FatbinError::Damaged(what.into())
}

/// Whether `bytes` start like a fatbin.
#[must_use]
pub fn is_fatbin(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Computes the size of a whole fatbin in bytes from its header.
///
/// # Errors
/// [`FatbinError::Damaged`] if this is not a fatbin's header, or if the fatbin is longer than
/// [`MAX_BYTES`].
pub fn length(header: &[u8; HEADER]) -> Result<usize, FatbinError> {
    if !is_fatbin(header) {
        return Err(damaged("it does not start with a fatbin's magic number"));
    }
    let entries = u64::from_le_bytes(field(header, 8).unwrap_or_default());
    let own = u64::from(u16::from_le_bytes(field(header, 6).unwrap_or_default()));
    let whole = own.saturating_add(entries);
    if whole > MAX_BYTES {
        let log = format!("its header gives a length of {whole} bytes; the limit is {MAX_BYTES}");
        return Err(damaged(log));
    }
    Ok(whole as usize)
}

/// Creates a fatbin with one PTX text for an architecture, such as 80 for `compute_80`.
#[must_use]
pub fn from_ptx(ptx: &[u8], architecture: u32) -> Vec<u8> {
    // The text ends with at least one zero, padded to a multiple of eight bytes.
    let padded = (ptx.len() + 1).next_multiple_of(8);
    let mut image = Vec::with_capacity(HEADER + PTX_ENTRY_HEADER + padded);
    image.extend(MAGIC);
    // The format's version, the header's length, then the length of all entries.
    image.extend([1u16, HEADER as u16].map(u16::to_le_bytes).concat());
    image.extend(((PTX_ENTRY_HEADER + padded) as u64).to_le_bytes());
    // Kind and version, the length of the header, the length of the text.
    image.extend([PTX, 0x101].map(u16::to_le_bytes).concat());
    image.extend((PTX_ENTRY_HEADER as u32).to_le_bytes());
    image.extend((padded as u64).to_le_bytes());
    // Compressed size (0: not compressed), offset of the options, their version, the architecture.
    image.extend([0, 64, 7 << 16, architecture].map(u32::to_le_bytes).concat());
    image.extend([0, FLAGS, 0, 0, 0, 0].map(u64::to_le_bytes).concat());
    image.extend(ptx);
    image.resize(HEADER + PTX_ENTRY_HEADER + padded, 0);
    image
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Returns the PTX for a card: of all entries that the card can run, the one for the newest card.
///
/// # Errors
/// [`FatbinError::NoPtx`] if there is none for this card; the message names the nvcc option that adds
/// it. [`FatbinError::Damaged`] and [`FatbinError::OutOfMemory`] otherwise.
pub fn extract_ptx(bytes: &[u8], card: u32) -> Result<String, FatbinError> {
    let entries = entries(bytes)?;
    let texts = entries.iter().filter(|entry| entry.kind == PTX);
    let best =
        texts.clone().filter(|entry| entry.capability <= card).max_by_key(|one| one.capability);
    if let Some(best) = best {
        return unpack(best);
    }
    let newer: Vec<String> = texts.map(|entry| format!("compute_{}", entry.capability)).collect();
    let there = match newer.as_slice() {
        [] => "only machine code for NVIDIA's hardware".to_owned(),
        newer => {
            format!("only PTX for {}, which is newer than the emulated sm_{card}", newer.join(", "))
        }
    };
    Err(FatbinError::NoPtx(format!(
        "the fatbin contains {there}; the emulated GPU runs PTX: add it with nvcc's option -gencode \
         arch=compute_{card},code=compute_{card}"
    )))
}

fn entries(bytes: &[u8]) -> Result<Vec<FatbinEntry<'_>>, FatbinError> {
    let start = field(bytes, 6).map(u16::from_le_bytes);
    let mut at = usize::from(start.ok_or_else(|| damaged("its header is cut off"))?);
    if at < HEADER {
        return Err(damaged("its header is too short"));
    }
    let length =
        u64::from_le_bytes(field(bytes, 8).ok_or_else(|| damaged("its header is cut off"))?);
    let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length));
    let end = end.filter(|end| *end <= bytes.len()).ok_or_else(|| damaged("its end is cut off"))?;
    let mut images = Vec::new();
    while at < end {
        let header = bytes.get(at..end).filter(|rest| rest.len() >= ENTRY_HEADER);
        let header = header.ok_or_else(|| damaged("the header of an entry is cut off"))?;
        let half = |at| field(header, at).map_or(0, u16::from_le_bytes);
        let word = |at| field(header, at).map_or(0, u32::from_le_bytes);
        let long = |at| field(header, at).map_or(0, u64::from_le_bytes);
        let (own, packed) = (word(4) as usize, u64::from(word(16)));
        let size = usize::try_from(long(8)).ok();
        // The position of the next entry. An entry has at least a header, so the position grows and
        // the loop ends.
        let next = size.and_then(|size| own.checked_add(size)?.checked_add(at));
        let next = next.filter(|next| own >= ENTRY_HEADER && *next <= end);
        let next = next.ok_or_else(|| damaged("an entry is longer than the whole"))?;
        let payload = bytes.get(at + own..next).unwrap_or_default();
        let flags = long(40);
        let payload = match flags & (LZ4 | ZSTD) {
            0 => payload,
            // Zeros after the compressed data pad it to a multiple of eight.
            _ => payload
                .get(..usize::try_from(packed).unwrap_or(usize::MAX))
                .ok_or_else(|| damaged("the text of an entry is longer than the entry"))?,
        };
        let kind = half(0);
        if matches!(kind, PTX | MACHINE_CODE) {
            let capability = word(28);
            images.push(FatbinEntry { kind, capability, flags, payload, unpacked: long(56) });
        }
        at = next;
    }
    Ok(images)
}

/// Decompresses the text of an entry.
fn unpack(entry: &FatbinEntry<'_>) -> Result<String, FatbinError> {
    if entry.flags & (LZ4 | ZSTD) == 0 {
        return text(entry.payload);
    }
    if entry.unpacked > MAX_TEXT_BYTES {
        return Err(damaged(format!(
            "an entry's header gives a length of {} bytes of PTX; the limit is {MAX_TEXT_BYTES}",
            entry.unpacked
        )));
    }
    let size = entry.unpacked as usize;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| FatbinError::OutOfMemory(entry.unpacked))?;
    bytes.resize(size, 0);
    let whole = if entry.flags & LZ4 != 0 {
        lz4_flex::block::decompress_into(entry.payload, &mut bytes).is_ok_and(|len| len == size)
    } else {
        // `read_exact` never reads past the end of `bytes`, whatever length the packed data claim.
        ruzstd::decoding::StreamingDecoder::new(entry.payload)
            .is_ok_and(|mut decoder| decoder.read_exact(&mut bytes).is_ok())
    };
    if !whole {
        return Err(damaged("its PTX can't be unpacked"));
    }
    text(&bytes)
}

/// Converts bytes to a text; trailing zeros are dropped.
fn text(bytes: &[u8]) -> Result<String, FatbinError> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
    if text.contains(".version") { Ok(text) } else { Err(damaged("its PTX entry is not PTX")) }
}

#[cfg(test)]
#[path = "fatbin/tests.rs"]
mod tests;
