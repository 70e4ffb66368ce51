//! A transposition with coalesced reads and writes, and without bank conflicts.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    demands: &[
        Demand {
            measure: Measure::Sectors,
            ratio: 1.05,
            says: "A warp reads a row, which is four sectors, and writes a column, which is 32. Turn the \
                   tile around in shared memory, and let each warp write a row of `out`: threads with \
                   neighbouring threadIdx.x have to write neighbouring elements.",
        },
        Demand {
            measure: Measure::BankConflicts,
            ratio: 1.0,
            says: "A whole column of the tile is in a single bank, since its rows are 32 words long and \
                   there are 32 banks: the 32 lanes are served one after the other. Make the rows one \
                   word longer, tile[32][33], so that each element of a column is in a different bank.",
        },
    ],
    cases: || [[32, 32], [1, 1], [64, 32], [40, 70]].map(case).into(),
    ..Puzzle::BLANK
};

fn case([rows, columns]: [usize; 2]) -> Case {
    let a = Random::new((rows * columns) as u64).floats(rows * columns);
    let out = (0..rows * columns).map(|i| Near::from(a[i % rows * columns + i / rows]));
    Case::new(format!("{rows}×{columns} elements"))
        .cover(columns, rows, [32, 32])
        .sizes([("rows", rows), ("columns", columns)])
        .input("a", &[rows, columns], &a)
        .output("out", &[columns, rows], out)
        .known_mistake(
            a.iter().map(|&a| f64::from(a)),
            "This is a itself, not transposed: an element that is read at row r, column c has to be \
             written at row c, column r.",
        )
}
