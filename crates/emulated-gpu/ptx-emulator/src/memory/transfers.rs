//! Transfers: copies by the host from and to device memory, and fills.

#![allow(unsafe_code, reason = "accesses device memory, and host memory that other threads use")]

use super::{AccessError, Memory, words};

impl Memory {
    /// Copies from the device to the host.
    ///
    /// # Errors
    /// If the range is not inside one allocation.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), AccessError> {
        let table = self.read_table();
        table.require(address, into.len() as u64, false, None)?;
        // SAFETY: the range is inside an allocation, which lives as long as the lock is held.
        unsafe { words::read(address as *const u8, into) };
        Ok(())
    }

    /// Copies from the host to the device.
    ///
    /// # Errors
    /// If the range is not inside one allocation.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), AccessError> {
        let table = self.read_table();
        table.require(address, bytes.len() as u64, true, None)?;
        table.set_initialised(address, bytes.len() as u64);
        // SAFETY: as in `read`.
        unsafe { words::write(address as *mut u8, bytes) };
        Ok(())
    }

    /// Copies from the device to host memory that other threads may access at the same time.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    ///
    /// # Errors
    /// If the device's range is not inside one allocation.
    pub unsafe fn read_to(&self, address: u64, to: *mut u8, len: usize) -> Result<(), AccessError> {
        let table = self.read_table();
        table.require(address, len as u64, false, None)?;
        // SAFETY: one range as in `read`, the other as the caller promises.
        unsafe { words::copy(to, address as *const u8, len) };
        Ok(())
    }

    /// Copies to the device from host memory that other threads may access at the same time.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes.
    ///
    /// # Errors
    /// If the device's range is not inside one allocation.
    pub unsafe fn write_from(
        &self,
        address: u64,
        from: *const u8,
        len: usize,
    ) -> Result<(), AccessError> {
        let table = self.read_table();
        table.require(address, len as u64, true, None)?;
        table.set_initialised(address, len as u64);
        // SAFETY: one range as in `read`, the other as the caller promises.
        unsafe { words::copy(address as *mut u8, from, len) };
        Ok(())
    }

    /// Copies inside host memory that other threads may access at the same time, word by word like
    /// device memory; the ranges may overlap.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for `len` bytes.
    pub unsafe fn copy_on_host(to: *mut u8, from: *const u8, len: usize) {
        // SAFETY: as the caller promises.
        unsafe { words::copy(to, from, len) };
    }

    /// Reads a word of 4 or 8 bytes. If it is aligned, a single access reads it, so that a
    /// concurrent write is seen completely or not at all.
    ///
    /// # Errors
    /// If the word is not inside one allocation.
    pub fn load(&self, address: u64, is_wide: bool) -> Result<u64, AccessError> {
        let bytes = if is_wide { 8 } else { 4 };
        if !address.is_multiple_of(bytes) {
            let mut word = [0; 8];
            self.read(address, &mut word[..bytes as usize])?;
            return Ok(u64::from_le_bytes(word));
        }
        let table = self.read_table();
        table.require(address, bytes, false, None)?;
        // SAFETY: as in `read`; the address is a multiple of `bytes`.
        Ok(unsafe { words::read_bits(address as *const u8, bytes) })
    }

    /// Writes a word of 4 or 8 bytes, by a single access if it is aligned.
    ///
    /// # Errors
    /// If the word is not inside one allocation.
    pub fn store(&self, address: u64, value: u64, is_wide: bool) -> Result<(), AccessError> {
        let bytes = if is_wide { 8 } else { 4 };
        if !address.is_multiple_of(bytes) {
            return self.write(address, &value.to_le_bytes()[..bytes as usize]);
        }
        let table = self.read_table();
        table.require(address, bytes, true, None)?;
        table.set_initialised(address, bytes);
        // SAFETY: as in `read`; the address is a multiple of `bytes`.
        unsafe { words::write_bits(address as *mut u8, bytes, value) };
        Ok(())
    }

    /// Writes `pattern` (of 1, 2 or 4 bytes) `count` times.
    ///
    /// # Errors
    /// If the range is not inside one allocation.
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), AccessError> {
        let table = self.read_table();
        let len = (pattern.len() as u64).saturating_mul(count);
        table.require(address, len, true, None)?;
        table.set_initialised(address, len);
        // SAFETY: as in `read`.
        unsafe { words::fill(address as *mut u8, pattern, count as usize) };
        Ok(())
    }

    /// Copies inside the device; the ranges may overlap.
    ///
    /// # Errors
    /// If a range is not inside one allocation.
    pub fn copy(&self, to: u64, from: u64, len: u64) -> Result<(), AccessError> {
        let table = self.read_table();
        table.require(to, len, true, None)?;
        table.require(from, len, false, None)?;
        table.copy_initialised(to, from, len);
        // SAFETY: both ranges are inside allocations, which live as long as the lock is held.
        unsafe { words::copy(to as *mut u8, from as *const u8, len as usize) };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::Memory;

    #[test]
    fn transfers_and_words_work_at_any_alignment() {
        let memory = Memory::new(false, true, 1 << 20);
        let block = memory.allocate(64, 1).unwrap();
        let source: Vec<u8> = (1..=64).collect();
        for (to, from, len) in (0..9).flat_map(|to| (0..9).map(move |from| (to, from, 50))) {
            let mut back = [0u8; 64];
            memory.fill(block, &[0], 64).unwrap();
            // SAFETY: 50 bytes from at most 8 on are inside 64.
            unsafe {
                memory.write_from(block + to as u64, source.as_ptr().add(from), len).unwrap();
                memory.read_to(block + to as u64, back.as_mut_ptr().add(from), len).unwrap();
            }
            assert_eq!(back[from..from + len], source[from..from + len], "{to} {from}");
            let mut other = [0u8; 64];
            // SAFETY: as above.
            unsafe { Memory::copy_on_host(other.as_mut_ptr().add(to), source.as_ptr(), len) };
            assert_eq!(other[to..to + len], source[..len], "{to} {from}");
        }
        for at in 0..9 {
            memory.store(block + at, 0x1122_3344_5566_7788, true).unwrap();
            memory.store(block + at + 8, u64::MAX, false).unwrap();
            assert_eq!(memory.load(block + at, true), Ok(0x1122_3344_5566_7788));
            assert_eq!(memory.load(block + at, false), Ok(0x5566_7788));
            assert_eq!(memory.load(block + at + 8, false), Ok(u64::from(u32::MAX)));
        }
        let beyond = block + 60;
        assert!(memory.load(beyond, true).is_err() && memory.store(beyond, 0, true).is_err());
        let mut back = [7u8; 64];
        // SAFETY: both calls fail; `back` has 64 bytes.
        unsafe {
            assert!(memory.read_to(beyond, back.as_mut_ptr(), 5).is_err());
            assert!(memory.write_from(beyond, back.as_ptr(), 5).is_err());
        }
        assert_eq!(back, [7; 64]);
    }
}
