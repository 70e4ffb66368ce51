//! The matrix product with a thread for each element of the result.

use super::loops;
use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    cases: || [[8, 8, 4], [1, 1, 1], [8, 8, 8], [5, 13, 9], [17, 10, 30]].map(case).into(),
    ..Puzzle::BLANK
};

fn case([m, n, k]: [usize; 3]) -> Case {
    loops::product(Case::new(format!("m = {m}, n = {n}, k = {k}")).cover(n, m, [8, 8]), [m, n, k])
}
