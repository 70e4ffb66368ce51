//! Element types that have the same representation in registers and in memory.

use crate::engine::lane::Stored;
use crate::memory::words::Word;

/// A 32-bit or 64-bit word.
pub(super) trait Element: Stored + Word {}

impl Element for u32 {}

impl Element for u64 {}
