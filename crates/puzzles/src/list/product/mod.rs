//! The matrix product with a thread for each element of the result.

use super::loops;
use crate::case::Case;
use crate::puzzle::Puzzle;

pub(super) const PUZZLE: Puzzle = Puzzle {
    name: "product",
    idea: "a thread for each element of a product",
    kernel: "product",
    sources: &[source!(CudaC), source!(Ptx)],
    cases: || [[8, 8, 4], [1, 1, 1], [8, 8, 8], [5, 13, 9], [17, 10, 30]].map(case).into(),
    ..Puzzle::BLANK
};

fn case([m, n, k]: [usize; 3]) -> Case {
    let blocks = [n.div_ceil(8) as u32, m.div_ceil(8) as u32];
    loops::product(Case::new(format!("m = {m}, n = {n}, k = {k}")).launch_2d(blocks, [8, 8]), [m, n, k])
}
