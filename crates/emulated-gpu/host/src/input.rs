//! Bounded reads of untrusted files.

use std::fs::File;
use std::io::{self, Chain, Cursor, Read, Take};
use std::path::Path;

/// Opens a file for reading.
///
/// # Errors
/// Errors of the operating system. Also if the path is a folder, which the system would open.
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder, not a file"));
    }
    Ok(file)
}

/// The size limit of a text that a person wrote, such as a kernel; thousands of times the longest one in this
/// workspace.
pub const MAX_TEXT_BYTES: u64 = 1 << 26;

/// Reads a text of at most [`MAX_TEXT_BYTES`]. Invalid UTF-8 is replaced, and the text's parser reports it.
///
/// # Errors
/// See [`read_file`].
pub fn text(path: &Path) -> io::Result<String> {
    let bytes = read_file(path, MAX_TEXT_BYTES, |_| false)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Reads everything from a reader, such as an unpacked archive, up to a limit: an archive may be a thousand times as
/// large once unpacked, and a device may be endless.
///
/// # Errors
/// If there are more than `max` bytes, if memory is short, or if the reader fails.
pub fn read(reader: impl Read, max: u64) -> io::Result<Vec<u8>> {
    read_until(reader, max, |_| false)
}

/// Opens a file and reads it like [`read_until`]. A regular file that is too large is not read at all.
///
/// # Errors
/// See [`open`] and [`read`].
pub fn read_file(path: &Path, max: u64, is_enough: impl Fn(&[u8]) -> bool) -> io::Result<Vec<u8>> {
    read_until(open_up_to(path, max)?, max, is_enough)
}

/// Opens a file for reading up to a limit; a larger regular file is an error.
///
/// # Errors
/// See [`open`]; also if the file is too large.
pub fn open_up_to(path: &Path, max: u64) -> io::Result<File> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.len() > max { Err(too_large(max)) } else { Ok(file) }
}

/// Reads like [`read_until`]. Input that starts like a gzip file goes through `unpack`, which reads only as much as
/// needed. The limit applies to both the packed and the unpacked bytes.
///
/// # Errors
/// See [`read`]; also if `unpack` fails.
pub fn read_packed<R: Read, U: Read>(
    mut reader: R,
    max: u64,
    unpack: impl FnOnce(Chain<Cursor<Vec<u8>>, Take<R>>) -> U,
    is_enough: impl Fn(&[u8]) -> bool,
) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    reader.by_ref().take(2).read_to_end(&mut start)?;
    let is_packed = start == [0x1f, 0x8b];
    let whole = Cursor::new(start).chain(reader.take(max.saturating_add(1)));
    if !is_packed {
        return read_until(whole, max, is_enough);
    }
    read_until(unpack(whole), max, is_enough).map_err(|error| {
        let what = match error.kind() {
            io::ErrorKind::FileTooLarge => "unpacked, ",
            io::ErrorKind::OutOfMemory => "",
            _ => "its gzip is bad: ",
        };
        io::Error::new(error.kind(), format!("{what}{error}"))
    })
}

/// Reads like [`read`], but may stop early: `is_enough` is called with the bytes so far each time that their number
/// has doubled. If it returns true, because the file is of the wrong kind or continues after its logical end, these
/// bytes are the result.
///
/// # Errors
/// See [`read`].
pub fn read_until(
    mut reader: impl Read,
    max: u64,
    is_enough: impl Fn(&[u8]) -> bool,
) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        // The buffer is doubled, so that each byte is copied only a few times. If memory is short, this is an error
        // instead of an abort.
        let room = bytes.len().max(1 << 16);
        bytes.try_reserve(room).map_err(|_| {
            let reason =
                format!("there is not enough memory for more than its first {} bytes", bytes.len());
            io::Error::new(io::ErrorKind::OutOfMemory, reason)
        })?;
        let before = bytes.len();
        let limit = (room as u64).min(max + 1 - before as u64);
        reader.by_ref().take(limit).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max {
            return Err(too_large(max));
        }
        if bytes.len() - before < room || is_enough(&bytes) {
            return Ok(bytes);
        }
    }
}

fn too_large(max: u64) -> io::Error {
    let reason = format!("it has more than {max} bytes, the limit");
    io::Error::new(io::ErrorKind::FileTooLarge, reason)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// An endless reader that counts the bytes read from it.
    struct Endless<'a>(u8, &'a Cell<usize>);

    impl Read for Endless<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            into.fill(self.0);
            self.1.set(self.1.get() + into.len());
            Ok(into.len())
        }
    }

    #[test]
    fn reading_stops_when_it_is_enough() {
        let count = Cell::new(0);
        let bytes = read_until(Endless(b'y', &count), 1 << 30, |bytes| bytes[0] != b'{').unwrap();
        assert_eq!((bytes.len(), count.get()), (1 << 16, 1 << 16));
        count.set(0);
        let end = |bytes: &[u8]| bytes.len() > 300_000;
        assert_eq!(read_until(Endless(0, &count), 1 << 30, end).unwrap().len(), 1 << 19);
        assert_eq!(count.get(), 1 << 19);
        let error = read_until(Endless(0, &count), 1 << 17, |_| false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn packed_input_is_read_only_as_far_as_needed() {
        let count = Cell::new(0);
        let packed = || (&[0x1f, 0x8b][..]).chain(Endless(b'y', &count));
        // Simulates compressed input, in which every byte unpacks to itself.
        let read = |max, is_enough: fn(&[u8]) -> bool| {
            read_packed(packed(), max, |packed| packed, is_enough)
        };
        assert_eq!(read(1 << 30, |_| true).unwrap().len(), 1 << 16);
        assert!(count.get() <= 1 << 16, "{}", count.get());
        let error = read(1 << 20, |_| false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(error.to_string().starts_with("unpacked, it has more than"), "{error}");
        // Packed input that unpacks to no bytes is limited too.
        count.set(0);
        let nothing = |mut packed: Chain<_, Take<_>>| {
            io::copy(&mut packed, &mut io::sink()).unwrap();
            io::empty()
        };
        assert!(read_packed(packed(), 1 << 20, nothing, |_| false).unwrap().is_empty());
        assert!(count.get() <= (1 << 20) + 1, "{}", count.get());
        assert_eq!(read_packed(&b"plain"[..], 9, |_| io::empty(), |_| false).unwrap(), b"plain");
    }

    #[cfg(unix)]
    #[test]
    fn too_large_files_are_not_read() {
        let path = std::env::temp_dir().join(format!("host-input-{}", std::process::id()));
        // A sparse file takes no disk space.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let error = read_file(&path, 1 << 30, |_| unreachable!("nothing is read")).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        let zeros = Path::new("/dev/zero");
        assert_eq!(read_file(zeros, 1 << 30, |bytes| bytes[0] == 0).unwrap().len(), 1 << 16);
    }
}
