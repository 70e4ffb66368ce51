//! A pen that draws strokes as ink on pixels.

use crate::{HEIGHT, PIXELS, WIDTH};

/// A position on the paper, in pixels from the upper left corner. The centre of the first pixel is
/// (0.5, 0.5).
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// To the right.
    pub(super) x: f32,
    /// Downwards.
    pub(super) y: f32,
}

/// A point of a stroke, with the width of the stroke there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dot {
    /// The position.
    pub(super) at: Point,
    /// Half the width of the stroke in pixels; 0 if the pen is lifted.
    pub(super) radius: f32,
}

/// A sheet of 28 x 28 pixels.
pub(super) struct Paper {
    /// The amount of ink of each pixel, from 0 to 1.
    ink: [f32; PIXELS],
    /// The number of pixels over which the edge of a stroke fades.
    softness: f32,
}

impl Paper {
    /// A blank sheet. The edge of a stroke fades over `softness` pixels.
    pub(super) fn new(softness: f32) -> Self {
        Self { ink: [0.0; PIXELS], softness }
    }

    /// Draws a straight line between two dots, with a linearly changing width. Where lines cross, the darker
    /// one wins.
    pub(super) fn line(&mut self, from: Dot, to: Dot) {
        let broadest = from.radius.max(to.radius);
        if broadest <= 0.0 {
            return;
        }
        let (dx, dy) = (to.at.x - from.at.x, to.at.y - from.at.y);
        let length_squared = dx * dx + dy * dy;
        let reach = broadest + 0.5 * self.softness;
        let columns = span(from.at.x.min(to.at.x) - reach, from.at.x.max(to.at.x) + reach, WIDTH);
        let rows = span(from.at.y.min(to.at.y) - reach, from.at.y.max(to.at.y) + reach, HEIGHT);
        // The reciprocal, so that there is only one division for all pixels. A line of length 0 is a dot.
        let scale = if length_squared > 0.0 { 1.0 / length_squared } else { 0.0 };
        let fade = 1.0 / self.softness;
        for row in rows {
            let y = centre(row) - from.at.y;
            for column in columns.clone() {
                let x = centre(column) - from.at.x;
                // The position of the nearest point of the line, from 0 to 1.
                let along = ((x * dx + y * dy) * scale).clamp(0.0, 1.0);
                let (away_x, away_y) = (x - along * dx, y - along * dy);
                let distance_squared = away_x * away_x + away_y * away_y;
                if distance_squared < reach * reach {
                    let radius = from.radius + along * (to.radius - from.radius);
                    let inside = (radius - distance_squared.sqrt()) * fade + 0.5;
                    let ink = &mut self.ink[row * WIDTH + column];
                    *ink = ink.max(inside.min(1.0));
                }
            }
        }
    }

    /// The amount of ink of each pixel, from 0 to 1, row by row.
    pub(super) const fn ink(&self) -> &[f32; PIXELS] {
        &self.ink
    }
}

/// The centre of a row or column of pixels.
fn centre(index: usize) -> f32 {
    index as f32 + 0.5
}

/// The indices of the rows or columns of pixels between two positions. The conversion to an integer saturates, so
/// positions outside of the paper are cut off.
fn span(from: f32, to: f32, length: usize) -> std::ops::Range<usize> {
    let end = (to as usize + 1).min(length);
    (from as usize).min(end)..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(x: f32, y: f32, radius: f32) -> Dot {
        Dot { at: Point { x, y }, radius }
    }

    #[test]
    fn a_line_has_the_requested_width_and_length() {
        let mut paper = Paper::new(1.0);
        paper.line(dot(5.0, 14.0, 2.0), dot(20.0, 14.0, 2.0));
        let total: f32 = paper.ink().iter().sum();
        // The expected area: a rectangle of 15 x 4 and two half discs of radius 2.
        let area = 60.0 + std::f32::consts::PI * 4.0;
        assert!((total - area).abs() < 0.03 * area, "{total}, not {area}");
        assert_eq!(paper.ink()[13 * WIDTH + 10], 1.0);
        assert_eq!(paper.ink()[10 * WIDTH + 10], 0.0);
    }

    #[test]
    fn lines_are_clipped_at_the_edge_of_the_paper() {
        let mut paper = Paper::new(1.0);
        paper.line(dot(-50.0, -50.0, 1.0), dot(-40.0, -40.0, 1.0));
        paper.line(dot(60.0, 60.0, 1.0), dot(70.0, 90.0, 1.0));
        assert!(paper.ink().iter().all(|&ink| ink == 0.0));
        paper.line(dot(-10.0, 14.0, 1.0), dot(40.0, 14.0, 1.0));
        assert_eq!(paper.ink()[13 * WIDTH], 1.0);
        assert_eq!(paper.ink()[13 * WIDTH + WIDTH - 1], 1.0);
    }

    #[test]
    fn a_lifted_pen_draws_nothing() {
        let mut paper = Paper::new(1.0);
        paper.line(dot(5.0, 5.0, 0.0), dot(9.0, 9.0, 0.0));
        assert!(paper.ink().iter().all(|&ink| ink == 0.0));
    }
}
