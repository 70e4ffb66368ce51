//! The id by which ranks find each other: `ncclUniqueId`.
//!
//! An id has 128 random bits, which no other process can guess. They are the name of a file that
//! only processes of the same user can open (`shared_file`), so other users who see the name can't
//! use it.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;

use crate::ffi::{Error, Result};

/// `NCCL_UNIQUE_ID_BYTES`
const BYTES: usize = 128;
/// The first bytes of every id.
const MAGIC: &[u8; 16] = b"emulated NCCL id";

/// `ncclUniqueId`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UniqueId(pub(crate) [u8; BYTES]);

/// Identifies this boot of this machine. An id refers to shared memory, which only ranks on one
/// machine have in common.
fn boot_id() -> [u8; 36] {
    let mut text = [0; 36];
    if let Ok(mut file) = File::open("/proc/sys/kernel/random/boot_id") {
        // If the file is missing, the text stays empty, and ids of different machines can't be
        // distinguished. Ranks on another machine then time out.
        let _ = file.read(&mut text);
    }
    text
}

impl UniqueId {
    /// A new random id.
    ///
    /// # Errors
    /// `ncclSystemError` if the system provides no random numbers.
    pub(crate) fn new() -> Result<Self> {
        let mut bytes = [0; BYTES];
        bytes[..16].copy_from_slice(MAGIC);
        bytes[16..52].copy_from_slice(&boot_id());
        File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut bytes[64..80]))
            .map_err(|error| Error::system_error("/dev/urandom", &error))?;
        Ok(Self(bytes))
    }

    /// The name of the shared memory for the ranks with this id.
    ///
    /// # Errors
    /// `ncclInvalidArgument` if the id was not created by this library on this machine.
    pub(crate) fn name(&self) -> Result<String> {
        if self.0[..16] != *MAGIC {
            return Err(Error::argument(
                "commId was not made by ncclGetUniqueId of the emulated NCCL: only one rank may \
                 call it, and must send all 128 bytes to the others",
            ));
        }
        if self.0[16..52] != boot_id() {
            return Err(Error::argument(
                "commId comes from another machine, or from before this one was restarted: all \
                 ranks must be processes on one machine",
            ));
        }
        let mut name = String::from("emulated-nccl-");
        for byte in &self.0[64..80] {
            // Writing to a string can't fail.
            let _ = write!(name, "{byte:02x}");
        }
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_unique_names_and_invalid_ids_are_refused() {
        let (a, b) = (UniqueId::new().unwrap(), UniqueId::new().unwrap());
        assert_ne!(a.name().unwrap(), b.name().unwrap());
        assert_eq!(a.name().unwrap(), a.name().unwrap());
        assert!(UniqueId([0; BYTES]).name().unwrap_err().why.contains("ncclGetUniqueId"));
        let mut elsewhere = a;
        elsewhere.0[20] ^= 1;
        assert!(elsewhere.name().unwrap_err().why.contains("another machine"));
    }
}
