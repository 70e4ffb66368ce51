//! A copy whose accesses share sectors.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    demands: &[Demand {
        measure: Measure::Sectors,
        ratio: 1.05,
        says: "In each round the 32 threads of a warp access 32 elements that are far apart, and use \
               4 bytes of each sector of 32 bytes that is fetched. In one round, thread i should copy \
               an element next to that of thread i + 1.",
    }],
    cases: || [512, 1024, 1000].map(case).into(),
    ..Puzzle::BLANK
};

fn case(n: usize) -> Case {
    let x = Random::new(n as u64).floats(n);
    let out = x.iter().map(|&x| Near::from(x));
    Case::with_n(n)
        .launch(1, 64)
        .input("x", &[n], &x)
        .output("out", &[n], out)
}
