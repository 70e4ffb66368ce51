//! A grid-stride loop, for more elements than threads.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    demands: &[Demand {
        measure: Measure::Sectors,
        ratio: 1.5,
        says: "Neighbouring threads should read neighbouring elements in each round, so that a warp's \
               32 reads are four sectors of 32 bytes. Instead of giving each thread a contiguous \
               piece, let it step by the number of all threads.",
    }],
    cases: || [64, 10, 100, 1000].map(case).into(),
    ..Puzzle::BLANK
};

fn case(n: usize) -> Case {
    let x = Random::new(n as u64).floats(n);
    let out = x.iter().map(|&x| Near::from(x) * Near::from(x));
    Case::with_n(n)
        .launch(2, 32)
        .input("x", &[n], &x)
        .output("out", &[n], out)
}
