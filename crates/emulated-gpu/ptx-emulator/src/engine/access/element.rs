//! Elements of rows of registers that memory holds in the same form.

use crate::engine::lane::Stored;
use crate::memory::words::Word;

/// A word of either.
pub(super) trait Element: Stored + Word {}

impl Element for u32 {}

impl Element for u64 {}
