//! The strokes of the ten digits, each in several styles: the table `shapes.txt`.
//!
//! A line `digit N` begins a digit, and a line `style WEIGHT` begins a way to write it. Each line of points is a
//! stroke, in the order of writing. Coordinates are `x,y` with y downwards, in hundredths of the digit's height; a
//! digit is about 100 high and 60 wide. A stroke is a smooth curve through its points; a duplicated point is a corner.

use std::sync::LazyLock;

/// The points that one stroke of the pen goes through.
pub(super) type Stroke = Vec<(f32, f32)>;

/// One of the ways in which a digit is written.
pub(super) struct Style {
    /// The style's frequency relative to the other styles of the digit.
    pub(super) weight: u32,
    /// The style's strokes, in the order of writing.
    pub(super) strokes: Vec<Stroke>,
}

/// The styles of the digits 0 to 9.
pub(super) static DIGITS: LazyLock<Vec<Vec<Style>>> =
    LazyLock::new(|| parse(include_str!("shapes.txt")).expect("the table is well formed"));

/// Parses the table; `None` if a line has another form.
fn parse(table: &str) -> Option<Vec<Vec<Style>>> {
    let mut digits: Vec<Vec<Style>> = Vec::new();
    for line in table.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        match line.split_once(' ') {
            None => {}
            Some(("digit", _)) => digits.push(Vec::new()),
            Some(("style", weight)) => {
                let style = Style { weight: weight.parse().ok()?, strokes: Vec::new() };
                digits.last_mut()?.push(style);
            }
            Some(_) => {
                let number = |text: &str| text.parse::<u8>().ok().map(f32::from);
                let point = |point: &str| {
                    let (x, y) = point.split_once(',')?;
                    Some((number(x)?, number(y)?))
                };
                let stroke: Option<Stroke> = line.split(' ').map(point).collect();
                digits.last_mut()?.last_mut()?.strokes.push(stroke?);
            }
        }
    }
    Some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_fills_its_height() {
        assert_eq!(DIGITS.len(), 10);
        for (digit, styles) in DIGITS.iter().enumerate() {
            assert!(styles.len() > 2, "{digit} has {} styles", styles.len());
            for style in styles {
                let points = || style.strokes.iter().flatten();
                assert!(style.strokes.iter().all(|path| path.len() > 1), "{digit}");
                assert!(points().all(|(x, y)| (0. ..=80.).contains(x) && (0. ..=100.).contains(y)));
                let top = points().fold(100.0_f32, |top, point| top.min(point.1));
                let bottom = points().fold(0.0_f32, |bottom, point| bottom.max(point.1));
                assert!(bottom - top >= 90.0, "{digit} reaches from {top} to {bottom}");
            }
        }
    }
}
