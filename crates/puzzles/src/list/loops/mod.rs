//! A matrix product as three nested loops, by one thread.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    cases: || [[2, 2, 2], [1, 1, 1], [2, 3, 4], [5, 7, 3]].map(case).into(),
    ..Puzzle::BLANK
};

fn case([m, n, k]: [usize; 3]) -> Case {
    product(Case::new(format!("m = {m}, n = {n}, k = {k}")).launch(1, 1), [m, n, k])
}

/// Adds to a case the arguments of a product `c = a bᵀ`, and the results of typical mistakes.
pub(super) fn product(case: Case, [m, n, k]: [usize; 3]) -> Case {
    let mut random = Random::new((m * 10_000 + n * 100 + k) as u64);
    let (a, b) = (random.floats(m * k), random.floats(n * k));
    let element = |row: usize, column: usize, last: usize| {
        dot((0..last).map(|t| (Near::from(a[row * k + t]), Near::from(b[column * k + t]))))
    };
    let all = |last: usize| (0..m * n).map(|at| element(at / n, at % n, last)).collect::<Vec<_>>();
    let term = |at: usize| f64::from(a[at / n * k + k - 1]) * f64::from(b[at % n * k + k - 1]);
    let untransposed = (0..m * n).map(|at| {
        (0..k).map(|t| f64::from(a[at / n * k + t]) * f64::from(b[t * n + at % n])).sum::<f64>()
    });
    case.sizes([("m", m), ("n", n), ("k", k)])
        .input("a", &[m, k], &a)
        .input("b", &[n, k], &b)
        .output("c", &[m, n], all(k))
        .suspect_if(
            k > 1,
            all(k - 1),
            "The last term of each sum is missing: the loop over t ends one too early.",
        )
        .suspect_if(
            k > 1,
            (0..m * n).map(term),
            "Only the last term of each sum is left: the sum is replaced in each round, and should \
             grow (+=).",
        )
        .suspect_if(
            k > 1 && k == n,
            untransposed,
            "This is a times b, but the task is a times b *transposed*: b is [n, k], so column j of the \
             result takes row j of b.",
        )
}
