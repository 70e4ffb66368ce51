//! Devices: where the elements of an array lie and who computes with them.

use std::fmt;

/// A place where tensors live. An operation takes all its operands from one device, and leaves its
/// result there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Device {
    /// This computer's processor and memory.
    #[default]
    Cpu,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.pad("cpu"),
        }
    }
}
