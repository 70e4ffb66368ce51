//! Backward pass of ReLU.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    cases: || [64, 1, 70, 150].map(case).into(),
    ..Puzzle::BLANK
};

fn case(n: usize) -> Case {
    let mut random = Random::new(n as u64);
    let (mut z, da) = (random.floats(n), random.floats(n));
    // Some z are exactly 0, where the slope is defined as 0.
    z.iter_mut().skip(4).step_by(5).for_each(|z| *z = 0.0);
    let where_ = |keep: fn(f32) -> bool, rest: f64| -> Vec<f64> {
        z.iter().zip(&da).map(|(&z, &da)| if keep(z) { f64::from(da) } else { rest }).collect()
    };
    let dz = where_(|z| z > 0.0, 0.0).into_iter().map(Near::exact);
    let product = z.iter().zip(&da).map(|(&z, &da)| f64::from(z).max(0.0) * f64::from(da));
    let by_da = da.iter().map(|&da| f64::from(da).max(0.0)).collect::<Vec<_>>();
    Case::elements(n, 64)
        .input("da", &[n], &da)
        .input("z", &[n], &z)
        .changed("dz", &[n], &vec![-777.0; n], dz)
        .known_mistake(
            where_(|z| z > 0.0, -777.0),
            "Where z is not positive, `dz` is unchanged and holds the gradient of the step before. \
             Zeros have to be written too.",
        )
        .known_mistake(
            where_(|z| z < 0.0, 0.0),
            "It is the wrong way around: the gradient passes where z is negative.",
        )
        .known_mistake(
            where_(|z| z >= 0.0, 0.0),
            "Only the elements with z = 0 are wrong. At the kink the slope is taken as 0, as PyTorch \
             does: > and not >=.",
        )
        .known_mistake(
            product,
            "This is relu(z) * da. The derivative of ReLU is 1 where z is positive, not z.",
        )
        .known_mistake(
            by_da,
            "The condition tests da. It has to test z, the input of ReLU: a gradient may well be \
             negative.",
        )
}
