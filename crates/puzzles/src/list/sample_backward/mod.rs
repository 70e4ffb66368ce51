//! The fused backward pass of one sample, in one block.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    cases: || [[8, 4, 3], [1, 1, 2], [20, 7, 10], [100, 30, 10]].map(case).into(),
    ..Puzzle::BLANK
};

fn case([m, h, c]: [usize; 3]) -> Case {
    let mut random = Random::new((m * 10_000 + h * 100 + c) as u64);
    let (x, w2) = (random.floats(m), random.floats(c * h));
    let mut z1 = random.floats(h);
    z1[0] = z1[0].abs();
    let a1: Vec<f32> = z1.iter().map(|z| z.max(0.0)).collect();
    let p: Vec<f32> = random.floats(c).iter().map(|p| p.abs()).collect();
    let label = random.below(c as u32, 1)[0] as usize;
    let y = |k: usize| Near::exact(if k == label { 1.0 } else { 0.0 });
    let dz2: Vec<Near> = (0..c).map(|k| Near::from(p[k]) - y(k)).collect();
    let da1 = |j: usize| dot((0..c).map(|k| (dz2[k], Near::from(w2[k * h + j]))));
    let dz1: Vec<Near> =
        (0..h).map(|j| if z1[j] > 0.0 { da1(j) } else { Near::exact(0.0) }).collect();
    let outer = |d: &[Near], from: &[f32]| -> Vec<Near> {
        d.iter().flat_map(|&d| from.iter().map(move |&from| d * Near::from(from))).collect()
    };
    let unmasked: Vec<Near> = (0..h).map(da1).collect();
    const MASK: &str = "Between the two layers there is a ReLU: where z1 was not positive, no gradient \
                        passes to the first layer.";
    let stale = |count: usize| vec![-777.0; count];
    Case::new(format!("{m} inputs, {h} hidden units, {c} classes"))
        .launch(1, 64)
        .sizes([("m", m), ("h", h), ("c", c), ("label", label)])
        .input("x", &[m], &x)
        .input("z1", &[h], &z1)
        .input("a1", &[h], &a1)
        .input("p", &[c], &p)
        .input("w2", &[c, h], &w2)
        .changed("db2", &[c], &stale(c), dz2.clone())
        .changed("dw2", &[c, h], &stale(c * h), outer(&dz2, &a1))
        .changed("db1", &[h], &stale(h), dz1.clone())
        .suspect_if(h > 1, unmasked.clone(), MASK)
        .changed("dw1", &[h, m], &stale(h * m), outer(&dz1, &x))
        .suspect_if(h > 1, outer(&unmasked, &x), MASK)
}
