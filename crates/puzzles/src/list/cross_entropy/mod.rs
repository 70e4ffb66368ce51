//! The loss of each sample, from the logits.

use super::softmax::{exponentials, logits};
use super::prelude::*;

pub(super) const PUZZLE: Puzzle =
    Puzzle { cases: || [[1, 2], [4, 10], [33, 3], [70, 10]].map(case).into(), ..Puzzle::BLANK };

fn case([batch, classes]: [usize; 2]) -> Case {
    let mut random = Random::new((batch * 100 + classes) as u64);
    let z = logits(&mut random, batch, classes);
    let labels = random.below(classes as u32, batch);
    let loss = |(row, &label): (&[f32], &u32)| {
        let (_, total, largest) = exponentials(row);
        total.ln() + largest - Near::from(row[label as usize])
    };
    let losses: Vec<Near> = z.chunks(classes).zip(&labels).map(loss).collect();
    let negative = losses.iter().map(|near| -near.value).collect::<Vec<_>>();
    let naive = z.chunks(classes).zip(&labels).map(|(row, &label)| {
        let total: f32 = row.iter().map(|&z| libm::expf(z)).sum();
        f64::from(libm::logf(total) - row[label as usize])
    });
    let quotient = z.chunks(classes).zip(&labels).map(|(row, &label)| {
        let total: f32 = row.iter().map(|&z| libm::expf(z)).sum();
        f64::from(-libm::logf(libm::expf(row[label as usize]) / total))
    });
    let log_sum = z.chunks(classes).map(|row| {
        let (_, total, largest) = exponentials(row);
        (total.ln() + largest).value
    });
    const LARGE: &str = "For large logits, exp(z) is infinite in `float`. If the largest one is taken out \
                         of the sum, ln Σ exp(z) = m + ln Σ exp(z - m), nothing overflows.";
    Case::new(format!("batch {batch}, {classes} classes"))
        .launch(batch.div_ceil(32) as u32, 32)
        .sizes([("batch", batch), ("classes", classes)])
        .input("z", &[batch, classes], &z)
        .input_u32("labels", &[batch], &labels)
        .output("losses", &[batch], losses)
        .known_mistake(negative, "The sign is wrong: a loss is minus the logarithm of a probability.")
        .known_mistake(log_sum, "This is ln Σ exp(z). The logit of the label has to be subtracted from it.")
        .suspect_if(batch > 1, naive, LARGE)
        .suspect_if(batch > 1, quotient, LARGE)
}
