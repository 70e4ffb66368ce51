//! Two colour maps that the colour-blind can read.
//!
//! Values have a sign: purple to orange over white (ColorBrewer's `PuOr`, which its authors list as safe). Errors have
//! none: cividis, whose lightness rises evenly and looks the same to the colour-blind (Nuñez, Anderton, Renslow, PLOS ONE
//! 13(7), 2018). Allowed errors take its darker half, and excessive ones its brightest end, so that they differ in grey
//! too.

use colorous::Gradient;

/// From the most negative to the most positive value, zero in the middle.
pub const VALUES: Gradient = colorous::PURPLE_ORANGE;
/// From no error, at 0, to the largest.
pub const ERRORS: Gradient = colorous::CIVIDIS;

/// 256 colours of a part of a map, as concatenated `rrggbb`.
#[must_use]
pub fn table(map: Gradient, from: f64, to: f64) -> String {
    (0..256)
        .map(|i| format!("{:x}", map.eval_continuous(from + (to - from) * f64::from(i) / 255.0)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_colour_has_six_digits() {
        for map in [VALUES, ERRORS] {
            assert_eq!(table(map, 0.0, 1.0).len(), 6 * 256);
        }
    }

    /// Rec. 709 luma of the n-th colour.
    fn lightness(table: &str, n: usize) -> f64 {
        let channel = |at: usize| {
            f64::from(u8::from_str_radix(&table[6 * n + at..6 * n + at + 2], 16).unwrap())
        };
        0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
    }

    #[test]
    fn errors_grow_lighter() {
        let (table, beyond) = (table(ERRORS, 0.0, 0.6), super::table(ERRORS, 1.0, 1.0));
        for n in (0..240).step_by(16) {
            assert!(lightness(&table, n + 16) > lightness(&table, n), "{n}");
        }
        assert!(lightness(&table, 255) + 60.0 < lightness(&beyond, 0));
    }
}
