//! Normalisation of pixels: integers become floats.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle =
    Puzzle { cases: || [64, 3, 100, 250].map(case).into(), ..Puzzle::BLANK };

fn case(n: usize) -> Case {
    let pixel = Random::new(n as u64).below(256, n);
    let [scale, mean, deviation] = [255.0_f32, 0.1307, 0.3081].map(Near::from);
    let normalised = |pixel: u32| (Near::exact(f64::from(pixel)) / scale - mean) / deviation;
    let divided: Vec<f64> = pixel.iter().map(|&pixel| normalised(pixel / 255 * 255).value).collect();
    let unscaled = |&pixel: &u32| ((Near::exact(f64::from(pixel)) - mean) / deviation).value;
    let unscaled: Vec<f64> = pixel.iter().map(unscaled).collect();
    Case::elements(n, 64)
        .input_u32("pixel", &[n], &pixel)
        .output("x", &[n], pixel.iter().map(|&pixel| normalised(pixel)))
        .known_mistake(
            divided,
            "The pixels below 255 count as 0: an integer was divided by an integer, which gives an \
             integer. Divide by 255.0f.",
        )
        .known_mistake(unscaled, "The division by 255 is missing.")
}
