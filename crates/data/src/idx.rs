//! The IDX format of MNIST's files.
//!
//! All integers are big-endian. A file begins with a magic number, two zero bytes, the type of the
//! elements (8: unsigned byte) and the number of axes, then has the length of each axis as `u32`,
//! then the elements, last axis fastest.

use std::cmp::Ordering;
use std::io::{self, Read};
use std::path::Path;

use crate::{CLASSES, HEIGHT, WIDTH};
use flate2::read::MultiGzDecoder;
use host::Foreign;
use host::file;

/// The magic number of a file of images: unsigned bytes, on the three axes image, row and column.
const IMAGES_MAGIC: u32 = 0x0000_0803;
/// The magic number of a file of labels: unsigned bytes, on one axis.
const LABELS_MAGIC: u32 = 0x0000_0801;
/// The maximum number of bytes that are read. MNIST's largest file has 47 MB.
const MAX_BYTES: u64 = 1 << 28;

/// Reads a file, and decompresses it if its content is gzipped, whatever its name. Reading ends early if the first
/// bytes can't begin an IDX file, or there are more bytes than the IDX header states.
///
/// # Errors
/// If the file can't be read, its gzip is corrupt or cut off, or it has more bytes than any file of MNIST.
pub(crate) fn read_unpacked(path: &Path) -> io::Result<Vec<u8>> {
    unpacked(file::open_up_to(path, MAX_BYTES)?)
}

/// The content of a reader, decompressed if it is gzipped.
///
/// # Errors
/// As [`read_unpacked`].
pub(crate) fn unpacked(reader: impl Read) -> io::Result<Vec<u8>> {
    file::read_packed(reader, MAX_BYTES, MultiGzDecoder::new, is_enough)
}

