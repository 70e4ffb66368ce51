//! Rotation in place: a barrier between reading and writing.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    cases: || [3, 32, 64, 65, 200].map(case).into(),
    ..Puzzle::BLANK
};

fn case(n: usize) -> Case {
    let x = Random::new(n as u64).floats(n);
    let after = |by: usize| (0..n).map(|i| Near::from(x[(i + by) % n])).collect::<Vec<_>>();
    let back: Vec<f64> = after(n - 1).iter().map(|near| near.value).collect();
    Case::with_n(n)
        .launch(1, n as u32)
        .changed("x", &[n], &x, after(1))
        .known_mistake(
            back,
            "It is rotated the other way around: x[0] should get what x[1] held.",
        )
}
