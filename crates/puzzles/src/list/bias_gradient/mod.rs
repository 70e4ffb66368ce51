//! The puzzle of the bias's gradient: a sum over the batch.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    cases: || [[4, 32], [1, 1], [8, 10], [3, 3], [37, 45]].map(case).into(),
    ..Puzzle::BLANK
};

fn case([batch, n]: [usize; 2]) -> Case {
    let dz = Random::new((batch * 100 + n) as u64).floats(batch * n);
    let db = |j: usize| sum((0..batch).map(|i| Near::from(dz[i * n + j])));
    let stale: Vec<f32> = (0..n).map(|j| 3.0 + j as f32).collect();
    let mean = (0..n).map(|j| db(j).value / batch as f64);
    let rows = (0..n).map(|j| (0..n).map(|t| f64::from(dz[j * n + t])).sum::<f64>());
    Case::new(format!("batch {batch}, {n} units"))
        .launch(n.div_ceil(32) as u32, 32)
        .sizes([("batch", batch), ("n", n)])
        .input("dz", &[batch, n], &dz)
        .changed("db", &[n], &stale, (0..n).map(db))
        .known_mistake(
            (0..n).map(|j| db(j).value + f64::from(stale[j])),
            "It still contains the gradient of the step before: the kernel added to the old `db`. Add up \
             in a variable that begins with 0. (PyTorch adds to .grad, which is why it needs \
             zero_grad.)",
        )
        .suspect_if(
            batch > 1,
            mean,
            "This is the mean over the batch. dz is already divided by the batch size, so db is a sum.",
        )
        .suspect_if(
            batch > 1 && batch == n,
            rows,
            "This is the sum of each row. A unit is a column: its elements are `n` apart.",
        )
}
