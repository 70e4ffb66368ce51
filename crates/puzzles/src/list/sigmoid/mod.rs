//! The sigmoid function.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle =
    Puzzle { cases: || [64, 3, 100, 250].map(case).into(), ..Puzzle::BLANK };

fn case(n: usize) -> Case {
    let z: Vec<f32> = Random::new(n as u64).floats(n).iter().map(|z| 6.0 * z).collect();
    let one = Near::exact(1.0);
    let p: Vec<Near> = z.iter().map(|&z| one / (one + (-Near::from(z)).exp())).collect();
    let other = p.iter().map(|p| 1.0 - p.value).collect::<Vec<_>>();
    Case::elements(n, 64)
        .input("z", &[n], &z)
        .output("p", &[n], p)
        .known_mistake(other, "This is 1 - p: the sign of z in the exponent is wrong.")
}
