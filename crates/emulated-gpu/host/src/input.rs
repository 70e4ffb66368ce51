//! Bounded reads of untrusted files.

use std::fs::File;
use std::io::{self, Chain, Cursor, Read, Take};
use std::path::Path;

/// Opens a file to be read.
///
/// # Errors
/// What the operating system says; a folder is found here, and not when it is read.
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder, not a file"));
    }
    Ok(file)
}

/// The most that is read of a text that somebody wrote, such as a kernel: thousands of times the
/// longest here.
pub const MAX_TEXT_BYTES: u64 = 1 << 26;

/// Reads a text of at most [`MAX_TEXT_BYTES`]. What is no UTF-8 is replaced, for the text's own
/// reader to find.
///
/// # Errors
/// As of [`read_file`].
pub fn text(path: &Path) -> io::Result<String> {
    let bytes = read_file(path, MAX_TEXT_BYTES, |_| false)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Reads all that a reader has, such as an unpacked archive, up to a limit: what is packed may be a
/// thousand times as large as its file, and a device may have no end.
///
/// # Errors
/// When it has more than `most` bytes, when there is no memory for them, or what the reader says.
pub fn read(reader: impl Read, most: u64) -> io::Result<Vec<u8>> {
    read_until(reader, most, |_| false)
}

/// Opens a file and reads it as [`read_until`] does; an ordinary file that is too large is not read at all.
///
/// # Errors
/// As of [`open`] and [`read`].
pub fn read_file(path: &Path, most: u64, is_enough: impl Fn(&[u8]) -> bool) -> io::Result<Vec<u8>> {
    read_until(open_up_to(path, most)?, most, is_enough)
}

/// Opens a file to be read up to a limit; an ordinary file that is larger is refused.
///
/// # Errors
/// As of [`open`], and where it is too large.
pub fn open_up_to(path: &Path, most: u64) -> io::Result<File> {
    let file = open(path)?;
    let found = file.metadata()?;
    if found.is_file() && found.len() > most { Err(too_large(most)) } else { Ok(file) }
}

/// Reads as [`read_until`] does, through `unpack` if it begins as gzip does, so that no more is read than has
/// to be unpacked. The limit is that of what is packed and of what it unpacks to.
///
/// # Errors
/// As of [`read`], and where `unpack` fails.
pub fn read_packed<R: Read, U: Read>(
    mut reader: R,
    most: u64,
    unpack: impl FnOnce(Chain<Cursor<Vec<u8>>, Take<R>>) -> U,
    is_enough: impl Fn(&[u8]) -> bool,
) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    reader.by_ref().take(2).read_to_end(&mut start)?;
    let is_packed = start == [0x1f, 0x8b];
    let whole = Cursor::new(start).chain(reader.take(most.saturating_add(1)));
    if !is_packed {
        return read_until(whole, most, is_enough);
    }
    read_until(unpack(whole), most, is_enough).map_err(|error| {
        let what = match error.kind() {
            io::ErrorKind::FileTooLarge => "unpacked, ",
            io::ErrorKind::OutOfMemory => "",
            _ => "its gzip is bad: ",
        };
        io::Error::new(error.kind(), format!("{what}{error}"))
    })
}

/// Reads as [`read`] does, but no further than makes sense: `is_enough` is asked about what has come so far,
/// each time that it has doubled. If it holds, because this can't be such a file, or because it goes on after
/// its end, these bytes are the result.
///
/// # Errors
/// As of [`read`].
pub fn read_until(
    mut reader: impl Read,
    most: u64,
    is_enough: impl Fn(&[u8]) -> bool,
) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        // Doubled, so that each byte is copied a few times at most; and where the machine gives no
        // more, an error and not the end of the process.
        let room = bytes.len().max(1 << 16);
        bytes.try_reserve(room).map_err(|_| {
            let reason =
                format!("there is no memory for more than its first {} bytes", bytes.len());
            io::Error::new(io::ErrorKind::OutOfMemory, reason)
        })?;
        let before = bytes.len();
        let some = (room as u64).min(most + 1 - before as u64);
        reader.by_ref().take(some).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(too_large(most));
        }
        if bytes.len() - before < room || is_enough(&bytes) {
            return Ok(bytes);
        }
    }
}

fn too_large(most: u64) -> io::Error {
    let reason = format!("it has more than {most} bytes, which is as much as is read");
    io::Error::new(io::ErrorKind::FileTooLarge, reason)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A reader without an end, which counts what is read of it.
    struct Endless<'a>(u8, &'a Cell<usize>);

    impl Read for Endless<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            into.fill(self.0);
            self.1.set(self.1.get() + into.len());
            Ok(into.len())
        }
    }

    #[test]
    fn what_is_enough_is_not_read_any_further() {
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
    fn what_is_packed_is_read_as_far_as_it_is_unpacked() {
        let count = Cell::new(0);
        let packed = || (&[0x1f, 0x8b][..]).chain(Endless(b'y', &count));
        // Bytes for a format that any byte is part of.
        let read = |most, is_enough: fn(&[u8]) -> bool| {
            read_packed(packed(), most, |packed| packed, is_enough)
        };
        assert_eq!(read(1 << 30, |_| true).unwrap().len(), 1 << 16);
        assert!(count.get() <= 1 << 16, "{}", count.get());
        let error = read(1 << 20, |_| false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(error.to_string().starts_with("unpacked, it has more than"), "{error}");
        // Packed bytes that unpack to none come to an end too.
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
    fn a_file_that_is_too_large_is_not_read() {
        let path = std::env::temp_dir().join(format!("host-input-{}", std::process::id()));
        // A hole takes no space on the disk.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let error = read_file(&path, 1 << 30, |_| unreachable!("nothing is read")).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        let zeros = Path::new("/dev/zero");
        assert_eq!(read_file(zeros, 1 << 30, |bytes| bytes[0] == 0).unwrap().len(), 1 << 16);
    }
}
