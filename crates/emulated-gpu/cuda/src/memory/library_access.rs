//! The memory ranges that a host library declares to read or write, and their check, which follows the rules for
//! accesses of kernels.

use ptx_emulator::Memory;
use ptx_emulator::memory::Reach;

use crate::abi::Pointer;
use crate::abi::error::{Code, Result};

/// The range is read.
pub(crate) const READ: u32 = 1;
/// The range is written.
pub(crate) const WRITE: u32 = 2;

/// The structure `EmulatedGpuRange`: `height` rows of `width` bytes, which begin `pitch` bytes apart.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) address: Pointer,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) pitch: u64,
    /// The kind of access: [`READ`], [`WRITE`] or both.
    pub(crate) access: u32,
    /// The required alignment of the address in bytes; 0 for none.
    pub(crate) alignment: u32,
}

/// The ranges that an operation is about to access.
#[derive(Debug)]
pub(crate) struct Declaration {
    /// The name of the operation, for reports.
    pub(crate) operation: String,
    pub(crate) ranges: Vec<Range>,
}

impl Range {
    /// The number of bytes from the first byte to the last.
    fn byte_length(&self) -> Option<u64> {
        (self.height.checked_sub(1)?).checked_mul(self.pitch)?.checked_add(self.width)
    }
}

impl Declaration {
    /// Checks the ranges for the stream's device, when the stream has reached the operation.
    ///
    /// # Errors
    /// `ILLEGAL_ADDRESS`, `MISALIGNED_ADDRESS`, or `LAUNCH_FAILED` for uninitialised memory; each with a report.
    pub(crate) fn check(&self, memory: &Memory, from: Reach) -> Result {
        // All reads are checked before any write marks memory as initialised.
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
            let note = format!("the address must be a multiple of {} bytes", range.alignment);
            return report(Code::MISALIGNED_ADDRESS, "misaligned address", &note);
        }
        let Some(reach) = range.byte_length() else {
            return report(
                Code::ILLEGAL_ADDRESS,
                "illegal address",
                "it is larger than any memory",
            );
        };
        // The library's caller passed a single pointer for the range, so the whole range must be in one allocation.
        if let Err(error) = memory.check_read(range.address, reach, from) {
            return report(Code::ILLEGAL_ADDRESS, "illegal address", &error.to_string());
        }
        // Rows without gaps form one contiguous range. Gaps only matter if the initialisation of each byte is tracked.
        // In that case, the loop is bounded, because there are fewer rows with gaps than bytes in the allocation.
        let gaps = range.pitch > range.width && memory.tracks();
        let rows = if gaps { range.height } else { 1 };
        let len = if gaps { range.width } else { reach };
        for row in 0..rows {
            let at = range.address + row * range.pitch;
            let illegal = |error: &dyn std::fmt::Display| {
                report(Code::ILLEGAL_ADDRESS, "illegal address", &error.to_string())
            };
            if !reads {
                if let Err(error) = memory.check_write(at, len, from) {
                    return illegal(&error);
                }
                continue;
            }
            match memory.check_read(at, len, from) {
                Err(error) => return illegal(&error),
                Ok(Some(byte)) => {
                    let note = format!("the byte at {byte:#x}, in row {row}, was never written");
                    return report(Code::LAUNCH_FAILED, "uninitialised memory", &note);
                }
                Ok(None) => {}
            }
        }
        Ok(())
    }
}
