//! Backward pass of one layer, to the layer before it.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    cases: || [[4, 8, 8], [1, 1, 1], [3, 10, 30], [7, 5, 13]].map(case).into(),
    ..Puzzle::BLANK
};

fn case([batch, n, m]: [usize; 3]) -> Case {
    let mut random = Random::new((batch * 10_000 + n * 100 + m) as u64);
    let (dz, w) = (random.floats(batch * n), random.floats(n * m));
    let mut z = random.floats(batch * m);
    z[0] = z[0].abs();
    let da = |at: usize| {
        let (s, i) = (at / m, at % m);
        dot((0..n).map(|j| (Near::from(dz[s * n + j]), Near::from(w[j * m + i]))))
    };
    let masked = |keep: &dyn Fn(f32) -> bool| {
        let one = |at: usize| if keep(z[at]) { da(at) } else { Near::exact(0.0) };
        (0..batch * m).map(one).collect::<Vec<_>>()
    };
    let as_forward = (0..batch * m).map(|at| {
        let (s, i) = (at / m, at % m);
        let sum = (0..n).map(|j| f64::from(dz[s * n + j]) * f64::from(w[i * n + j])).sum();
        if z[at] > 0.0 { sum } else { 0.0 }
    });
    Case::new(format!("batch {batch}, {n} units, {m} before"))
        .cover(m, batch, [8, 4])
        .sizes([("batch", batch), ("m", m), ("n", n)])
        .input("dz", &[batch, n], &dz)
        .input("w", &[n, m], &w)
        .input("z", &[batch, m], &z)
        .changed("dz_before", &[batch, m], &vec![-777.0; batch * m], masked(&|z| z > 0.0))
        .known_mistake(
            masked(&|z| z < 0.0),
            "The mask is upside down: the gradient passes where z was positive.",
        )
        .suspect_if(
            batch * m > 1,
            masked(&|_| true),
            "This is da = dz w, and it is right, but the backward step of ReLU is missing: where z was not \
             positive, nothing passes.",
        )
        .suspect_if(
            batch * m > 1 && n == m,
            as_forward,
            "The weights were used as in the forward pass. The backward pass is dz w, without a \
             transposition: input i is *column* i of w.",
        )
}
