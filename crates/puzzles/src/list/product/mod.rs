//! The same product, a thread for each element of the result.

use super::loops;
use crate::case::Case;
use crate::puzzle::Puzzle;

pub(super) static PUZZLE: Puzzle = Puzzle {
    name: "product",
    idea: "a thread for each element of a product",
    kernel: "product",
    task: include_str!("task.md"),
    picture: None,
    sources: &[source!(CudaC), source!(Ptx)],
    hints: include_str!("hints.md"),
    demands: &[],
    cases: || [[8, 8, 4], [1, 1, 1], [8, 8, 8], [5, 13, 9], [17, 10, 30]].map(case).into(),
};

fn case([m, n, k]: [usize; 3]) -> Case {
    let blocks = [n.div_ceil(8) as u32, m.div_ceil(8) as u32];
    loops::product(Case::new(format!("m = {m}, n = {n}, k = {k}")).launch_2d(blocks, [8, 8]), [m, n, k])
}
