//! The strokes of the ten digits, each in several styles.
//!
//! Coordinates are `(x, y)` with y downwards, in hundredths of the digit's height; a digit is
//! about 100 high and 60 wide. A path is a smooth curve through its points; a duplicated point is a corner.

/// The points that one stroke of the pen goes through.
pub(super) type Path = &'static [(f32, f32)];

/// A way to write a digit.
pub(super) struct Style {
    /// Its frequency relative to the other styles of the digit.
    pub(super) weight: u32,
    /// Its strokes, in the order of writing.
    pub(super) strokes: &'static [Path],
}

const fn style(weight: u32, strokes: &'static [Path]) -> Style {
    Style { weight, strokes }
}

/// The styles of the digits 0 to 9.
pub(super) const DIGITS: [&[Style]; 10] =
    [ZERO, ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN, EIGHT, NINE];

const ZERO: &[Style] = &[
    // An oval, closed at the top.
    style(5, &[&[
        (44., 2.), (19., 13.), (5., 48.), (18., 88.), (40., 98.), (62., 84.), (69., 48.), (57., 13.),
        (40., 3.), (30., 7.),
    ]]),
    // Starts at the left; the end crosses the beginning.
    style(3, &[&[
        (28., 10.), (9., 36.), (6., 62.), (21., 93.), (43., 97.), (63., 76.), (66., 40.), (51., 10.),
        (26., 3.), (12., 14.),
    ]]),
    // Round, and drawn in the other direction.
    style(2, &[&[
        (30., 3.), (56., 8.), (78., 34.), (77., 68.), (54., 95.), (24., 93.), (5., 66.), (8., 30.),
        (30., 6.), (46., 5.),
    ]]),
];

const ONE: &[Style] = &[
    // A line.
    style(6, &[&[(31., 0.), (30., 34.), (29., 67.), (28., 100.)]]),
    // With a flag.
    style(3, &[&[(8., 26.), (21., 15.), (34., 0.), (34., 0.), (33., 50.), (32., 100.)]]),
    // With a flag and a base.
    style(1, &[
        &[(12., 24.), (24., 14.), (35., 0.), (35., 0.), (34., 50.), (34., 99.)],
        &[(8., 100.), (32., 98.), (60., 99.)],
    ]),
    // A bow.
    style(2, &[&[(38., 0.), (30., 30.), (27., 66.), (31., 100.)]]),
];

const TWO: &[Style] = &[
    // A swan's neck on a straight base.
    style(4, &[&[
        (8., 22.), (20., 5.), (42., 2.), (58., 18.), (52., 42.), (30., 70.), (5., 97.), (5., 97.),
        (35., 95.), (68., 96.),
    ]]),
    // With a loop at the lower left.
    style(4, &[&[
        (10., 18.), (25., 3.), (48., 5.), (56., 25.), (45., 52.), (25., 80.), (10., 95.), (2., 86.),
        (12., 76.), (30., 84.), (50., 97.), (74., 90.),
    ]]),
    // Nearly a Z.
    style(1, &[&[
        (5., 10.), (30., 3.), (58., 8.), (56., 24.), (30., 60.), (3., 95.), (3., 95.), (64., 98.),
    ]]),
    // With a hook at its beginning and a wave for its base.
    style(2, &[&[
        (16., 34.), (10., 15.), (30., 1.), (55., 10.), (55., 34.), (35., 62.), (8., 93.), (8., 93.),
        (30., 87.), (50., 95.), (72., 88.),
    ]]),
];

const THREE: &[Style] = &[
    // Two bows.
    style(4, &[&[
        (8., 12.), (28., 0.), (52., 8.), (52., 30.), (25., 47.), (25., 47.), (52., 55.), (60., 77.),
        (38., 98.), (5., 88.),
    ]]),
    // With a straight top.
    style(1, &[&[
        (8., 4.), (56., 2.), (56., 2.), (25., 40.), (25., 40.), (54., 51.), (58., 78.), (34., 100.),
        (3., 89.),
    ]]),
    // With a loop at its waist.
    style(2, &[&[
        (10., 15.), (30., 2.), (50., 14.), (40., 38.), (21., 50.), (21., 42.), (40., 49.), (57., 70.),
        (41., 97.), (10., 93.),
    ]]),
    // With a small waist.
    style(2, &[&[
        (4., 10.), (36., 0.), (52., 19.), (38., 44.), (38., 44.), (54., 64.), (44., 92.), (1., 99.),
    ]]),
];

const FOUR: &[Style] = &[
    // Open, the stem crossing the bar.
    style(4, &[
        &[(12., 2.), (7., 30.), (7., 53.), (7., 53.), (32., 55.), (66., 50.)],
        &[(53., 8.), (50., 50.), (47., 100.)],
    ]),
    // Closed, in one stroke.
    style(2, &[&[
        (48., 100.), (50., 50.), (52., 0.), (52., 0.), (26., 34.), (3., 64.), (3., 64.), (72., 63.),
    ]]),
    // Round at the lower left, like an open 9.
    style(3, &[
        &[(9., 5.), (5., 33.), (19., 50.), (43., 44.), (55., 12.)],
        &[(56., 4.), (53., 50.), (50., 100.)],
    ]),
    // A bolt and a short stem.
    style(2, &[
        &[(22., 0.), (12., 28.), (2., 55.), (2., 55.), (62., 52.)],
        &[(46., 27.), (42., 62.), (38., 100.)],
    ]),
    // Nearly closed at the top.
    style(2, &[
        &[(48., 3.), (22., 25.), (3., 50.), (3., 50.), (30., 52.), (56., 47.)],
        &[(53., 0.), (50., 50.), (45., 100.)],
    ]),
];

