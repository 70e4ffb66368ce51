//! Accuracy: the number of samples whose largest logit is the label's.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle =
    Puzzle { cases: || [[32, 10], [1, 3], [50, 10], [77, 4]].map(case).into(), ..Puzzle::BLANK };

fn case([batch, classes]: [usize; 2]) -> Case {
    let mut random = Random::new((batch * classes) as u64);
    let mut z = random.floats(batch * classes);
    // Makes all logits negative, so that a kernel is wrong if it starts its maximum at 0.
    z.iter_mut().for_each(|z| *z -= 3.0);
    let largest = |row: &[f32]| {
        let best = row.iter().enumerate().rev().max_by(|a, b| a.1.total_cmp(b.1));
        best.map_or(0, |(class, _)| class as u32)
    };
    let answers: Vec<u32> = z.chunks(classes).map(largest).collect();
    // Two of every three labels match the largest logit, and the third is off by one.
    let label = |i: usize| (answers[i] + u32::from(i % 3 == 2)) % classes as u32;
    let labels: Vec<u32> = (0..batch).map(label).collect();
    let right = (0..batch).filter(|&i| answers[i] == labels[i]).count() as u32;
    let zeros = labels.iter().filter(|&&label| label == 0).count();
    Case::new(format!("batch {batch}, {classes} classes"))
        .launch(batch.div_ceil(32) as u32, 32)
        .sizes([("batch", batch), ("classes", classes)])
        .input("z", &[batch, classes], &z)
        .input_u32("labels", &[batch], &labels)
        .changed_u32("right", &[1], &[0], &[right])
        .known_mistake(
            [zeros as f64],
            "This counts the labels that are 0: class 0 seems to win each time. All the logits here \
             are negative, so a maximum that begins with 0 is never exceeded. Begin with the first \
             element of the row.",
        )
}
