//! Clipping to two bounds, without a branch.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle =
    Puzzle { cases: || [64, 3, 100, 250].map(case).into(), ..Puzzle::BLANK };

fn case(n: usize) -> Case {
    let (dw, limit) = (Random::new(n as u64).floats(n), 0.25_f32);
    let each = |f: fn(f32, f32) -> f32| dw.iter().map(|&dw| f(dw, limit)).collect::<Vec<_>>();
    let after = each(|dw, limit| dw.clamp(-limit, limit));
    Case::elements(n, 64)
        .f32("limit", limit)
        .changed("dw", &[n], &dw, after)
        .known_mistake(
            each(f32::min),
            "Only the upper bound holds: values smaller than -limit have to become -limit.",
        )
        .known_mistake(each(|dw, limit| dw.max(-limit)), "Only the lower bound holds.")
        .known_mistake(
            each(|dw, limit| dw.max(limit)),
            "Everything is at least the limit now: minimum and maximum have changed places.",
        )
}
