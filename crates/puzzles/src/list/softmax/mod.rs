//! Softmax of each row, by a warp.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    cases: || [[1, 32], [4, 10], [3, 1], [5, 33], [2, 100]].map(case).into(),
    ..Puzzle::BLANK
};

/// Random logits. In every second row, they are so large that `exp` is infinite in `float`.
pub(super) fn logits(random: &mut Random, batch: usize, classes: usize) -> Vec<f32> {
    let mut z = random.floats(batch * classes);
    for (row, values) in z.chunks_mut(classes).enumerate() {
        let offset = if row % 2 == 1 { 120.0 } else { 0.0 };
        values.iter_mut().for_each(|z| *z = *z * 4.0 + offset);
    }
    z
}

/// The numbers `exp(z - largest)` of a row, their sum, and the largest logit.
pub(super) fn exponentials(row: &[f32]) -> (Vec<Near>, Near, Near) {
    let largest = Near::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let each: Vec<Near> = row.iter().map(|&z| (Near::from(z) - largest).exp()).collect();
    let total = sum(each.iter().copied());
    (each, total, largest)
}

fn case([batch, classes]: [usize; 2]) -> Case {
    let z = logits(&mut Random::new((batch * 100 + classes) as u64), batch, classes);
    let rows = z.chunks(classes).map(exponentials).collect::<Vec<_>>();
    let p = rows.iter().flat_map(|(each, total, _)| each.iter().map(|&e| e / *total));
    let naive = z.chunks(classes).flat_map(|row| {
        let total: f32 = row.iter().map(|&z| libm::expf(z)).sum();
        row.iter().map(move |&z| f64::from(libm::expf(z) / total))
    });
    let undivided = rows.iter().flat_map(|(each, ..)| each.iter().map(|near| near.value));
    Case::new(format!("{batch}×{classes} logits"))
        .launch(batch as u32, 32)
        .u32("classes", classes)
        .input("z", &[batch, classes], &z)
        .output("p", &[batch, classes], p)
        .known_mistake(
            undivided,
            "These are the powers exp(z - largest). They still have to be divided by their sum.",
        )
        .suspect_if(
            batch > 1,
            naive,
            "For large logits, exp(z) is infinite in `float` (beyond 88.7), and infinity divided by \
             infinity is NaN. Subtract the largest logit of the row first: it cancels in the quotient, \
             and no power is above 1.",
        )
}
