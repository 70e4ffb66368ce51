//! The hand: writes a digit a little differently each time.

use super::pen::{Dot, Paper, Point};
use super::shapes::{DIGITS, Path, Style};
use crate::{Generator, HEIGHT, WIDTH};

/// Into how many straight lines the curve between two points of a path is cut.
const LINES: u8 = 6;

/// What makes one writing of a digit differ from the next. Places are in heights of the digit,
/// with the digit's middle at (0, 0).
struct Hand {
    /// How far, as a standard deviation, each point of a path misses its place.
    tremor: f32,
    /// How far the upper end leans to the right.
    slant: f32,
    /// Cosine and sine of the angle by which the digit is turned.
    turn: (f32, f32),
    /// Breadth in relation to height.
    aspect: f32,
    /// How much broader the lower half is than the upper one.
    pear: f32,
    /// How much higher the upper half is than the lower one.
    waist: f32,
    /// How far the middle of a vertical line is bent to the right.
    bow: f32,
    /// How far the middle of a horizontal line is bent down.
    sag: f32,
}

impl Hand {
    fn new(random: &mut Generator) -> Self {
        let mut around = |deviation: f32| deviation * random.normal().clamp(-2.5, 2.5);
        let tremor = 0.036 + around(0.009);
        let angle = around(0.11);
        Self {
            tremor,
            slant: 0.18 + around(0.26),
            turn: (libm::cosf(angle), libm::sinf(angle)),
            aspect: 1.05 + around(0.17),
            pear: around(0.2),
            waist: around(0.2),
            bow: around(0.15),
            sag: around(0.15),
        }
    }

    /// Where a point of a path comes to lie.
    fn place(&self, (x, y): (f32, f32)) -> Point {
        let (mut x, mut y) = (x, y);
        y += self.waist * (0.25 - y * y);
        x *= self.aspect * (1.0 + self.pear * 2.0 * y);
        x += self.bow * (0.25 - y * y);
        y += self.sag * (0.09 - x * x);
        x -= self.slant * y;
        let (cosine, sine) = self.turn;
        Point { x: cosine * x - sine * y, y: sine * x + cosine * y }
    }
}

/// Writes a digit into an image, `[28·28]`, which is overwritten.
pub(super) fn write(digit: u8, random: &mut Generator, image: &mut [u8]) {
    let hand = Hand::new(random);
    let style = choose(DIGITS[usize::from(digit)], random);
    let mut strokes: Vec<Vec<Dot>> =
        style.strokes.iter().map(|path| curve(&trembling(path, &hand, random))).collect();
    // Thin pens are as frequent as broad ones; a few are very broad.
    let radius = 0.7 + 0.85 * random.unit() + 0.5 * random.unit() * random.unit();
    fit(&mut strokes, radius, random);
    lift(&mut strokes, random);

    let mut paper = Paper::new(random.uniform(0.8, 1.4));
    for stroke in &strokes {
        for ends in stroke.windows(2) {
            paper.line(ends[0], ends[1]);
        }
    }
    develop(&paper, random, image);
}

/// One of the styles, each as often as its weight says.
fn choose<'a>(styles: &'a [Style], random: &mut Generator) -> &'a Style {
    let mut left = random.below(styles.iter().map(|style| style.weight).sum());
    for style in styles {
        if left < style.weight {
            return style;
        }
        left -= style.weight;
    }
    unreachable!("what is left is below the sum of the weights")
}

/// The points of a path as this hand places them; the radius is the pressure, about 1.
fn trembling(path: Path, hand: &Hand, random: &mut Generator) -> Vec<Dot> {
    let mut dots: Vec<Dot> = Vec::with_capacity(path.len());
    for (i, &(x, y)) in path.iter().enumerate() {
        // The two points of a corner stay together.
        if i > 0 && path[i - 1] == (x, y) {
            dots.push(dots[i - 1]);
            continue;
        }
        let (x, y) = (0.01 * x - 0.3, 0.01 * y - 0.5);
        let missed = (x + hand.tremor * random.normal(), y + hand.tremor * random.normal());
        dots.push(Dot { at: hand.place(missed), radius: 1.0 + 0.12 * random.normal() });
    }
    dots
}

