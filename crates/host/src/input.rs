//! Reading a file that somebody else made, no further than makes sense.

use std::fs::File;
use std::io::{self, Read};
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
pub const MOST_TEXT_BYTES: u64 = 1 << 26;

/// Reads a text of at most [`MOST_TEXT_BYTES`]. What is no UTF-8 is replaced, for the text's own
/// reader to find.
///
/// # Errors
/// As of [`open`] and [`read`].
pub fn text(path: &Path) -> io::Result<String> {
    let bytes = read(open(path)?, MOST_TEXT_BYTES)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Reads all that a reader has, such as an unpacked archive, up to a limit: what is packed may be a
/// thousand times as large as its file, and a device may have no end.
///
/// # Errors
/// When it has more than `most` bytes, when there is no memory for them, or what the reader says.
pub fn read(mut reader: impl Read, most: u64) -> io::Result<Vec<u8>> {
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
            let reason = format!("it has more than {most} bytes, which is as much as is read");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
        }
        if bytes.len() - before < room {
            return Ok(bytes);
        }
    }
}
