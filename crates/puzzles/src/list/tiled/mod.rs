//! The matrix product with tiles in shared memory.

use super::loops;
use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    demands: &[Demand {
        measure: Measure::Sectors,
        ratio: 1.05,
        says: "Each row of a is fetched from global memory by every thread that needs it, and so is each \
               row of b. A block of 8 by 8 threads needs eight rows of each: have it fetch an 8 by 8 \
               tile of both into shared memory, one element per thread, use it eight times, and go on \
               to the next tile along t.",
    }],
    cases: || [[8, 8, 8], [8, 8, 16], [1, 1, 1], [10, 9, 20], [17, 30, 33]].map(case).into(),
    ..Puzzle::BLANK
};

fn case([m, n, k]: [usize; 3]) -> Case {
    loops::product(Case::new(format!("m = {m}, n = {n}, k = {k}")).cover(n, m, [8, 8]), [m, n, k])
}
