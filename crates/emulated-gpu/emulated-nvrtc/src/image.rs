//! What is given in place of machine code: a fatbin that has the PTX. Drivers load one wherever they load a
//! cubin, the emulated one and NVIDIA's; whoever looks for machine code in it finds none.

/// `fatBinary` and an entry's header, bytes.
const HEADER: usize = 16;
const ENTRY: usize = 80;
/// What a fatbin begins with.
const MAGIC: u32 = 0xba55_ed50;
/// An entry that is PTX.
const PTX: u16 = 1;
/// Flags of an entry: for 64-bit addresses, on Linux.
const FLAGS: u64 = 0x11;

/// A fatbin of one text for an architecture, as 80 for `compute_80`.
pub(crate) fn fatbin(ptx: &[u8], architecture: u32) -> Vec<u8> {
    // It ends in zeros, at least one, at a multiple of eight.
    let padded = (ptx.len() + 1).next_multiple_of(8);
    let mut image = Vec::with_capacity(HEADER + ENTRY + padded);
    image.extend(MAGIC.to_le_bytes());
    // Version and length of the header, then the length of all entries.
    image.extend([1u16, HEADER as u16].map(u16::to_le_bytes).concat());
    image.extend(((ENTRY + padded) as u64).to_le_bytes());
    // Kind and version, the length of the header, that of the text.
    image.extend([PTX, 0x101].map(u16::to_le_bytes).concat());
    image.extend((ENTRY as u32).to_le_bytes());
    image.extend((padded as u64).to_le_bytes());
    // Not compressed; where options would stand; the version of what they mean.
    image.extend([0, 64, 7 << 16, architecture].map(u32::to_le_bytes).concat());
    image.extend([0, FLAGS, 0, 0, 0, 0].map(u64::to_le_bytes).concat());
    image.extend(ptx);
    image.resize(HEADER + ENTRY + padded, 0);
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_as_long_as_it_says() {
        for text in ["", ".version 8.0", "1234567", "12345678"] {
            let image = fatbin(text.as_bytes(), 80);
            let entries = u64::from_le_bytes(image[8..16].try_into().unwrap()) as usize;
            let payload = u64::from_le_bytes(image[24..32].try_into().unwrap()) as usize;
            assert_eq!((image.len(), payload), (HEADER + entries, entries - ENTRY));
            assert_eq!(image[44..48], 80u32.to_le_bytes());
            assert_eq!(image[56..64], FLAGS.to_le_bytes());
            assert!(image[HEADER + ENTRY..].starts_with(text.as_bytes()));
            assert_eq!(image.last(), Some(&0));
        }
    }
}
