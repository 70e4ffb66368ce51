//! Separates a picture into ink and paper: the colour of each, and the amount of ink of every pixel.

/// Colours with a smaller distance than this count as one colour (black and white have 1). It is about 12 of 255 steps
/// of brightness, more than the noise of a scanner.
const MIN_CONTRAST: f32 = 0.05;
/// Ink on black or white paper with at least this contrast isn't stretched to full contrast.
const FULL_CONTRAST: f32 = 0.9;
/// An opaque area that covers at least this share of its bounding box, in more than one shade, is a piece of paper with
/// a digit on it, here called a card. The strokes of a digit cover less.
const MIN_CARD_COVERAGE: f32 = 0.6;
/// The minimum difference in brightness between a card's paper and its ink.
const MIN_CARD_CONTRAST: f32 = 0.25;

/// A colour: red, green and blue, each from 0 to 1.
type Colour = [f32; 3];

const BLACK: Colour = [0.0; 3];
const WHITE: Colour = [1.0; 3];

/// A picture of 8-bit samples, row by row: grey, grey with opacity, RGB, or RGB with opacity.
pub(super) struct Picture {
    pub(super) samples: Vec<u8>,
    /// Samples of a pixel, 1 to 4.
    pub(super) channels: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// The amounts of ink of all pixels.
pub(super) struct Ink {
    /// The amount of ink of each pixel, from 0 to 1, row by row.
    pub(super) amounts: Vec<f32>,
    /// Whether most of the border has exactly the paper's colour. If so, even a little ink is not noise.
    pub(super) is_clean: bool,
}

impl Picture {
    /// Finds the ink of any colour on paper of any colour; `None` if the picture has only one colour.
    ///
    /// The paper's colour is the median of the border. The ink's colour is the colour of the pixel that differs most
    /// from it. A pixel's amount of ink is the position of its colour between the two, so anti-aliased edges keep their
    /// shape, and highlights on the other side of the paper's colour are not ink.
    pub(super) fn ink(&self) -> Option<Ink> {
        let under = self.background();
        let colour = |i: usize| {
            let (colour, opacity) = self.pixel(i);
            mix(under, colour, opacity)
        };
        let paper = median(self.border().map(colour));
        // Not all of the border has to be even, because ink may touch it.
        let even = self.border().filter(|&i| distance(colour(i), paper) < 1e-3).count();
        let is_clean = 4 * even >= 3 * self.border().count();
        let (mut strongest, mut most) = (paper, 0.0);
        for i in 0..self.len() {
            let way = difference(colour(i), paper);
            if dot(way, way) > most {
                (strongest, most) = (colour(i), dot(way, way));
            }
        }
        let contrast = distance(strongest, paper);
        if contrast < MIN_CONTRAST {
            return None;
        }
        let whole = match paper {
            BLACK if contrast >= FULL_CONTRAST => WHITE,
            WHITE if contrast >= FULL_CONTRAST => BLACK,
            _ => strongest,
        };
        let way = difference(whole, paper);
        let whole = dot(way, way);
        let share = |i| dot(difference(colour(i), paper), way) / whole;
        let amounts = (0..self.len()).map(|i| share(i).clamp(0.0, 1.0)).collect();
        Some(Ink { amounts, is_clean })
    }

    /// The background colour that is put under transparent pixels, so that opaque pixels are visible.
    ///
    /// A drawing without paper needs a contrasting background: black for white ink. Paper with a few transparent
    /// pixels, such as rounded corners, and a card with a digit, get the paper's colour.
    fn background(&self) -> Colour {
        if self.channels % 2 == 1 {
            return WHITE;
        }
        let opacity = |i: usize| self.pixel(i).1;
        let contrasting = match self.mean(0..self.len()) {
            Some(mean) if brightness(mean) > 0.5 => BLACK,
            _ => WHITE,
        };
        let (mut opaque, mut all) = (0.0, 0.0);
        self.border().for_each(|i| (opaque, all) = (opaque + opacity(i), all + 1.0));
        if 2.0 * opaque > all {
            // If the border is opaque everywhere, the transparent pixels are the digit, cut out of the paper.
            let whole = self.border().all(|i| opacity(i) > 0.5);
            return self.mean(self.border()).filter(|_| !whole).unwrap_or(contrasting);
        }
        self.card().unwrap_or(contrasting)
    }

