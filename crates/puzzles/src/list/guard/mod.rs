//! More threads than elements: those that are one too many go home.

use crate::case::Case;
use crate::near::Near;
use crate::puzzle::Puzzle;
use crate::random::Random;

const BLOCK: usize = 32;

pub(super) static PUZZLE: Puzzle = Puzzle {
    name: "guard",
    idea: "several blocks, and threads without an element",
    kernel: "twice",
    task: include_str!("task.md"),
    picture: Some(include_str!("picture.svg")),
    sources: &[source!(CudaC), source!(Ptx)],
    hints: include_str!("hints.md"),
    demands: &[],
    cases: || [32, 37, 1, 64, 95].map(case).into(),
};

fn case(n: usize) -> Case {
    let x = Random::new(n as u64).floats(n);
    let out = x.iter().map(|&x| Near::from(2.0 * x)).collect();
    let only_first = x.iter().enumerate().map(|(i, &x)| if i < BLOCK { 2.0 * f64::from(x) } else { 0.0 });
    let only_first: Vec<f64> = only_first.collect();
    let case = Case::new(format!("n = {n}"))
        .launch(n.div_ceil(BLOCK) as u32, BLOCK as u32)
        .u32("n", n)
        .input("x", &[n], &x)
        .output("out", &[n], out);
    if n <= BLOCK {
        return case;
    }
    case.suspect(
        only_first,
        "Only the elements of the first block are there. threadIdx.x begins with 0 again in every \
         block: the number among all threads is blockIdx.x * blockDim.x + threadIdx.x.",
    )
}
