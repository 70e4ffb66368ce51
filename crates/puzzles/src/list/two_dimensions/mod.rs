//! A map over a matrix, launched along two axes.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    cases: || [[4, 8], [1, 1], [5, 3], [9, 20], [13, 7]].map(case).into(),
    ..Puzzle::BLANK
};

fn case([rows, columns]: [usize; 2]) -> Case {
    let a = Random::new((rows * columns) as u64).floats(rows * columns);
    let out = a.iter().map(|&a| Near::from(a) * Near::exact(3.0));
    Case::new(format!("{rows}×{columns} elements"))
        .cover(columns, rows, [8, 4])
        .sizes([("rows", rows), ("columns", columns)])
        .input("a", &[rows, columns], &a)
        .output("out", &[rows, columns], out)
}