/// A smooth curve through the dots (Catmull and Rom), as short straight lines.
fn curve(dots: &[Dot]) -> Vec<Dot> {
    let mut curve = Vec::with_capacity(dots.len() * usize::from(LINES) + 1);
    curve.push(dots[0]);
    for i in 1..dots.len() {
        let (from, to) = (dots[i - 1], dots[i]);
        let before = dots[i.saturating_sub(2)];
        let after = dots[(i + 1).min(dots.len() - 1)];
        for line in 1..=LINES {
            let t = f32::from(line) / f32::from(LINES);
            let between = |a: f32, b: f32, c: f32, d: f32| {
                let cubic = (3.0 * (b - c) + d - a) * t;
                let square = (2.0 * a - 5.0 * b + 4.0 * c - d + cubic) * t;
                b + 0.5 * t * (c - a + square)
            };
            curve.push(Dot {
                at: Point {
                    x: between(before.at.x, from.at.x, to.at.x, after.at.x),
                    y: between(before.at.y, from.at.y, to.at.y, after.at.y),
                },
                radius: from.radius + t * (to.radius - from.radius),
            });
        }
    }
    curve
}

/// Brings the strokes to the size and place that digits have in MNIST, about 20 pixels along the
/// longer side, with the middle of the ink about in the middle of the image, and the pressure to
/// the breadth of this pen.
fn fit(strokes: &mut [Vec<Dot>], radius: f32, random: &mut Generator) {
    let (mut low, mut high) = (Point { x: 9.0, y: 9.0 }, Point { x: -9.0, y: -9.0 });
    let mut sum = (0.0, 0.0, 0.0);
    for stroke in strokes.iter() {
        for dot in stroke {
            low = Point { x: low.x.min(dot.at.x), y: low.y.min(dot.at.y) };
            high = Point { x: high.x.max(dot.at.x), y: high.y.max(dot.at.y) };
        }
        for ends in stroke.windows(2) {
            let (a, b) = (ends[0].at, ends[1].at);
            let (dx, dy) = (b.x - a.x, b.y - a.y);
            let length = (dx * dx + dy * dy).sqrt();
            sum = (sum.0 + length * (a.x + b.x), sum.1 + length * (a.y + b.y), sum.2 + length);
        }
    }
    let middle = Point { x: 0.5 * sum.0 / sum.2, y: 0.5 * sum.1 / sum.2 };
    let size = 19.6 + 0.6 * random.normal().clamp(-2.5, 2.5);
    let scale = (size - 2.0 * radius) / (high.x - low.x).max(high.y - low.y);
    let centre = Point {
        x: 0.5 * WIDTH as f32 + 0.5 * random.normal().clamp(-2.5, 2.5),
        y: 0.5 * HEIGHT as f32 + 0.5 * random.normal().clamp(-2.5, 2.5),
    };
    for dot in strokes.iter_mut().flatten() {
        dot.at.x = centre.x + scale * (dot.at.x - middle.x);
        dot.at.y = centre.y + scale * (dot.at.y - middle.y);
        dot.radius = radius * dot.radius.clamp(0.6, 1.4);
    }
}

/// Now and then lifts the pen off the paper for a moment.
fn lift(strokes: &mut [Vec<Dot>], random: &mut Generator) {
    if random.below(16) != 0 {
        return;
    }
    let chosen = random.below(strokes.len() as u32) as usize;
    let stroke = &mut strokes[chosen];
    let start = random.below(stroke.len() as u32) as usize;
    let length = 1 + stroke.len() / 16;
    for dot in stroke.iter_mut().skip(start).take(length) {
        dot.radius = 0.0;
    }
}

/// Turns ink into pixels: how dark the ink is, and the grain of the paper, differ.
fn develop(paper: &Paper, random: &mut Generator, image: &mut [u8]) {
    let darkness = random.uniform(240.0, 330.0);
    let grain = random.uniform(0.0, 50.0);
    for (pixel, &ink) in image.iter_mut().zip(paper.ink()) {
        *pixel = if ink > 0.0 {
            (darkness * ink + grain * (random.unit() - 0.5) + 0.5) as u8
        } else {
            0
        };
    }
}
