//! Accesses by the address of one before: how a warp's addresses lie is found once for both. A loop that
//! the compiler unrolled reads `[%rd1]`, `[%rd1+4]`, `[%rd1+8]`, ….

use std::collections::HashSet;

use crate::engine::access::instruction::{Access, Kept};
use crate::engine::code::{Action, Step};
use crate::engine::registers::{ALWAYS, Slot, Width};

/// Marks them, in all steps of a kernel, whose branches are resolved.
pub(super) fn mark(code: &mut [Step]) {
    let targets = targets(code);
    // The first access by each address that still is what it was, and where that is.
    let mut first: Vec<(Slot, u64, usize)> = Vec::new();
    for at in 0..code.len() {
        if targets.contains(&(at as u32)) {
            first.clear();
        }
        let step = &code[at];
        let all = (step.guard, step.flip) == (ALWAYS, 0);
        match &step.action {
            Action::Compute(_, operands) => {
                first.retain(|(address, ..)| !touches(operands.d, Width::Wide, *address));
            }
            Action::Transfer(_, access) => {
                let (address, bytes) = (access.address, access.total());
                let before = first.iter().find(|(slot, of, _)| (*slot, *of) == (address, bytes));
                match before {
                    Some(&(.., before)) => link(code, before, at),
                    // Of one that may be left out nothing is known later.
                    None if all => first.push((address, bytes, at)),
                    None => {}
                }
                let Action::Transfer(_, access) = &code[at].action else { continue };
                first.retain(|(address, ..)| {
                    !access.values.iter().any(|to| touches(to.index, to.width, *address))
                });
            }
            // It computes nothing.
            Action::Uses(_) => {}
            // It may change anything, or let another warp run.
            _ => first.clear(),
        }
    }
}

/// Has the second find what the first has found.
fn link(code: &mut [Step], first: usize, second: usize) {
    let site = |step: &mut Step, set: &dyn Fn(&mut Access)| {
        if let Action::Transfer(_, access) = &mut step.action {
            set(access);
            access.site
        } else {
            0
        }
    };
    let own = site(&mut code[first], &|access| access.kept = Kept::ForOthers);
    site(&mut code[second], &|access| access.kept = Kept::By(own));
}

/// Whether a step that writes from a row on may write to a register: a wide one takes two rows, and which
/// a step writes is not always known.
fn touches(row: u32, width: Width, register: Slot) -> bool {
    let rows = |width| match width {
        Width::Predicate => 0,
        Width::Narrow(_) => 1,
        Width::Wide => 2,
        Width::Quad => 4,
    };
    row < register.index + rows(register.width) && register.index < row + rows(width)
}

/// The steps that others lead to than the one before.
fn targets(code: &[Step]) -> HashSet<u32> {
    let mut targets = HashSet::new();
    for step in code {
        match &step.action {
            Action::Branch(target) | Action::Call(target) => {
                targets.insert(*target);
            }
            Action::BranchIndexed { targets: list, .. } => targets.extend(list.iter().copied()),
            _ => {}
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::registers::Width;

    #[test]
    fn what_a_step_writes_touches_registers_of_two_rows() {
        let wide = Slot { index: 10, width: Width::Wide };
        let touched: Vec<u32> = (0..20).filter(|&row| touches(row, Width::Wide, wide)).collect();
        assert_eq!(touched, [9, 10, 11]);
        let touched: Vec<u32> = (0..20).filter(|&row| touches(row, Width::Quad, wide)).collect();
        assert_eq!(touched, [7, 8, 9, 10, 11]);
        let narrow = Slot { index: 10, width: Width::Narrow(32) };
        let touched: Vec<u32> =
            (0..20).filter(|&row| touches(row, Width::Narrow(32), narrow)).collect();
        assert_eq!(touched, [10]);
    }
}
