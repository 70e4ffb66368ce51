//! Reading fatbins from the program's memory, with CUDA's error codes for damaged fatbins. `device_image::fatbin`
//! parses them.

#![allow(unsafe_code, reason = "reads the program's memory")]

use device_image::fatbin::{self, FatbinError, HEADER};
use ptx_emulator::room::filled;

use crate::abi::error::{Code, Refusal};
use crate::abi::host_memory;

/// The magic number of a wrapper: a structure of two numbers and a fatbin's address, which a host compiler creates.
const WRAPPER: [u8; 4] = 0x4662_43b1u32.to_le_bytes();

impl From<FatbinError> for Refusal {
    fn from(wrong: FatbinError) -> Self {
        let code = match wrong {
            FatbinError::Damaged(_) => Code::INVALID_IMAGE,
            FatbinError::NoPtx(_) => Code::NO_BINARY_FOR_GPU,
            FatbinError::OutOfMemory(_) => Code::OUT_OF_MEMORY,
        };
        Self { code, log: wrong.to_string() }
    }
}

fn damaged_fatbin(what: &str) -> Refusal {
    FatbinError::Damaged(what.to_owned()).into()
}

/// Whether these are the first bytes of a fatbin or of a wrapper.
pub(crate) fn is_fatbin(magic: [u8; 4]) -> bool {
    fatbin::is_fatbin(&magic) || magic == WRAPPER
}

/// Reads a fatbin at an address, or the fatbin to which a wrapper at that address points.
///
/// # Safety
/// The fatbin is readable, or the system can detect that it isn't.
///
/// # Errors
/// If the fatbin can't be read, or states a length that exceeds the limit.
pub(crate) unsafe fn read(address: usize) -> Result<Vec<u8>, Refusal> {
    // SAFETY: guaranteed by the caller.
    let gather = |at, len, bytes: &mut [u8]| unsafe { host_memory::gather(&[(at, len)], bytes) };
    let mut magic = [0; 4];
    let mut address = address;
    if gather(address, 4, &mut magic) && magic == WRAPPER {
        // SAFETY: guaranteed by the caller.
        let inner = address.checked_add(8).and_then(|at| unsafe { host_memory::words(at, 1) }.ok());
        address = inner.ok_or_else(|| damaged_fatbin("its wrapper can't be read"))?[0];
    }
    let mut header = [0; HEADER];
    if !gather(address, HEADER, &mut header) || !fatbin::is_fatbin(&header) {
        return Err(damaged_fatbin("its wrapper does not point to a fatbin"));
    }
    let whole = fatbin::length(&header)?;
    let mut bytes =
        filled(0, whole).map_err(|_| Refusal::from(FatbinError::OutOfMemory(whole as u64)))?;
    if !gather(address, whole, &mut bytes) {
        return Err(damaged_fatbin(&format!(
            "it states a length of {whole} bytes, which can't be read"
        )));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_fatbin_is_read() {
        let whole = fatbin::from_ptx(b".version 8.0", 80);
        let magic = u64::from(u32::from_le_bytes(WRAPPER)) | 1 << 32;
        let wrapper = [magic, whole.as_ptr() as u64, 0];
        // SAFETY: the wrapper and the fatbin are readable.
        assert_eq!(unsafe { read(wrapper.as_ptr() as usize) }.unwrap(), whole);
        for nowhere in [0, 8, 0xdead_0000_0000, u64::MAX] {
            let wrapper = [magic, nowhere, 0];
            // SAFETY: the system detects that the fatbin can't be read.
            let refusal = unsafe { read(wrapper.as_ptr() as usize) }.unwrap_err();
            assert_eq!(refusal.code, Code::INVALID_IMAGE);
        }
    }

    #[test]
    fn a_huge_stated_length_is_rejected_before_allocating() {
        let mut header = fatbin::from_ptx(b".version 8.0", 80);
        header[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        // SAFETY: the fatbin's header is readable, and no further bytes are read.
        let refusal = unsafe { read(header.as_ptr() as usize) }.unwrap_err();
        assert!(refusal.log.contains("the limit is"), "{}", refusal.log);
    }
}