/// Whether these bytes begin like a gzip file.
pub(crate) fn is_gzipped(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Whether the first bytes of a file already suffice to reject it, so that reading can stop.
fn is_enough(bytes: &[u8]) -> bool {
    let images = || header(bytes, "images", IMAGES_MAGIC).map(images_length);
    let expected = header(bytes, "labels", LABELS_MAGIC).map(labels_length).or_else(|_| images());
    expected.map_or(true, |expected| bytes.len() as u64 > expected)
}

/// The length of a file of images, in bytes.
fn images_length([count, rows, columns]: [u32; 3]) -> u64 {
    let pixels = u64::from(rows) * u64::from(columns);
    pixels.saturating_mul(count.into()).saturating_add(16)
}

/// The length of a file of labels, in bytes.
fn labels_length([count]: [u32; 1]) -> u64 {
    8 + u64::from(count)
}

/// The pixels `[N, 28·28]` in the bytes of an IDX file of 28 x 28 images.
///
/// # Errors
/// If the bytes are not exactly such a file. The error is the reason.
pub(crate) fn images(mut bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let lengths @ [_, rows, columns] = header(&bytes, "images", IMAGES_MAGIC)?;
    if (rows as usize, columns as usize) != (HEIGHT, WIDTH) {
        return Err(format!("its images have {rows} x {columns} pixels, but MNIST's have 28 x 28"));
    }
    check_length(&bytes, images_length(lengths))?;
    bytes.drain(..16);
    Ok(bytes)
}

/// The labels `[N]`, each from 0 to 9, in the bytes of an IDX file.
///
/// # Errors
/// As [`images`].
pub(crate) fn labels(mut bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let lengths = header(&bytes, "labels", LABELS_MAGIC)?;
    check_length(&bytes, labels_length(lengths))?;
    bytes.drain(..8);
    match bytes.iter().position(|&label| usize::from(label) >= CLASSES) {
        Some(index) => {
            let label = bytes[index];
            Err(format!("label {index} is {label}, but labels are digits from 0 to 9"))
        }
        None => Ok(bytes),
    }
}

/// The lengths of the axes, after the magic number has been checked.
fn header<const AXES: usize>(
    bytes: &[u8],
    what: &'static str,
    magic: u32,
) -> Result<[u32; AXES], String> {
    let mut words = bytes.chunks_exact(4).map(|w| u32::from_be_bytes([w[0], w[1], w[2], w[3]]));
    let short = || {
        let (found, header) = (bytes.len(), 4 * (1 + AXES));
        format!("it ends after {found} bytes, within the header of {header} bytes")
    };
    // The magic number is checked first, so that a file of another format isn't called too short.
    let found = words.next().ok_or_else(short)?;
    if let Some(found) = Foreign::detect(bytes) {
        return Err(found.instead_of("an IDX file", ""));
    }
    if found != magic {
        return Err(format!(
            "it begins with {found:#010x}, but an IDX file of {what} begins with {magic:#010x}"
        ));
    }
    let mut lengths = [0; AXES];
    for length in &mut lengths {
        *length = words.next().ok_or_else(short)?;
    }
    Ok(lengths)
}

/// Checks that a file has the length that follows from its header.
fn check_length(bytes: &[u8], expected: u64) -> Result<(), String> {
    let found = bytes.len();
    match (found as u64).cmp(&expected) {
        Ordering::Less => {
            Err(format!("it is cut off: its header promises {expected} bytes, but it has {found}"))
        }
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(format!(
            "it has too many bytes: it continues after the {expected} bytes that its header promises"
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;
    use crate::PIXELS;

    fn file(words: &[u32], content: &[u8]) -> Vec<u8> {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        bytes.extend_from_slice(content);
        bytes
    }

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn well_formed_files_are_read() {
        let content: Vec<u8> = (0..2 * PIXELS).map(|i| (i % 251) as u8).collect();
        let bytes = file(&[IMAGES_MAGIC, 2, 28, 28], &content);
        assert_eq!(images(unpacked(&gzipped(&bytes)[..]).unwrap()).unwrap(), content);
        assert_eq!(images(bytes).unwrap(), content);
        assert_eq!(labels(file(&[LABELS_MAGIC, 3], &[9, 0, 5])).unwrap(), [9, 0, 5]);
        assert_eq!(labels(file(&[LABELS_MAGIC, 0], &[])).unwrap(), [0; 0]);
    }

    #[test]
    fn each_fault_has_its_own_error() {
        let image = |words: &[u32], length| images(file(words, &vec![0; length])).unwrap_err();
        let header = |found| format!("it ends after {found} bytes, within the header of 16 bytes");
        assert_eq!(image(&[IMAGES_MAGIC, 1, 28], 0), header(12));
        assert_eq!(image(&[], 3), header(3));
        for (bytes, name) in [
            (&b"<!DOCTYPE html><title>404</title>"[..], "it is an HTML page, not an IDX file"),
            (b"version https://git-lfs.github.com/spec/v1\n", "`git lfs pull`"),
        ] {
            let error = images(bytes.to_vec()).unwrap_err();
            assert!(error.contains(name), "{error}");
            assert_eq!(labels(bytes.to_vec()).unwrap_err(), error);
        }
        assert_eq!(
            image(&[LABELS_MAGIC, 1], 1),
            "it begins with 0x00000801, but an IDX file of images begins with 0x00000803"
        );
        assert_eq!(
            image(&[IMAGES_MAGIC, 1, 32, 28], 32 * 28),
            "its images have 32 x 28 pixels, but MNIST's have 28 x 28"
        );
        let truncated = |expected: u64, found: u64| {
            format!("it is cut off: its header promises {expected} bytes, but it has {found}")
        };
        let trailing = |bytes: u64| {
            format!(
                "it has too many bytes: it continues after the {bytes} bytes that its header promises"
            )
        };
        assert_eq!(image(&[IMAGES_MAGIC, 2, 28, 28], 784), truncated(16 + 2 * 784, 16 + 784));
        // A header that states a length of terabytes must not cause an allocation.
        let promised = 16 + u64::from(u32::MAX) * 784;
        assert_eq!(image(&[IMAGES_MAGIC, u32::MAX, 28, 28], 784), truncated(promised, 16 + 784));
        assert_eq!(image(&[IMAGES_MAGIC, 1, 28, 28], 785), trailing(800));
        let label = |count, content: &[u8]| labels(file(&[LABELS_MAGIC, count], content));
        assert_eq!(
            label(3, &[1, 10, 2]).unwrap_err(),
            "label 1 is 10, but labels are digits from 0 to 9"
        );
        assert_eq!(label(2, &[1]), Err(truncated(10, 9)));
        assert_eq!(label(0, &[1]), Err(trailing(8)));
    }

    /// Implausible files are: an endless device, other formats, and plain or gzipped files with more bytes than their
    /// headers state.
    #[test]
    fn implausible_files_are_not_read_to_their_end() {
        let zeros = vec![0; 1 << 22];
        for (start, read) in [
            (&[][..], 1 << 16),
            (&[IMAGES_MAGIC, 100, 28, 28][..], 1 << 17),
            (&[IMAGES_MAGIC, u32::MAX, u32::MAX, u32::MAX], zeros.len() + 16),
            (&[LABELS_MAGIC, 100_000], 1 << 17),
        ] {
            let bytes = file(start, &zeros);
            assert_eq!(unpacked(&bytes[..]).unwrap().len(), read, "{start:?}");
            assert_eq!(unpacked(&gzipped(&bytes)[..]).unwrap().len(), read, "{start:?}");
        }
    }

    #[test]
    fn bad_gzip_is_refused() {
        let whole = gzipped(&(0..5000).map(|i| (i * i % 253) as u8).collect::<Vec<_>>());
        let cut = unpacked(&whole[..whole.len() / 2]).unwrap_err();
        assert!(cut.to_string().starts_with("its gzip is bad"), "{cut}");
        let mut corrupt = whole.clone();
        let checksum = corrupt.len() - 6;
        corrupt[checksum] ^= 1;
        unpacked(&corrupt[..]).unwrap_err();
        let mut followed = whole;
        followed.extend_from_slice(b"and more");
        unpacked(&followed[..]).unwrap_err();
    }
}
