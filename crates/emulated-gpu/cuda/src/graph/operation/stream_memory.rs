//! Stream memory operations: writes of a value, and waits for a value (`cuStreamWriteValue32` and the like).

use std::sync::Arc;
use std::time::Duration;

use ptx_emulator::Memory;

use crate::abi::Pointer;
use crate::abi::error::{Code, Result};
use crate::context::Context;

/// A write of a value to memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) address: Pointer,
    pub(crate) value: u64,
    /// The size of the value: 4 or 8 bytes.
    pub(crate) size: usize,
}

/// The condition under which a wait ends (`CUstreamWaitValue_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitCondition {
    /// The value in memory is greater or equal, in wrapping order.
    Greater,
    /// The value in memory is equal.
    Equal,
    /// The two values have a common bit that is 1.
    And,
    /// The wait ends when a bit is 0 in both values.
    Nor,
}

/// A wait for a value in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) address: Pointer,
    pub(crate) value: u64,
    /// The size of the value: 4 or 8 bytes.
    pub(crate) size: usize,
    pub(crate) condition: WaitCondition,
}

impl WaitCondition {
    /// Converts the flags of `cuStreamWaitValue32`.
    ///
    /// # Errors
    /// `INVALID_VALUE` for unknown flags.
    pub(crate) fn from_flags(flags: u32) -> Result<Self> {
        // Bit 30 (flush remote writes) is accepted and ignored: there are no remote writes.
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
        // The value is polled, because the writer can't notify this thread. A fault ends the wait.
        while context.fault().is_none() {
            let current = memory.load(self.address, self.size == 8);
            let current =
                current.map_err(|error| Code::ILLEGAL_ADDRESS.because(error.to_string()))?;
            if self.is_satisfied(current) {
                break;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        Ok(())
    }

    fn is_satisfied(&self, current: u64) -> bool {
        match self.condition {
            WaitCondition::Greater if self.size == 4 => {
                (current as u32).wrapping_sub(self.value as u32) as i32 >= 0
            }
            WaitCondition::Greater => current.wrapping_sub(self.value) as i64 >= 0,
            WaitCondition::Equal => current == self.value,
            WaitCondition::And => current & self.value != 0,
            WaitCondition::Nor if self.size == 4 => !(current as u32 | self.value as u32) != 0,
            WaitCondition::Nor => !(current | self.value) != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_end_under_their_condition() {
        let wait = |condition, size, value| Wait { address: 0, value, size, condition };
        assert!(wait(WaitCondition::Greater, 4, 5).is_satisfied(5));
        assert!(!wait(WaitCondition::Greater, 4, 5).is_satisfied(4));
        // The comparison wraps around, so 2 comes after the largest number.
        assert!(wait(WaitCondition::Greater, 4, 0xffff_ffff).is_satisfied(2));
        assert!(
            wait(WaitCondition::Equal, 8, 7).is_satisfied(7)
                && !wait(WaitCondition::Equal, 8, 7).is_satisfied(8)
        );
        assert!(
            wait(WaitCondition::And, 8, 6).is_satisfied(2)
                && !wait(WaitCondition::And, 8, 6).is_satisfied(1)
        );
        assert!(
            wait(WaitCondition::Nor, 4, 0xffff_fffe).is_satisfied(0)
                && !wait(WaitCondition::Nor, 4, 0xffff_fffe).is_satisfied(1)
        );
    }
}
