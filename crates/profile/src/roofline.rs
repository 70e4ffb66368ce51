//! The roofline of a card: how many floating-point operations a second a kernel can do at most, by how many
//! it does for each byte of memory (Williams, Waterman and Patterson, "Roofline", 2009). Counts and public
//! figures, never a time.

mod drawing;
mod labels;

pub use drawing::svg;

use crate::card::{Card, Speeds};
use crate::counts::Counts;

/// What a kernel does, or several together, which has a place under each roof.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// What it is called.
    pub name: String,
    /// Floating-point operations.
    pub flops: u64,
    /// What the units for single numbers start: multiply-adds, and operations that are none, which take
    /// as long.
    pub single: u64,
    /// Multiply-adds on tensor cores, of TF32.
    pub tensor: u64,
    /// Bytes asked of global memory.
    pub asked: u64,
    /// Bytes that have to come from it and go there if each does so once.
    pub least: u64,
}

/// A place under a roof.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Floating-point operations for each byte.
    pub intensity: f64,
    /// Floating-point operations a second, at most.
    pub rate: f64,
}

/// Why something has no place under the roof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// It does no floating-point operations, or asks nothing of memory.
    Nothing,
    /// It multiplies numbers of other types than the roof is of.
    OtherTypes,
}

impl Outside {
    /// In words.
    #[must_use]
    pub const fn why(self) -> &'static str {
        match self {
            Self::Nothing => "has no floating-point operations and bytes to compare",
            Self::OtherTypes => "multiplies other types than single precision and TF32",
        }
    }
}

impl Point {
    /// From what was counted, and the bytes that have to be moved at least.
    ///
    /// # Errors
    /// Where it has no place under a roof.
    pub fn new(name: &str, counts: &Counts, least: u64) -> Result<Self, Outside> {
        if counts.other_multiply_adds > 0 {
            return Err(Outside::OtherTypes);
        }
        let (flops, asked) = (counts.flops(), counts.global_bytes());
        if flops == 0 || asked == 0 {
            return Err(Outside::Nothing);
        }
        Ok(Self {
            name: name.to_owned(),
            flops,
            single: counts.fma_multiply_adds + counts.single_operations,
            tensor: counts.tensor_multiply_adds,
            asked,
            // A kernel may leave out what it doesn't need.
            least: if least == 0 { asked } else { least.min(asked) },
        })
    }

    /// Its place when this many bytes come from memory or go there. No unit waits for another: which of
    /// them is busy longest is what decides.
    #[must_use]
    pub fn with(&self, bytes: u64, card: Card) -> Mark {
        let flops = self.flops as f64;
        let rate = flops / self.busy(card.speeds()).max(bytes as f64 / card.speeds().memory);
        Mark { intensity: flops / bytes as f64, rate }
    }

    /// The place if no cache helps: all that is asked of memory is moved.
    #[must_use]
    pub fn asked(&self, card: Card) -> Mark {
        self.with(self.asked, card)
    }

    /// The place if the caches keep whatever is asked for again.
    #[must_use]
    pub fn least(&self, card: Card) -> Mark {
        self.with(self.least, card)
    }

    /// Seconds for which the busier of the two units has work, at the speed that the card is sold with.
    /// Nothing takes as long as that; it is what operations are divided by.
    fn busy(&self, speeds: Speeds) -> f64 {
        let (single, tensor) = (2.0 * self.single as f64, 2.0 * self.tensor as f64);
        (single / speeds.single).max(tensor / speeds.tf32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(fma: u64, tensor: u64, single: u64, sectors: u64) -> Counts {
        Counts {
            fma_multiply_adds: fma,
            tensor_multiply_adds: tensor,
            single_operations: single,
            global_sectors: sectors,
            ..Counts::default()
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b
    }

    #[test]
    fn what_is_asked_for_decides_where_memory_is_slow() {
        // 1,000 multiply-adds on 3,200 bytes: 0.625 FLOP for each, times 3.35 TB/s.
        let point = Point::new("a", &counts(1_000, 0, 0, 100), 320).unwrap();
        let mark = point.asked(Card::H100);
        assert!(near(mark.intensity, 0.625) && near(mark.rate, 0.625 * 3.35e12), "{mark:?}");
        let least = point.least(Card::H100);
        assert!(near(least.intensity, 6.25) && near(least.rate, 6.25 * 3.35e12), "{least:?}");
    }

    #[test]
    fn the_units_decide_where_it_is_fast() {
        // 40 FLOP for a byte, beyond the corner at 67 / 3.35 = 20.
        let point = Point::new("a", &counts(64_000, 0, 0, 100), 1_600).unwrap();
        assert!(near(point.asked(Card::H100).rate, 67e12));
        let tensor = Point::new("a", &counts(0, 64_000, 0, 100), 0).unwrap();
        assert!(near(tensor.asked(Card::H100).rate, 40.0 * 3.35e12), "still under the slope");
        assert!(near(tensor.asked(Card::A100).rate, 40.0 * 2.039e12));
        assert!(near(tensor.asked(Card::Rtx4090).rate, 40.0 * 1.008e12));
        let much = Point::new("a", &counts(0, 6_400_000, 0, 100), 0).unwrap();
        assert!(near(much.asked(Card::H100).rate, 494.5e12));
        // An addition takes the unit as long as a multiply-add, and is half of one.
        let additions = Point::new("a", &counts(0, 0, 128_000, 100), 0).unwrap();
        assert!(near(additions.asked(Card::H100).rate, 33.5e12));
        // As many of both: the slower unit is busy, and the other one beside it.
        let both = Point::new("a", &counts(6_400_000, 6_400_000, 0, 100), 0).unwrap();
        assert!(near(both.asked(Card::H100).rate, 2.0 * 67e12));
    }

    #[test]
    fn what_has_no_place_says_why() {
        assert_eq!(Point::new("a", &counts(0, 0, 0, 100), 1), Err(Outside::Nothing));
        assert_eq!(Point::new("a", &counts(1, 0, 0, 0), 1), Err(Outside::Nothing));
        let other = Counts { other_multiply_adds: 1, ..counts(1, 1, 0, 1) };
        assert_eq!(Point::new("a", &other, 1), Err(Outside::OtherTypes));
    }

    /// The corners of the roofs, by hand: 67 / 3.35, 19.5 / 2.039 and 82.6 / 1.008.
    #[test]
    fn each_card_has_its_corner() {
        for (card, corner) in [(Card::H100, 20.0), (Card::A100, 9.56), (Card::Rtx4090, 81.9)] {
            let speeds = card.speeds();
            assert!((speeds.single / speeds.memory / corner - 1.0).abs() < 0.01, "{card}");
        }
    }
}
