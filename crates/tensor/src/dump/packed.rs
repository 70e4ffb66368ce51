//! Files of dumps, gzipped or not.

use std::io::{self, Write};
use std::path::Path;

use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};

use super::{Dump, DumpError};
use crate::file_kind::cannot_be_json;
use host::file;

/// The bytes of a file, unpacked if it is gzipped. `most` limits both the packed and the unpacked size.
pub(super) fn read_unpacked(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    file::read_packed(file::open_up_to(path, most)?, most, MultiGzDecoder::new, cannot_be_json)
}

/// The unpacked content of a file of dumps. If the file doesn't exist, a file with `.gz` appended to the name is read.
pub(crate) fn unpacked(path: &Path) -> Result<Vec<u8>, DumpError> {
    let mut packed = path.as_os_str().to_owned();
    packed.push(".gz");
    let packed = Path::new(&packed);
    let found = if !path.exists() && packed.exists() { packed } else { path };
    read_unpacked(found, Dump::MOST_BYTES).map_err(|source| {
        let source = match source.kind() {
            kind @ io::ErrorKind::UnexpectedEof => io::Error::new(kind, "the file is truncated"),
            _ => source,
        };
        DumpError::Read { path: path.to_owned(), source }
    })
}

/// Writes a file of dumps, gzipped if its name ends in `.gz`, atomically: after an error, the old file is unchanged.
pub(crate) fn write_packed<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    file::write_atomically(path, |writer| {
        if path.extension().is_some_and(|extension| extension == "gz") {
            let mut encoder = GzEncoder::new(writer, Compression::default());
            write(&mut encoder)?;
            encoder.finish()?;
            Ok(())
        } else {
            write(writer)
        }
    })
}
