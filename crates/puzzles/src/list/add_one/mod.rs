//! A map with a thread for each element.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    cases: || [1, 5, 32, 100].map(case).into(),
    ..Puzzle::BLANK
};

fn case(n: usize) -> Case {
    let x = Random::new(n as u64).floats(n);
    let out = x.iter().map(|&x| Near::from(x) + Near::exact(1.0));
    let copy = x.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    Case::new(format!("n = {n}"))
        .launch(1, n as u32)
        .input("x", &[n], &x)
        .output("out", &[n], out)
        .known_mistake(copy, "This is x itself: the 1 is missing.")
        .known_mistake(
            (0..n).map(|i| i as f64 + 1.0),
            "This is the thread's number plus one. The number is only the index of the thread's \
             element: the element is x[i].",
        )
}
