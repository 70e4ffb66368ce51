//! Gradient of the weights: a matrix product over the batch.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    cases: || [[4, 8, 8], [1, 1, 1], [3, 10, 5], [7, 6, 20]].map(case).into(),
    ..Puzzle::BLANK
};

fn case([batch, n, m]: [usize; 3]) -> Case {
    let mut random = Random::new((batch * 10_000 + n * 100 + m) as u64);
    let (dz, a) = (random.floats(batch * n), random.floats(batch * m));
    let dw = |at: usize| {
        let (j, i) = (at / m, at % m);
        dot((0..batch).map(|s| (Near::from(dz[s * n + j]), Near::from(a[s * m + i]))))
    };
    let first = |at: usize| f64::from(dz[at / m]) * f64::from(a[at % m]);
    let last = |at: usize| {
        f64::from(dz[(batch - 1) * n + at / m]) * f64::from(a[(batch - 1) * m + at % m])
    };
    Case::new(format!("batch {batch}, {m} inputs, {n} units"))
        .cover(m, n, [8, 4])
        .sizes([("batch", batch), ("m", m), ("n", n)])
        .input("dz", &[batch, n], &dz)
        .input("a", &[batch, m], &a)
        .output("dw", &[n, m], (0..n * m).map(dw))
        .suspect_if(
            batch > 1,
            (0..n * m).map(first),
            "This is only the gradient of the first sample: those of the whole batch have to be added.",
        )
        .suspect_if(
            batch > 1,
            (0..n * m).map(last),
            "This is only the gradient of the last sample: in each round the sum was replaced, and should \
             grow.",
        )
}
