//! The host, which executes a card's work: its processors, memory nodes and processes.

use std::ffi::c_ulong;
use std::fs;
use std::io::ErrorKind;

use crate::ffi::{Result, Status};

/// The number of bits in a word of a bitmask of processors or memory nodes.
const WORD_BITS: usize = c_ulong::BITS as usize;

/// A bitmask of the host's processors, all of which execute a card's work.
///
/// # Errors
/// `NOT_SUPPORTED` if the system doesn't list them.
pub(crate) fn processors() -> Result<Vec<c_ulong>> {
    read_numbers("/sys/devices/system/cpu/online")
}

/// A bitmask of the host's memory nodes.
///
/// # Errors
/// `NOT_SUPPORTED` if the system doesn't list them.
pub(crate) fn nodes() -> Result<Vec<c_ulong>> {
    read_numbers("/sys/devices/system/node/online")
}

fn read_numbers(file: &str) -> Result<Vec<c_ulong>> {
    let list = fs::read_to_string(file).ok().and_then(|text| parse_list(&text));
    list.ok_or(Status::NotSupported)
}

/// Converts a list such as "0-3,8" to a bitmask; `None` if the text is not such a list.
fn parse_list(list: &str) -> Option<Vec<c_ulong>> {
    let mut words = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
        for bit in usize::from(first)..=usize::from(last) {
            words.resize(words.len().max(bit / WORD_BITS + 1), 0);
            words[bit / WORD_BITS] |= 1 << (bit % WORD_BITS);
        }
    }
    Some(words)
}

/// Lets the calling thread run on all processors.
///
/// # Errors
/// `NOT_SUPPORTED` if the system can't bind threads, or doesn't list its processors.
#[cfg(target_os = "linux")]
pub(crate) fn bind_thread() -> Result {
    let words = processors()?;
    let bytes = size_of_val(words.as_slice());
    // SAFETY: the size is the bitmask's size; 0 is the calling thread.
    match unsafe { libc::sched_setaffinity(0, bytes, words.as_ptr().cast()) } {
        0 => Ok(()),
        _ => Err(Status::Unknown),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn bind_thread() -> Result {
    Err(Status::NotSupported)
}

/// The name of a process: the first word of its command line, or, if that is empty as for kernel threads, its short
/// name.
///
/// # Errors
/// `NOT_FOUND` if there is no such process, `NO_PERMISSION` if it may not be read.
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
    fn processor_lists_become_bitmasks() {
        assert_eq!(parse_list("0\n"), Some(vec![1]));
        assert_eq!(parse_list("0-3,8"), Some(vec![0x10f]));
        let mut words = vec![0; 64 / WORD_BITS + 1];
        (words[0], words[64 / WORD_BITS]) = (2, 1);
        assert_eq!(parse_list("1,64"), Some(words));
        assert_eq!((parse_list(""), parse_list("0-x"), parse_list("70000")), (None, None, None));
    }

    #[test]
    fn running_processes_have_a_name() {
        let name = process_name(std::process::id()).unwrap();
        let program = std::env::current_exe().unwrap();
        assert!(name.ends_with(program.file_name().unwrap().as_encoded_bytes()), "{name:?}");
        assert_eq!(process_name(u32::MAX), Err(Status::NotFound));
    }
}
