//! A layer in one fused kernel: product, bias and activation.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    cases: || [[4, 8, 8], [1, 1, 1], [8, 10, 30], [5, 13, 9]].map(case).into(),
    ..Puzzle::BLANK
};

fn case([batch, n, m]: [usize; 3]) -> Case {
    let mut random = Random::new((batch * 10_000 + n * 100 + m) as u64);
    let (x, w, b) = (random.floats(batch * m), random.floats(n * m), random.floats(n));
    let product = |at: usize| {
        let (i, j) = (at / n, at % n);
        dot((0..m).map(|t| (Near::from(x[i * m + t]), Near::from(w[j * m + t]))))
    };
    let z = |at: usize| product(at) + Near::from(b[at % n]);
    let relu = |near: Near| near.max(Near::exact(0.0));
    let each = |f: &dyn Fn(usize) -> Near| (0..batch * n).map(f).collect::<Vec<_>>();
    Case::new(format!("batch {batch}, {m} inputs, {n} units"))
        .cover(n, batch, [8, 4])
        .sizes([("batch", batch), ("m", m), ("n", n)])
        .input("x", &[batch, m], &x)
        .input("w", &[n, m], &w)
        .input("b", &[n], &b)
        .output("a", &[batch, n], each(&|at| relu(z(at))))
        .known_mistake(each(&z), "The products and the bias are right, but ReLU is missing.")
        .known_mistake(
            each(&|at| relu(product(at))),
            "The bias is missing: the sum may begin with b[j] in place of 0.",
        )
        .known_mistake(
            each(&|at| relu(product(at)) + Near::from(b[at % n])),
            "The bias is added after ReLU. It belongs before: a = relu(x wᵀ + b).",
        )
}
