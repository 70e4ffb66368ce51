//! The sigmoid function.

use super::prelude::*;

const BLOCK: usize = 64;

pub(super) const PUZZLE: Puzzle = Puzzle {
    name: "sigmoid",
    idea: "an exponential",
    kernel: "sigmoid",
    cases: || [64, 3, 100, 250].map(case).into(),
    ..Puzzle::BLANK
};

fn case(n: usize) -> Case {
    let z: Vec<f32> = Random::new(n as u64).floats(n).iter().map(|z| 6.0 * z).collect();
    let one = Near::exact(1.0);
    let p: Vec<Near> = z.iter().map(|&z| one / (one + (-Near::from(z)).exp())).collect();
    let other = p.iter().map(|p| 1.0 - p.value).collect::<Vec<_>>();
    Case::elements(n, BLOCK)
        .input("z", &[n], &z)
        .output("p", &[n], p)
        .suspect(other, "This is 1 - p: the sign of z in the exponent is wrong.")
}
