//! ReLU of each element.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle =
    Puzzle { cases: || [64, 1, 70, 150].map(case).into(), ..Puzzle::BLANK };

fn case(n: usize) -> Case {
    let z = Random::new(n as u64).floats(n);
    let a = z.iter().map(|&z| Near::from(z.max(0.0)));
    let stale = vec![-777.0; n];
    Case::elements(n, 64)
        .input("z", &[n], &z)
        .changed("a", &[n], &stale, a)
        .known_mistake(
            z.iter().map(|&z| f64::from(z).abs()),
            "These are absolute values. ReLU keeps positive numbers, and turns the others into 0.",
        )
        .known_mistake(
            z.iter().map(|&z| f64::from(z).min(0.0)),
            "It is the wrong way around: negative numbers were kept, and positive ones became 0.",
        )
        .known_mistake(z.iter().map(|&z| f64::from(z)), "This is z itself: negative numbers have to become 0.")
        .known_mistake(
            z.iter().map(|&z| if z > 0.0 { f64::from(z) } else { -777.0 }),
            "Where z is negative, `a` is unchanged. Buffers are reused in each training step, so a \
             kernel has to write all of its output, zeros too.",
        )
}
