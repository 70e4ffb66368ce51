//! The ranges that a host library declares to read or write, and their check, which is the same as for a kernel's
//! accesses.

use ptx_emulator::Memory;
use ptx_emulator::memory::Reach;

use crate::abi::Pointer;
use crate::abi::error::{Code, Result};

/// It is read.
pub(crate) const READ: u32 = 1;
/// It is written.
pub(crate) const WRITE: u32 = 2;

/// `EmulatedGpuRange`: `height` rows of `width` bytes, whose beginnings lie `pitch` bytes apart.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) address: Pointer,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) pitch: u64,
    /// [`READ`], [`WRITE`] or both.
    pub(crate) access: u32,
    /// What the address has to be a multiple of, in bytes; 0 where it may be any.
    pub(crate) alignment: u32,
}

/// What an operation is about to access.
#[derive(Debug)]
pub(crate) struct Declaration {
    /// The name of the operation, for reports.
    pub(crate) operation: String,
    pub(crate) ranges: Vec<Range>,
}

impl Range {
    /// From its first byte to its last, in bytes.
    fn reach(&self) -> Option<u64> {
        (self.height.checked_sub(1)?).checked_mul(self.pitch)?.checked_add(self.width)
    }
}

impl Declaration {
    /// Checks it when its turn has come, on the device of the stream.
    ///
    /// # Errors
    /// `ILLEGAL_ADDRESS`, `LAUNCH_FAILED` for what was never written; with the report.
    pub(crate) fn check(&self, memory: &Memory, from: Reach) -> Result {
        // What is read is checked before what is written counts as written.
        for access in [READ, WRITE] {
            for (index, range) in self.ranges.iter().enumerate() {
                if range.access & access != 0 && range.width > 0 && range.height > 0 {
                    self.check_range((memory, from), index, range, access)?;
                }
            }
        }
        Ok(())
    }

    fn check_range(
        &self,
        (memory, from): (&Memory, Reach),
        index: usize,
        range: &Range,
        access: u32,
    ) -> Result {
        let reads = access == READ;
        let report = |code: Code, what: &str, note: &str| {
            let Self { operation, .. } = self;
            let Range { address, width, height, pitch, .. } = range;
            let verb = if reads { "reads" } else { "writes" };
            Err(code.because(format!(
                "{what}\n  library {operation}, operand {index}, which it {verb}: {height} rows of {width} \
                 bytes, {pitch} bytes apart, at {address:#x}\n  note    {note}"
            )))
        };
        if range.alignment > 1 && !range.address.is_multiple_of(range.alignment.into()) {
            let note = format!("it has to be at a multiple of {} bytes", range.alignment);
            return report(Code::MISALIGNED_ADDRESS, "misaligned address", &note);
        }
        let Some(reach) = range.reach() else {
            return report(
                Code::ILLEGAL_ADDRESS,
                "illegal address",
                "it is larger than any memory",
            );
        };
        // The range as a whole lies in one allocation, as one pointer was passed for it.
        if let Err(error) = memory.check_read(range.address, reach, from) {
            return report(Code::ILLEGAL_ADDRESS, "illegal address", &error.to_string());
        }
        // Rows without gaps between them are one range, however many there are, and gaps matter only
        // where it is known of each byte whether it was written. There are fewer rows with gaps than
        // the allocation has bytes.
        let gaps = range.pitch > range.width && memory.tracks();
        let rows = if gaps { range.height } else { 1 };
        let len = if gaps { range.width } else { reach };
        for row in 0..rows {
            let at = range.address + row * range.pitch;
            let lost = |error: &dyn std::fmt::Display| {
                report(Code::ILLEGAL_ADDRESS, "illegal address", &error.to_string())
            };
            if !reads {
                if let Err(error) = memory.check_write(at, len, from) {
                    return lost(&error);
                }
                continue;
            }
            match memory.check_read(at, len, from) {
                Err(error) => return lost(&error),
                Ok(Some(byte)) => {
                    let note = format!("nothing has written the byte at {byte:#x}, in row {row}");
                    return report(Code::LAUNCH_FAILED, "uninitialised memory", &note);
                }
                Ok(None) => {}
            }
        }
        Ok(())
    }
}
