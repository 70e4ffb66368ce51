//! A barrier for all blocks of a grid.

use super::prelude::*;

const BLOCK: usize = 32;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    cases: || [32, 64, 128, 100].map(case).into(),
    ..Puzzle::BLANK
};

fn case(n: usize) -> Case {
    let blocks = n.div_ceil(BLOCK);
    let x: Vec<f32> = Random::new(n as u64).floats(n).iter().map(|x| x.abs()).collect();
    let total_of = |x: &[f32]| sum(x.iter().map(|&x| Near::from(x)));
    let (parts, total) = (x.chunks(BLOCK).map(total_of).collect::<Vec<_>>(), total_of(&x));
    let out = x.iter().map(|&x| Near::from(x) / total);
    let by_block: Vec<f64> =
        (0..n).map(|i| f64::from(x[i]) / parts[i / BLOCK].value).collect();
    Case::elements(n, BLOCK)
        .cooperative()
        .input("x", &[n], &x)
        .output("parts", &[blocks], parts)
        .changed_u32("arrived", &[1], &[0], &[blocks as u32])
        .output("out", &[n], out)
        .suspect_if(
            blocks > 1,
            by_block,
            "Each element is only divided by the sum of its block: the parts of the other blocks have \
             to be added too, after all blocks have arrived.",
        )
}
