//! A step of gradient descent with momentum: two buffers, updated in place.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle =
    Puzzle { cases: || [64, 3, 100, 250].map(case).into(), ..Puzzle::BLANK };

fn case(n: usize) -> Case {
    let mut random = Random::new(n as u64);
    let (w, v, dw) = (random.floats(n), random.floats(n), random.floats(n));
    let (rate, decay) = (0.1_f32, 0.9_f32);
    let speed = |i: usize| Near::from(decay) * Near::from(v[i]) + Near::from(dw[i]);
    let moved = |i: usize, by: Near| Near::from(w[i]) - Near::from(rate) * by;
    let each = |f: &dyn Fn(usize) -> Near| (0..n).map(f).collect::<Vec<_>>();
    Case::elements(n, 64)
        .f32("rate", rate)
        .f32("decay", decay)
        .input("dw", &[n], &dw)
        .changed("v", &[n], &v, each(&speed))
        .changed("w", &[n], &w, each(&|i| moved(i, speed(i))))
        .known_mistake(
            each(&|i| moved(i, v[i].into())),
            "The weights were updated with the old v: use the new one.",
        )
        .known_mistake(
            each(&|i| moved(i, dw[i].into())),
            "The weights were updated with dw, as without momentum: use the new v.",
        )
}
