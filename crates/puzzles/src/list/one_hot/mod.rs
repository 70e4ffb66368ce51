//! One-hot encoding: labels as rows with a single 1.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle =
    Puzzle { cases: || [[4, 10], [1, 2], [7, 10], [20, 3]].map(case).into(), ..Puzzle::BLANK };

fn case([batch, classes]: [usize; 2]) -> Case {
    let labels = Random::new((batch + classes) as u64).below(classes as u32, batch);
    let one = |i: usize| if labels[i / classes] as usize == i % classes { 1.0 } else { 0.0 };
    let y = (0..batch * classes).map(|i| Near::exact(one(i)));
    Case::new(format!("{batch} labels of {classes} classes"))
        .launch(batch.div_ceil(8) as u32, 8)
        .sizes([("batch", batch), ("classes", classes)])
        .input_u32("labels", &[batch], &labels)
        .changed("y", &[batch, classes], &vec![-777.0; batch * classes], y)
        .known_mistake(
            (0..batch * classes).map(|i| if one(i) == 1.0 { 1.0 } else { -777.0 }),
            "The ones are right, but all other elements are unchanged: the zeros have to be \
             written too.",
        )
}
