//! Sharing of address patterns between accesses with the same base address, such as `[%rd1]`,
//! `[%rd1+4]`, `[%rd1+8]`, … in an unrolled loop: the pattern of a warp's addresses is only
//! computed once.

use std::collections::HashSet;

use crate::engine::access::instruction::{Access, PatternReuse};
use crate::engine::code::{Action, Step};
use crate::engine::registers::{ALWAYS, Slot, Width};

/// Marks accesses that share an address pattern, in all steps of a kernel. Branches must already be
/// resolved.
pub(super) fn mark(code: &mut [Step]) {
    let targets = targets(code);
    // The first access with each base address, size and step, as long as the address is unchanged.
    let mut first: Vec<(Slot, u64, usize)> = Vec::new();
    for at in 0..code.len() {
        if targets.contains(&(at as u32)) {
            first.clear();
        }
        let step = &code[at];
        let all = (step.guard, step.negation_mask) == (ALWAYS, 0);
        match &step.action {
            Action::Compute(_, operands) => {
                first.retain(|(address, ..)| !touches(operands.d, Width::Wide, *address));
            }
            Action::Transfer(_, access) => {
                let (address, bytes) = (access.address, access.total_bytes());
                let before = first.iter().find(|(slot, of, _)| (*slot, *of) == (address, bytes));
                match before {
                    Some(&(.., before)) => link(code, before, at),
                    // Only an unguarded access counts: a guarded one may not be executed, so later
                    // accesses can't rely on its pattern.
                    None if all => first.push((address, bytes, at)),
                    None => {}
                }
                let Action::Transfer(_, access) = &code[at].action else { continue };
                first.retain(|(address, ..)| {
                    !access.values.iter().any(|to| touches(to.index, to.width, *address))
                });
            }
            // This step only checks whether registers are initialised, and changes none of them.
            Action::Uses(_) => {}
            // Any other step may change anything, or let another warp run.
            _ => first.clear(),
        }
    }
}

/// Lets the second access reuse the address pattern of the first.
fn link(code: &mut [Step], first: usize, second: usize) {
    let site = |step: &mut Step, set: &dyn Fn(&mut Access)| {
        if let Action::Transfer(_, access) = &mut step.action {
            set(access);
            access.site
        } else {
            0
        }
    };
    let own = site(&mut code[first], &|access| access.pattern = PatternReuse::Computed);
    site(&mut code[second], &|access| access.pattern = PatternReuse::ReusedFrom(own));
}

/// Whether a step that writes a register of this width at `row` may change the register in
/// `register`. A wide register takes two rows, and the width that a step writes is not always
/// known.
fn touches(row: u32, width: Width, register: Slot) -> bool {
    let rows = |width| match width {
        Width::Predicate => 0,
        Width::Narrow(_) => 1,
        Width::Wide => 2,
        Width::Quad => 4,
    };
    row < register.index + rows(register.width) && register.index < row + rows(width)
}

/// The steps that are targets of branches and calls.
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
    fn touches_includes_all_rows_of_both_registers() {
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
