//! The name by which ranks find each other: `ncclUniqueId`.
//!
//! It has 128 random bits, which no other process can guess. They name a file that only processes of the
//! same user can open (`shared_file`), so the name, which other users may see, is of no use to them.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;

use crate::ffi::{Error, Result};

/// `NCCL_UNIQUE_ID_BYTES`
const BYTES: usize = 128;
/// What it begins with.
const MAGIC: &[u8; 16] = b"emulated NCCL id";

/// `ncclUniqueId`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UniqueId(pub(crate) [u8; BYTES]);

/// What tells this machine, as it runs, from every other: an id leads to memory, which only ranks of
/// one machine share.
fn machine() -> [u8; 36] {
    let mut text = [0; 36];
    if let Ok(mut file) = File::open("/proc/sys/kernel/random/boot_id") {
        // Where there is none, all machines are one; ranks of another then never come.
        let _ = file.read(&mut text);
    }
    text
}

impl UniqueId {
    /// One that nobody has had before.
    ///
    /// # Errors
    /// Where the system gives no random numbers.
    pub(crate) fn new() -> Result<Self> {
        let mut bytes = [0; BYTES];
        bytes[..16].copy_from_slice(MAGIC);
        bytes[16..52].copy_from_slice(&machine());
        File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut bytes[64..80]))
            .map_err(|error| Error::system("/dev/urandom", &error))?;
        Ok(Self(bytes))
    }

    /// The name of the memory that ranks of this id share.
    ///
    /// # Errors
    /// When `ncclGetUniqueId` of this library did not make it, on this machine.
    pub(crate) fn name(&self) -> Result<String> {
        if self.0[..16] != *MAGIC {
            return Err(Error::argument(
                "commId was not made by ncclGetUniqueId of the emulated NCCL: one rank calls it, and \
                 sends all 128 bytes to the others",
            ));
        }
        if self.0[16..52] != machine() {
            return Err(Error::argument(
                "commId comes from another machine, or from before this one was started: emulated \
                 ranks are processes of one machine",
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
    fn each_id_has_its_own_name_and_others_have_none() {
        let (a, b) = (UniqueId::new().unwrap(), UniqueId::new().unwrap());
        assert_ne!(a.name().unwrap(), b.name().unwrap());
        assert_eq!(a.name().unwrap(), a.name().unwrap());
        assert!(UniqueId([0; BYTES]).name().unwrap_err().why.contains("ncclGetUniqueId"));
        let mut elsewhere = a;
        elsewhere.0[20] ^= 1;
        assert!(elsewhere.name().unwrap_err().why.contains("another machine"));
    }
}
