//! Two bounds, without a branch.

use crate::case::Case;
use crate::near::Near;
use crate::puzzle::Puzzle;
use crate::random::Random;

const BLOCK: usize = 64;

pub(super) static PUZZLE: Puzzle = Puzzle {
    name: "clip",
    idea: "two bounds, without a branch",
    kernel: "clip",
    task: include_str!("task.md"),
    picture: None,
    sources: &[source!(CudaC), source!(Ptx)],
    hints: include_str!("hints.md"),
    demands: &[],
    cases: || [64, 3, 100, 250].map(case).into(),
};

fn case(n: usize) -> Case {
    let (dw, limit) = (Random::new(n as u64).floats(n), 0.25_f32);
    let of = |f: fn(f32, f32) -> f32| dw.iter().map(|&dw| f(dw, limit)).collect::<Vec<_>>();
    let after = of(|dw, limit| dw.clamp(-limit, limit));
    let floats = |values: Vec<f32>| values.into_iter().map(f64::from).collect::<Vec<_>>();
    Case::new(format!("n = {n}"))
        .launch(n.div_ceil(BLOCK) as u32, BLOCK as u32)
        .u32("n", n)
        .f32("limit", limit)
        .changed("dw", &[n], &dw, after.into_iter().map(Near::from).collect())
        .suspect(
            floats(of(f32::min)),
            "Only the upper bound holds: what is smaller than -limit has to become -limit.",
        )
        .suspect(floats(of(|dw, limit| dw.max(-limit))), "Only the lower bound holds.")
        .suspect(
            floats(of(|dw, limit| dw.max(limit))),
            "Everything is at least the limit now: minimum and maximum have changed places.",
        )
}
