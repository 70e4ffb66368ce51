//! Stream memory operations: writes of a value, and waits for a value (`cuStreamWriteValue32` and the like).

use std::sync::Arc;
use std::time::Duration;

use ptx_emulator::Memory;

use crate::abi::Pointer;
use crate::abi::error::{Code, Result};
use crate::context::Context;

/// A number to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) address: Pointer,
    pub(crate) value: u64,
    /// 4 or 8 bytes.
    pub(crate) size: usize,
}

/// `CUstreamWaitValue_flags`: when a number will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// At least that, in wrapping order.
    Greater,
    /// Exactly that.
    Equal,
    /// Some bits in common.
    And,
    /// A bit that neither has.
    Nor,
}

/// A number to wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) address: Pointer,
    pub(crate) value: u64,
    /// 4 or 8 bytes.
    pub(crate) size: usize,
    pub(crate) when: When,
}

impl When {
    /// Of the flags of `cuStreamWaitValue32`.
    ///
    /// # Errors
    /// `INVALID_VALUE`
    pub(crate) fn of(flags: u32) -> Result<Self> {
        // Bit 30 asks for remote writes to be flushed, which there are none of.
        match flags & !(1 << 30) {
            0 => Ok(Self::Greater),
            1 => Ok(Self::Equal),
            2 => Ok(Self::And),
            3 => Ok(Self::Nor),
            _ => Err(Code::INVALID_VALUE.because(format!("unknown flags {flags:#x}"))),
        }
    }
}

impl Write {
    pub(crate) fn run(&self, memory: &Memory) -> Result {
        memory
            .store(self.address, self.value, self.size == 8)
            .map_err(|error| Code::ILLEGAL_ADDRESS.because(error.to_string()))
    }
}

impl Wait {
    pub(crate) fn run(&self, memory: &Memory, context: &Arc<Context>) -> Result {
        // Somebody else writes it some time, with nothing to tell us; an error would end the waiting.
        while context.fault().is_none() {
            let found = memory.load(self.address, self.size == 8);
            let found = found.map_err(|error| Code::ILLEGAL_ADDRESS.because(error.to_string()))?;
            if self.will_do(found) {
                break;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        Ok(())
    }

    fn will_do(&self, found: u64) -> bool {
        match self.when {
            When::Greater if self.size == 4 => {
                (found as u32).wrapping_sub(self.value as u32) as i32 >= 0
            }
            When::Greater => found.wrapping_sub(self.value) as i64 >= 0,
            When::Equal => found == self.value,
            When::And => found & self.value != 0,
            When::Nor if self.size == 4 => !(found as u32 | self.value as u32) != 0,
            When::Nor => !(found | self.value) != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_will_do_or_not() {
        let wait = |when, size, value| Wait { address: 0, value, size, when };
        assert!(wait(When::Greater, 4, 5).will_do(5));
        assert!(!wait(When::Greater, 4, 5).will_do(4));
        // In wrapping order, 2 comes after the largest number.
        assert!(wait(When::Greater, 4, 0xffff_ffff).will_do(2));
        assert!(wait(When::Equal, 8, 7).will_do(7) && !wait(When::Equal, 8, 7).will_do(8));
        assert!(wait(When::And, 8, 6).will_do(2) && !wait(When::And, 8, 6).will_do(1));
        assert!(
            wait(When::Nor, 4, 0xffff_fffe).will_do(0)
                && !wait(When::Nor, 4, 0xffff_fffe).will_do(1)
        );
    }
}
