//! Gradient of the output layer, where the backward pass begins.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle =
    Puzzle { cases: || [[4, 8], [1, 2], [8, 10], [13, 3]].map(case).into(), ..Puzzle::BLANK };

fn case([batch, classes]: [usize; 2]) -> Case {
    let mut random = Random::new((batch * 100 + classes) as u64);
    let p: Vec<f32> = random.floats(batch * classes).iter().map(|p| p.abs()).collect();
    let labels = random.below(classes as u32, batch);
    let one = |at: usize| if labels[at / classes] as usize == at % classes { 1.0_f32 } else { 0.0 };
    let y: Vec<f32> = (0..batch * classes).map(one).collect();
    let near = |at: usize| {
        let difference = Near::from(p[at]) - Near::from(y[at]);
        // The bound covers both a division and a multiplication by the reciprocal.
        let by = Near::exact(1.0) / Near::exact(batch as f64);
        difference * by
    };
    let each = |f: &dyn Fn(usize) -> f64| (0..batch * classes).map(f).collect::<Vec<f64>>();
    Case::new(format!("batch {batch}, {classes} classes"))
        .cover(classes, batch, [8, 4])
        .sizes([("batch", batch), ("classes", classes)])
        .input("p", &[batch, classes], &p)
        .input("y", &[batch, classes], &y)
        .output("dz", &[batch, classes], (0..batch * classes).map(near))
        .known_mistake(
            each(&|at| (f64::from(y[at]) - f64::from(p[at])) / batch as f64),
            "The sign is wrong: it is p - y. If the label's probability is too small, its logit has \
             to grow, so its gradient is negative.",
        )
        .suspect_if(
            batch > 1,
            each(&|at| f64::from(p[at]) - f64::from(y[at])),
            "The division by the batch is missing. The loss is a mean, so each sample only contributes a \
             part of it.",
        )
        .suspect_if(
            batch > 1,
            each(&|at| f64::from(p[at]) - f64::from(y[at]) / batch as f64),
            "Only y is divided by the batch: parentheses around the difference are missing.",
        )
}
