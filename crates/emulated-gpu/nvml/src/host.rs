//! The host, whose processors and memory are the card's.

use std::ffi::c_ulong;
use std::fs;
use std::io::ErrorKind;

use crate::ffi::{Result, Status};

/// Bits of a word of a set.
const WORD: usize = c_ulong::BITS as usize;

/// Which processors there are, one of the host's counted from 0 a bit: all of them do the card's work.
///
/// # Errors
/// `NOT_SUPPORTED` where the system doesn't say.
pub(crate) fn processors() -> Result<Vec<c_ulong>> {
    online("/sys/devices/system/cpu/online")
}

/// Which nodes of memory there are.
///
/// # Errors
/// `NOT_SUPPORTED` where the system doesn't say.
pub(crate) fn nodes() -> Result<Vec<c_ulong>> {
    online("/sys/devices/system/node/online")
}

fn online(file: &str) -> Result<Vec<c_ulong>> {
    let list = fs::read_to_string(file).ok().and_then(|text| set(&text));
    list.ok_or(Status::NotSupported)
}

/// A list such as "0-3,8" as bits; `None` where it is none.
fn set(list: &str) -> Option<Vec<c_ulong>> {
    let mut words = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
        for bit in usize::from(first)..=usize::from(last) {
            words.resize(words.len().max(bit / WORD + 1), 0);
            words[bit / WORD] |= 1 << (bit % WORD);
        }
    }
    Some(words)
}

/// Lets the calling thread run on all processors.
///
/// # Errors
/// `NOT_SUPPORTED` where the system has no such call, or doesn't say which there are.
#[cfg(target_os = "linux")]
pub(crate) fn bind_thread() -> Result {
    let words = processors()?;
    let bytes = size_of_val(words.as_slice());
    // SAFETY: a set is words of bits, as many as are told; 0 is the calling thread.
    match unsafe { libc::sched_setaffinity(0, bytes, words.as_ptr().cast()) } {
        0 => Ok(()),
        _ => Err(Status::Unknown),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn bind_thread() -> Result {
    Err(Status::NotSupported)
}

/// The name of a process: how it was called, or where that is not to be known (the kernel's own), its short
/// name.
///
/// # Errors
/// `NOT_FOUND`, `NO_PERMISSION`
pub(crate) fn process_name(process: u32) -> Result<Vec<u8>> {
    let read = |file: &str| {
        fs::read(format!("/proc/{process}/{file}")).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => Status::NoPermission,
            _ => Status::NotFound,
        })
    };
    let line = read("cmdline")?;
    let name = line.split(|byte| *byte == 0).next().unwrap_or_default();
    if name.is_empty() { Ok(read("comm")?.trim_ascii_end().to_vec()) } else { Ok(name.to_vec()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_system_are_bits() {
        assert_eq!(set("0\n"), Some(vec![1]));
        assert_eq!(set("0-3,8"), Some(vec![0x10f]));
        let mut words = vec![0; 64 / WORD + 1];
        (words[0], words[64 / WORD]) = (2, 1);
        assert_eq!(set("1,64"), Some(words));
        assert_eq!((set(""), set("0-x"), set("70000")), (None, None, None));
    }

    #[test]
    fn a_process_has_a_name_as_long_as_it_is_there() {
        let own = process_name(std::process::id()).unwrap();
        let program = std::env::current_exe().unwrap();
        assert!(own.ends_with(program.file_name().unwrap().as_encoded_bytes()), "{own:?}");
        assert_eq!(process_name(u32::MAX), Err(Status::NotFound));
    }
}
