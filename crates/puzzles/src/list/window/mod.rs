//! A sliding window: neighbours are fetched once, into shared memory.

use super::prelude::*;

const BLOCK: usize = 64;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    demands: &[Demand {
        measure: Measure::Sectors,
        ratio: 1.3,
        says: "Each element is fetched from global memory five times, once for each thread that needs \
               it. Have the block fetch its elements once, into shared memory, with the two \
               neighbours on each side; then, after a barrier, add up from there.",
    }],
    cases: || [64, 1, 100, 256, 301].map(case).into(),
    ..Puzzle::BLANK
};

fn case(n: usize) -> Case {
    let x = Random::new(n as u64).floats(n);
    let near = |i: usize| {
        let (from, to) = (i.saturating_sub(2), (i + 3).min(n));
        sum(x[from..to].iter().map(|&x| Near::from(x)))
    };
    let without_neighbours = |i: usize| -> f64 {
        let block = i / BLOCK * BLOCK;
        let (from, to) = (i.saturating_sub(2).max(block), (i + 3).min(n).min(block + BLOCK));
        x[from..to].iter().map(|&x| f64::from(x)).sum()
    };
    Case::elements(n, BLOCK)
        .input("x", &[n], &x)
        .output("out", &[n], (0..n).map(near))
        .suspect_if(
            n > BLOCK,
            (0..n).map(without_neighbours),
            "Elements at the edges of blocks lack the neighbours that belong to the next block. The tile \
             has to hold two more elements on each side.",
        )
}
