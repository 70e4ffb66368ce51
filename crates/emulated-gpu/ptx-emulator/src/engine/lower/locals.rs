//! Placement of variables in local memory, with redzones around them: unused memory, so that an
//! access past the end of a variable doesn't reach its neighbour.

use crate::engine::image::LocalVariable;
use crate::limits::{MAX_REDZONES, REDZONE};
use crate::program::Variable;

/// The next multiple of an alignment; saturates on overflow.
pub(super) fn aligned(at: u64, align: u64) -> u64 {
    at.checked_next_multiple_of(align.max(1)).unwrap_or(u64::MAX)
}

/// The variables in local memory. See the module's comment.
#[derive(Default)]
pub(super) struct Locals {
    list: Vec<LocalVariable>,
    /// The bytes of all redzones.
    padding: u64,
    /// The end of the last redzone.
    end: Option<u64>,
}

impl Locals {
    /// Places a variable, with a redzone before and after it, at the end of the used memory
    /// (`local`). Returns its offset.
    pub(super) fn place(&mut self, local: &mut u64, variable: &Variable) -> u64 {
        let guard = variable.size > 0 && self.padding + 2 * REDZONE <= MAX_REDZONES;
        // Adjacent variables share a redzone, and offset 0 has no redzone before it.
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

    /// The bytes of all redzones, and the variables sorted by offset.
    pub(super) fn finish(mut self) -> (u32, Vec<LocalVariable>) {
        self.list.sort_by_key(|variable| variable.start);
        (self.padding as u32, self.list)
    }
}
