//! Prefix sums, in rounds that read the results of the round before.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    demands: &[Demand {
        measure: Measure::Sectors,
        ratio: 1.5,
        says: "Each element should be fetched from global memory once. Add up in shared memory, in \
               rounds: seven of them suffice for 128 elements.",
    }],
    cases: || [128, 1, 2, 33, 100].map(case).into(),
    ..Puzzle::BLANK
};

fn case(n: usize) -> Case {
    let x = Random::new(n as u64).floats(n);
    let up_to = |end: usize| sum(x[..end].iter().map(|&x| Near::from(x)));
    let exclusive: Vec<f64> = (0..n).map(|i| up_to(i).value).collect();
    Case::with_n(n)
        .launch(1, 128)
        .input("x", &[n], &x)
        .output("out", &[n], (0..n).map(|i| up_to(i + 1)))
        .known_mistake(
            exclusive,
            "Each is the sum of the elements *before* it. This is an inclusive scan: its own element \
             has to be added too.",
        )
}
