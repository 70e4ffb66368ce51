//! Variables in a thread's own memory, with redzones around them: memory that belongs to none of them, so that an
//! access past one of them does not reach its neighbour.

use crate::engine::image::LocalVariable;
use crate::limits::{MAX_REDZONES, REDZONE};
use crate::program::Variable;

/// The next multiple of an alignment, or as far as it goes.
pub(super) fn aligned(at: u64, align: u64) -> u64 {
    at.checked_next_multiple_of(align.max(1)).unwrap_or(u64::MAX)
}

/// See the module's comment.
#[derive(Default)]
pub(super) struct Locals {
    list: Vec<LocalVariable>,
    /// Bytes of all redzones.
    padding: u64,
    /// Where the last redzone ends.
    end: Option<u64>,
}

impl Locals {
    /// Puts a variable after the memory that is taken, up to `local`, with a redzone before and after it: its
    /// offset.
    pub(super) fn place(&mut self, local: &mut u64, variable: &Variable) -> u64 {
        let guard = variable.size > 0 && self.padding + 2 * REDZONE <= MAX_REDZONES;
        // One is enough between two variables, and nothing is before the first.
        if guard && *local > 0 && self.end != Some(*local) {
            *local = local.saturating_add(REDZONE);
            self.padding += REDZONE;
        }
        let start = aligned(*local, variable.align);
        let end = start.saturating_add(variable.size);
        *local = end;
        if guard {
            *local = end.saturating_add(REDZONE);
            self.padding += REDZONE;
            self.end = Some(*local);
            let (name, before) = (variable.name.clone(), start.saturating_sub(REDZONE));
            self.list.push(LocalVariable { name, start, end, before, after: *local });
        }
        start
    }

    /// The bytes of all redzones, and the variables in the order of their offsets.
    pub(super) fn finish(mut self) -> (u32, Vec<LocalVariable>) {
        self.list.sort_by_key(|variable| variable.start);
        (self.padding as u32, self.list)
    }
}