    /// The paper's colour, if the picture shows a card on a transparent background.
    fn card(&self) -> Option<Colour> {
        let opaque = || (0..self.len()).filter(|&i| self.pixel(i).1 > 0.5);
        let (mut left, mut right, mut top, mut bottom) = (self.width, 0, self.height, 0);
        let (mut least, mut most) = (f32::INFINITY, f32::NEG_INFINITY);
        let mut count = 0;
        for i in opaque() {
            count += 1;
            let (x, y) = (i % self.width, i / self.width);
            (left, right, top, bottom) = (left.min(x), right.max(x), top.min(y), bottom.max(y));
            let brightness = brightness(self.pixel(i).0);
            (least, most) = (least.min(brightness), most.max(brightness));
        }
        // If there are no opaque pixels, `right` and `bottom` remain less than `left` and `top`, and the subtraction
        // fails.
        let (columns, rows) = ((right + 1).checked_sub(left)?, (bottom + 1).checked_sub(top)?);
        let covered = count as f32 / (columns * rows).max(1) as f32;
        let is_card = covered >= MIN_CARD_COVERAGE && most - least >= MIN_CARD_CONTRAST;
        is_card.then(|| median(opaque().map(|i| self.pixel(i).0)))
    }

    const fn len(&self) -> usize {
        self.width * self.height
    }

    /// The colour and the opacity of a pixel.
    fn pixel(&self, i: usize) -> (Colour, f32) {
        let level = |sample: u8| f32::from(sample) / 255.0;
        let pixel = &self.samples[i * self.channels..(i + 1) * self.channels];
        match *pixel {
            [grey] => ([level(grey); 3], 1.0),
            [grey, opacity] => ([level(grey); 3], level(opacity)),
            [r, g, b] => ([level(r), level(g), level(b)], 1.0),
            [r, g, b, opacity, ..] => ([level(r), level(g), level(b)], level(opacity)),
            [] => (WHITE, 0.0),
        }
    }

    /// The outermost pixels, each once.
    fn border(&self) -> impl Iterator<Item = usize> + '_ {
        let (width, height) = (self.width, self.height);
        let sides = (1..height.saturating_sub(1)).flat_map(move |y| {
            let last = if width > 1 { Some(y * width + width - 1) } else { None };
            std::iter::once(y * width).chain(last)
        });
        let bottom = if height > 1 { (height - 1) * width..height * width } else { 0..0 };
        (0..width).chain(sides).chain(bottom)
    }

    /// The mean colour of these pixels, each weighted by its opacity; `None` if all are transparent.
    fn mean(&self, pixels: impl Iterator<Item = usize>) -> Option<Colour> {
        let (mut sum, mut weight) = ([0.0_f64; 3], 0.0_f64);
        for i in pixels {
            let (colour, opacity) = self.pixel(i);
            (0..3).for_each(|c| sum[c] += f64::from(colour[c] * opacity));
            weight += f64::from(opacity);
        }
        (weight > 0.0).then(|| sum.map(|sum| (sum / weight) as f32))
    }
}

/// The median of each channel of at least one colour.
fn median(colours: impl Iterator<Item = Colour>) -> Colour {
    let mut channels: [Vec<f32>; 3] = Default::default();
    for colour in colours {
        (0..3).for_each(|c| channels[c].push(colour[c]));
    }
    channels.map(|mut values| {
        let middle = values.len() / 2;
        *values.select_nth_unstable_by(middle, f32::total_cmp).1
    })
}

/// Blends a colour with this opacity over another colour.
fn mix(under: Colour, over: Colour, opacity: f32) -> Colour {
    let channel = |c: usize| over[c] * opacity + under[c] * (1.0 - opacity);
    [channel(0), channel(1), channel(2)]
}

fn difference(a: Colour, b: Colour) -> Colour {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: Colour, b: Colour) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The distance of two colours: 1 from black to white.
fn distance(a: Colour, b: Colour) -> f32 {
    let way = difference(a, b);
    (dot(way, way) / 3.0).sqrt()
}

