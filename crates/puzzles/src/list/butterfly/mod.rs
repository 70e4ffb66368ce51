//! A sum by shuffles, without memory.

use super::prelude::*;

pub(super) const PUZZLE: Puzzle = Puzzle {
    picture: Some(include_str!("picture.svg")),
    demands: &[
        Demand {
            measure: Measure::SharedAccesses,
            ratio: 1.0,
            says: "No shared memory is needed: `__shfl_xor_sync(0xffffffff, v, d)` gives each lane the \
                   v of the lane whose number differs in the bit d.",
        },
        Demand {
            measure: Measure::Sectors,
            ratio: 1.0,
            says: "Each lane should read one number from global memory, and get the others' by \
                   shuffles.",
        },
        Demand {
            measure: Measure::WarpInstructions,
            ratio: 1.5,
            says: "Five shuffles suffice for 32 lanes: after the first each lane has the sum of two, \
                   then of 4, 8, 16 and 32.",
        },
    ],
    cases: || [32, 64, 96, 256].map(case).into(),
    ..Puzzle::BLANK
};

fn case(n: usize) -> Case {
    let x = Random::new(n as u64).floats(n);
    let of_warp = |i: usize| sum(x[i / 32 * 32..][..32].iter().map(|&x| Near::from(x)));
    let down = |i: usize| {
        // The wrong result of using shfl.down: lanes near the end have no partner, and add their
        // own number.
        let mut lanes: Vec<f64> = x[i / 32 * 32..][..32].iter().map(|&x| f64::from(x)).collect();
        for d in [16, 8, 4, 2, 1] {
            lanes = (0..32).map(|l| lanes[l] + lanes[if l + d < 32 { l + d } else { l }]).collect();
        }
        lanes[i % 32]
    };
    let four = |i: usize| -> f64 {
        (0..16).map(|d| f64::from(x[i / 32 * 32 + ((i % 32) ^ (d * 2)) ])).sum()
    };
    Case::with_n(n)
        .launch(n.div_ceil(64) as u32, n.min(64) as u32)
        .input("x", &[n], &x)
        .output("out", &[n], (0..n).map(of_warp))
        .known_mistake(
            (0..n).map(down),
            "Lane 0 of each warp has the sum, but the others don't: that is the effect of `down`. With \
             `xor` each lane and its partner read from each other, and all of them get the sum.",
        )
        .known_mistake(
            (0..n).map(four),
            "Each lane has the sum of every second lane: the round with distance 1 is missing.",
        )
}
