//! A vector added to each row of a matrix: the bias of a layer.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    cases: || [[4, 4], [4, 16], [1, 1], [3, 10], [7, 30], [5, 17]].map(case).into(),
    ..Puzzle::BLANK
};

fn case([batch, n]: [usize; 2]) -> Case {
    let mut random = Random::new((batch * 100 + n) as u64);
    let (x, b) = (random.floats(batch * n), random.floats(n));
    let sum = |i: usize, at: usize| Near::from(x[i]) + Near::from(b[at % n]);
    let by_row: Vec<f64> = (0..batch * n).map(|i| sum(i, i / n).value).collect();
    Case::new(format!("batch {batch}, {n} units"))
        .cover(n, batch, [16, 4])
        .sizes([("batch", batch), ("n", n)])
        .input("x", &[batch, n], &x)
        .input("b", &[n], &b)
        .output("z", &[batch, n], (0..batch * n).map(|i| sum(i, i)))
        .known_mistake(
            by_row,
            "The bias was chosen by the row. But each unit has its own bias, for all samples, and \
             units are columns here.",
        )
}