const FIVE: &[Style] = &[
    // The top bar written last.
    style(4, &[
        &[(15., 5.), (12., 40.), (12., 40.), (35., 35.), (58., 52.), (56., 80.), (33., 98.), (3., 90.)],
        &[(15., 5.), (38., 4.), (64., 1.)],
    ]),
    // In one stroke, like an S.
    style(3, &[&[
        (64., 3.), (38., 2.), (19., 10.), (17., 32.), (35., 47.), (52., 60.), (50., 84.), (29., 98.),
        (3., 92.),
    ]]),
    // With corners.
    style(2, &[&[
        (66., 0.), (20., 3.), (20., 3.), (11., 45.), (11., 45.), (43., 44.), (58., 68.), (40., 95.),
        (0., 98.),
    ]]),
    // With a long bar and a small belly.
    style(2, &[
        &[(31., 10.), (18., 42.), (18., 42.), (40., 49.), (45., 74.), (26., 97.), (0., 88.)],
        &[(31., 9.), (52., 8.), (78., 0.)],
    ]),
];

const SIX: &[Style] = &[
    // Curled.
    style(4, &[&[
        (50., 2.), (25., 20.), (8., 50.), (8., 80.), (25., 98.), (48., 90.), (55., 70.), (40., 54.),
        (20., 62.), (10., 78.),
    ]]),
    // With a straight stem.
    style(3, &[&[
        (32., 0.), (13., 38.), (5., 73.), (19., 98.), (43., 94.), (50., 72.), (36., 56.), (8., 74.),
    ]]),
    // With a large loop.
    style(2, &[&[
        (56., 8.), (32., 4.), (10., 36.), (5., 74.), (29., 99.), (57., 85.), (56., 58.), (32., 48.),
        (9., 63.),
    ]]),
    // With an open loop.
    style(1, &[&[
        (40., 0.), (17., 32.), (6., 68.), (20., 97.), (44., 92.), (52., 70.), (38., 60.), (26., 70.),
    ]]),
];

const SEVEN: &[Style] = &[
    // Two lines.
    style(4, &[&[(3., 8.), (30., 6.), (62., 4.), (62., 4.), (45., 45.), (30., 100.)]]),
    // With a bar.
    style(2, &[
        &[(3., 9.), (30., 6.), (62., 3.), (62., 3.), (45., 46.), (30., 100.)],
        &[(18., 51.), (40., 49.), (64., 46.)],
    ]),
    // With a serif.
    style(2, &[&[
        (4., 27.), (5., 5.), (5., 5.), (33., 7.), (61., 4.), (61., 4.), (42., 50.), (34., 100.),
    ]]),
    // Starts with a wave, and has a bend instead of a corner.
    style(3, &[&[
        (0., 18.), (14., 6.), (38., 10.), (58., 3.), (58., 20.), (42., 58.), (33., 100.),
    ]]),
];

const EIGHT: &[Style] = &[
    // In one stroke from the upper right.
    style(4, &[&[
        (55., 10.), (31., 0.), (10., 15.), (19., 38.), (45., 55.), (55., 80.), (31., 100.), (6., 84.),
        (17., 60.), (44., 38.), (58., 16.), (46., 2.),
    ]]),
    // Two loops.
    style(2, &[
        &[(30., 1.), (10., 12.), (11., 35.), (32., 46.), (51., 34.), (52., 12.), (28., 1.)],
        &[(31., 46.), (7., 60.), (6., 87.), (30., 100.), (55., 88.), (56., 60.), (30., 46.)],
    ]),
    // Open at the top.
    style(3, &[&[
        (62., 10.), (36., 2.), (13., 18.), (29., 45.), (48., 70.), (36., 97.), (11., 95.), (8., 72.),
        (30., 46.), (54., 24.), (67., 3.),
    ]]),
];

const NINE: &[Style] = &[
    // A loop and a straight stem.
    style(4, &[&[
        (52., 16.), (30., 2.), (8., 19.), (12., 44.), (34., 48.), (52., 26.), (54., 10.), (54., 10.),
        (50., 55.), (45., 100.),
    ]]),
    // With a curled tail.
    style(2, &[&[
        (50., 20.), (30., 3.), (6., 22.), (18., 47.), (42., 40.), (53., 14.), (54., 50.), (45., 86.),
        (25., 100.), (5., 90.),
    ]]),
    // A small loop, and a stem that falls to the left.
    style(3, &[&[
        (48., 6.), (20., 8.), (8., 34.), (30., 43.), (52., 12.), (52., 12.), (41., 56.), (29., 100.),
    ]]),
    // Open at the top, with a separate stem.
    style(2, &[
        &[(47., 9.), (20., 3.), (5., 28.), (24., 48.), (51., 36.)],
        &[(53., 5.), (52., 50.), (50., 100.)],
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_fills_its_height() {
        for (digit, styles) in DIGITS.iter().enumerate() {
            assert!(styles.len() > 2, "{digit} has {} styles", styles.len());
            for style in *styles {
                let points = || style.strokes.iter().copied().flatten();
                assert!(style.strokes.iter().all(|path| path.len() > 1), "{digit}");
                assert!(points().all(|(x, y)| (0. ..=80.).contains(x) && (0. ..=100.).contains(y)));
                let top = points().fold(100.0_f32, |top, point| top.min(point.1));
                let bottom = points().fold(0.0_f32, |bottom, point| bottom.max(point.1));
                assert!(bottom - top >= 90.0, "{digit} reaches from {top} to {bottom}");
            }
        }
    }
}
