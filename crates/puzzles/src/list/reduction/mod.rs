//! Reduction: the sum of a block's elements, by halves.

use super::prelude::*;

const BLOCK: usize = 128;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    demands: &[Demand {
        measure: Measure::Sectors,
        ratio: 1.5,
        says: "One thread does the work of the whole block: it fetches the numbers one by one, each \
               with a separate sector, while the others wait. Each thread should fetch one number, \
               and then half of the threads should add the numbers of the other half.",
    }],
    cases: || [128, 1, 100, 256, 333].map(case).into(),
    ..Puzzle::BLANK
};

fn case(n: usize) -> Case {
    let x = Random::new(n as u64).floats(n);
    let sums: Vec<Near> = x.chunks(BLOCK).map(|c| sum(c.iter().map(|&x| Near::from(x)))).collect();
    let first = x.chunks(BLOCK).map(|chunk| f64::from(chunk[0])).collect::<Vec<_>>();
    let half = |from: usize, to: usize| -> Vec<f64> {
        let part = |chunk: &[f32]| -> f64 {
            chunk.iter().skip(from).take(to - from).map(|&x| f64::from(x)).sum()
        };
        x.chunks(BLOCK).map(part).collect()
    };
    Case::elements(n, BLOCK)
        .input("x", &[n], &x)
        .output("sums", &[sums.len()], sums)
        .known_mistake(first, "This is only the first number of each block: nothing was added to it.")
        .known_mistake(
            half(0, 64),
            "This is the sum of the first half of each block: the first round, in which thread t adds \
             the number of thread t + 64, is missing.",
        )
        .known_mistake(
            half(0, 2),
            "Only the first two numbers were added: of all rounds only the last one was done.",
        )
}
