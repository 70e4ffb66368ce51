//! A map with more threads than elements, and a guard for the surplus threads.

use super::prelude::*;

const BLOCK: usize = 32;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    cases: || [32, 37, 1, 64, 95].map(case).into(),
    ..Puzzle::BLANK
};

fn case(n: usize) -> Case {
    let x = Random::new(n as u64).floats(n);
    let out = x.iter().map(|&x| Near::from(2.0 * x));
    let only_first = x.iter().enumerate().map(|(i, &x)| if i < BLOCK { 2.0 * f64::from(x) } else { 0.0 });
    Case::elements(n, BLOCK)
        .input("x", &[n], &x)
        .output("out", &[n], out)
        .suspect_if(
            n > BLOCK,
            only_first,
            "Only the elements of the first block are written. threadIdx.x begins with 0 again in every \
             block: the number among all threads is blockIdx.x * blockDim.x + threadIdx.x.",
        )
}
