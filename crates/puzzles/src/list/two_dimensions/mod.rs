//! A map over a matrix, launched along two axes.

use crate::case::Case;
use crate::near::Near;
use crate::puzzle::Puzzle;
use crate::random::Random;

const BLOCK: [usize; 2] = [8, 4];

pub(super) const PUZZLE: Puzzle = Puzzle {
    name: "two-dimensions",
    idea: "rows and columns",
    kernel: "scale",
    picture: Some(include_str!("picture.svg")),
    sources: &[source!(CudaC), source!(Ptx)],
    cases: || [[4, 8], [1, 1], [5, 3], [9, 20], [13, 7]].map(case).into(),
    ..Puzzle::BLANK
};

fn case([rows, columns]: [usize; 2]) -> Case {
    let a = Random::new((rows * columns) as u64).floats(rows * columns);
    let out = a.iter().map(|&a| Near::from(a) * Near::exact(3.0));
    let blocks = [columns.div_ceil(BLOCK[0]), rows.div_ceil(BLOCK[1])];
    Case::new(format!("{rows}×{columns} elements"))
        .launch_2d(blocks.map(|n| n as u32), BLOCK.map(|n| n as u32))
        .u32("rows", rows)
        .u32("columns", columns)
        .input("a", &[rows, columns], &a)
        .output("out", &[rows, columns], out)
}
