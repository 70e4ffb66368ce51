//! Random variations of a digit's strokes, as a hand would draw them.

use super::pen::{Dot, Paper, Point};
use super::shapes::{DIGITS, Style};
use crate::{Generator, HEIGHT, WIDTH};

/// The number of straight lines that approximate the curve between two points of a path.
const LINES: u8 = 6;

/// The random parameters of one drawing of a digit. Lengths are relative to the digit's height, and its middle
/// is (0, 0).
struct Hand {
    /// The standard deviation of each point of a path.
    tremor: f32,
    /// The shift of the upper end to the right.
    slant: f32,
    /// Cosine and sine of the digit's rotation.
    turn: (f32, f32),
    /// The ratio of width to height.
    aspect: f32,
    /// The additional width of the lower half.
    pear: f32,
    /// The additional height of the upper half.
    waist: f32,
    /// The shift of the middle of a vertical line to the right.
    bow: f32,
    /// The downward shift of the middle of a horizontal line.
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

    /// The position to which the distortion moves a point of a path.
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
    let style = choose(&DIGITS[usize::from(digit)], random);
    let mut strokes: Vec<Vec<Dot>> =
        style.strokes.iter().map(|path| curve(&trembling(path, &hand, random))).collect();
    // The pen's radius is almost uniformly distributed, except for a few very broad pens.
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

/// A random style, with probabilities proportional to the weights.
fn choose<'a>(styles: &'a [Style], random: &mut Generator) -> &'a Style {
    let mut left = random.below(styles.iter().map(|style| style.weight).sum());
    for style in styles {
        if left < style.weight {
            return style;
        }
        left -= style.weight;
    }
    unreachable!("the random number is below the sum of the weights")
}

/// The distorted points of a path. The radius is the relative pressure, about 1.
fn trembling(path: &[(f32, f32)], hand: &Hand, random: &mut Generator) -> Vec<Dot> {
    let mut dots: Vec<Dot> = Vec::with_capacity(path.len());
    for (i, &(x, y)) in path.iter().enumerate() {
        // A corner is a duplicated point. Its second copy gets the same distortion as the first.
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

/// Scales the strokes to the size of digits in MNIST, about 20 pixels along the longer side, moves the centre
/// of the ink about to the centre of the image, and scales the pressure to the radius of this pen.
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

/// Removes a short piece of one stroke in 1 of 16 digits, as if the pen had been lifted.
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

/// Converts ink to pixels, with random darkness and random grain of the paper.
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
