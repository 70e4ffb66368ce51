//! A step of gradient descent, in place.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle =
    Puzzle { cases: || [64, 3, 100, 250].map(case).into(), ..Puzzle::BLANK };

fn case(n: usize) -> Case {
    let mut random = Random::new(n as u64);
    let (w, dw, rate) = (random.floats(n), random.floats(n), 0.1_f32);
    let pair = |i: usize| (f64::from(w[i]), f64::from(rate) * f64::from(dw[i]));
    let each = |value: fn((f64, f64)) -> f64| -> Vec<f64> { (0..n).map(|i| value(pair(i))).collect() };
    let after = (0..n).map(|i| Near::from(w[i]) - Near::from(rate) * Near::from(dw[i]));
    Case::elements(n, 64)
        .f32("rate", rate)
        .input("dw", &[n], &dw)
        .changed("w", &[n], &w, after)
        .known_mistake(
            each(|(w, step)| w + step),
            "These weights went uphill: the gradient points to where the loss grows, so subtract it.",
        )
        .known_mistake(each(|(_, step)| -step), "This is only the step. It has to be added to the weight.")
        .known_mistake(each(|(_, step)| step), "This is only rate * dw: the weight is lost.")
        .known_mistake(each(|(w, step)| w - 10.0 * step), "This is w - dw: the learning rate is missing.")
}