fn brightness(colour: Colour) -> f32 {
    colour.iter().sum::<f32>() / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_border_has_each_outermost_pixel_once() {
        let border = |width, height| {
            let samples = vec![0; width * height];
            let mut found: Vec<usize> =
                Picture { samples, channels: 1, width, height }.border().collect();
            found.sort_unstable();
            found
        };
        assert_eq!(border(4, 3), [0, 1, 2, 3, 4, 7, 8, 9, 10, 11]);
        assert_eq!(border(4, 1), [0, 1, 2, 3]);
        assert_eq!(border(1, 3), [0, 1, 2]);
        assert_eq!(border(2, 2), [0, 1, 2, 3]);
        assert_eq!(border(1, 1), [0]);
    }

    /// Returns the amounts of ink that are found in a 7 x 3 picture, whose middle row has pixels with these amounts.
    fn found(pixel: impl Fn(f32) -> Vec<u8>, ink: [f32; 5]) -> Option<Vec<f32>> {
        let channels = pixel(0.0).len();
        let row = |ink: [f32; 7]| ink.into_iter().flat_map(&pixel).collect::<Vec<u8>>();
        let [a, b, c, d, e] = ink;
        let samples = [row([0.0; 7]), row([0.0, a, b, c, d, e, 0.0]), row([0.0; 7])].concat();
        let ink = Picture { samples, channels, width: 7, height: 3 }.ink()?;
        assert!(ink.is_clean);
        Some(ink.amounts[8..13].to_vec())
    }

    #[test]
    fn the_amount_of_ink_is_the_position_between_the_two_colours() {
        let amounts = [0.0, 0.2, 1.0, 0.6, 0.0];
        let byte = |value: f32| (255.0 * value).round() as u8;
        let between =
            |paper: Colour, ink: Colour| move |amount| mix(paper, ink, amount).map(byte).to_vec();
        let colours = [BLACK, WHITE, [0.5; 3], [0.8, 0.1, 0.1], [0.1, 0.5, 0.1], [0.0, 0.0, 1.0]];
        for paper in colours {
            for ink in colours.into_iter().filter(|ink| *ink != paper) {
                let found = found(between(paper, ink), amounts).unwrap();
                for (found, amount) in found.iter().zip(amounts) {
                    // The tolerance is the rounding of samples to 8 bits.
                    let exact = 2.0 / 255.0 / distance(paper, ink);
                    assert!((found - amount).abs() < exact, "{ink:?} on {paper:?}: {found}");
                }
            }
            // A pixel whose opacity is the amount of ink, on a transparent background instead of paper.
            let on_nothing = |amount| {
                let [r, g, b] = paper.map(byte);
                vec![r, g, b, byte(amount)]
            };
            let found = found(on_nothing, amounts).unwrap();
            let differ = found.iter().zip(amounts).any(|(found, ink)| (found - ink).abs() > 0.02);
            assert!(!differ, "{paper:?} on nothing: {found:?}");
        }
        assert_eq!(found(between(WHITE, [0.97; 3]), amounts), None);
        assert_eq!(found(|_| vec![255, 255, 255, 0], amounts), None);
    }

    /// A 9 x 9 picture; `pixel` returns the grey value and the opacity at a column and row.
    fn picture(pixel: impl Fn(usize, usize) -> [u8; 2]) -> Picture {
        let samples = (0..81).flat_map(|i| pixel(i % 9, i / 9)).collect();
        Picture { samples, channels: 2, width: 9, height: 9 }
    }

    fn is_stroke(x: usize, y: usize) -> bool {
        x == 4 && (3..6).contains(&y)
    }

    #[test]
    fn transparent_pixels_at_the_edge_of_paper_are_paper() {
        let inside = |x: usize, y: usize| (1..8).contains(&x) && (1..8).contains(&y);
        let corner = |x: usize, y: usize| [0, 8].contains(&x) && [0, 8].contains(&y);
        for (paper, ink) in [(255, 0), (0, 255), (200, 90)] {
            let of = |x, y| if is_stroke(x, y) { ink } else { paper };
            let card = picture(|x, y| [of(x, y), if inside(x, y) { 255 } else { 0 }]);
            let rounded = picture(|x, y| [of(x, y), if corner(x, y) { 0 } else { 255 }]);
            let cut_out = picture(|x, y| [paper, if is_stroke(x, y) { 0 } else { 255 }]);
            for picture in [card, rounded, cut_out] {
                let ink = picture.ink().unwrap();
                let right = (0..81).all(|i| (ink.amounts[i] > 0.5) == is_stroke(i % 9, i / 9));
                assert!(right, "{ink:?} on {paper}", ink = ink.amounts);
            }
        }
    }

    #[test]
    fn highlights_on_the_other_side_of_the_papers_colour_are_not_ink() {
        // The picture has a bright spot on grey paper, and darker ink.
        let shade = |x, y| {
            if is_stroke(x, y) {
                20
            } else if x == 7 && y == 7 {
                250
            } else {
                150
            }
        };
        let ink = picture(|x, y| [shade(x, y), 255]).ink().unwrap();
        assert!((0..81).all(|i| (ink.amounts[i] > 0.0) == is_stroke(i % 9, i / 9)));
    }
}
