//! A histogram: many threads that update the same counters.

use super::prelude::*;

const BINS: usize = 8;

pub(super) const PUZZLE: Puzzle =
    Puzzle { cases: || [1, 64, 50, 200].map(case).into(), ..Puzzle::BLANK };

fn case(n: usize) -> Case {
    let bins = Random::new(n as u64).below(BINS as u32, n);
    let before: Vec<u32> = (0..BINS as u32).map(|bin| bin * 10).collect();
    let mut after = before.clone();
    bins.iter().for_each(|&bin| after[bin as usize] += 1);
    let replaced = (0..BINS).map(|bin| if after[bin] > before[bin] { 1 } else { before[bin] });
    Case::elements(n, 64)
        .input_u32("bin", &[n], &bins)
        .changed_u32("counts", &[BINS], &before, &after)
        .known_mistake(
            bins.iter().fold(vec![0.0; BINS], |mut counts, &bin| {
                counts[bin as usize] += 1.0;
                counts
            }),
            "The counts were not 0 at the start: they have to be added to, not replaced.",
        )
        .known_mistake(replaced, "Every counter that was updated is 1 now: it has to be added to, not replaced.")
}
