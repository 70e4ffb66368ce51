//! The roofline of a card: the upper bound of a kernel's floating-point operations per second as a function of its
//! operations per byte of memory traffic (Williams, Waterman and Patterson, "Roofline", 2009). It is computed from
//! counts and data sheets, and never from times.

mod drawing;
mod labels;

pub use drawing::svg;

use crate::card::{Card, Speeds};
use crate::counts::Counts;

/// The work of one or several kernels, which has a position in a roofline.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The name.
    pub name: String,
    /// Floating-point operations.
    pub flops: u64,
    /// The number of arithmetic instructions outside of tensor cores: multiply-adds, and additions and multiplications,
    /// which take as long.
    pub single: u64,
    /// The number of multiply-adds on tensor cores, in TF32.
    pub tensor: u64,
    /// The number of bytes of global memory that the instructions access, which are loaded or stored if there are no
    /// caches.
    pub asked: u64,
    /// The number of bytes of global memory if each is only loaded or stored once.
    pub least: u64,
}

/// A position in a roofline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Floating-point operations per byte of memory traffic.
    pub intensity: f64,
    /// Upper bound of the floating-point operations per second.
    pub rate: f64,
}

/// The reason why work has no position in a roofline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPosition {
    /// The work has no floating-point operations, or no accesses to memory.
    Nothing,
    /// The work multiplies numbers of types for which the roofline has no peak.
    OtherTypes,
}

impl NoPosition {
    /// Describes the reason.
    #[must_use]
    pub const fn why(self) -> &'static str {
        match self {
            Self::Nothing => "has no floating-point operations and bytes to compare",
            Self::OtherTypes => "multiplies types other than single precision and TF32",
        }
    }
}

impl Point {
    /// The point for these counts; `least` is the minimum number of bytes to be loaded and stored.
    ///
    /// # Errors
    /// If the work has no position in a roofline.
    pub fn new(name: &str, counts: &Counts, least: u64) -> Result<Self, NoPosition> {
        if counts.other_multiply_adds > 0 {
            return Err(NoPosition::OtherTypes);
        }
        let (flops, asked) = (counts.flops(), counts.global_bytes());
        if flops == 0 || asked == 0 {
            return Err(NoPosition::Nothing);
        }
        Ok(Self {
            name: name.to_owned(),
            flops,
            single: counts.fma_multiply_adds + counts.single_operations,
            tensor: counts.tensor_multiply_adds,
            asked,
            // `least` may exceed `asked`, because a kernel may skip declared accesses.
            least: if least == 0 { asked } else { least.min(asked) },
        })
    }

    /// The position if the kernel loads or stores `bytes` bytes. Memory, tensor cores and the other units run in
    /// parallel, so the slowest of them determines the rate.
    #[must_use]
    pub fn mark(&self, bytes: u64, card: Card) -> Mark {
        let flops = self.flops as f64;
        let rate = flops / self.busy(card.speeds()).max(bytes as f64 / card.speeds().memory);
        Mark { intensity: flops / bytes as f64, rate }
    }

    /// The position without caches: every access goes to memory.
    #[must_use]
    pub fn without_caches(&self, card: Card) -> Mark {
        self.mark(self.asked, card)
    }

    /// The position with perfect caches: each byte goes to memory once.
    #[must_use]
    pub fn with_perfect_caches(&self, card: Card) -> Mark {
        self.mark(self.least, card)
    }

    /// The time in seconds of the slower of the two arithmetic units at its peak speed. This doesn't predict the
    /// kernel's time; it is the divisor for the upper bound.
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

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b
    }

    #[test]
    fn with_slow_memory_the_bytes_decide() {
        // 1,000 multiply-adds on 3,200 bytes are 0.625 FLOP per byte; multiplied by 3.35 TB/s, they give the rate.
        let point = Point::new("a", &counts(1_000, 0, 0, 100), 320).unwrap();
        let mark = point.without_caches(Card::H100);
        assert!(is_near(mark.intensity, 0.625) && is_near(mark.rate, 0.625 * 3.35e12), "{mark:?}");
        let least = point.with_perfect_caches(Card::H100);
        assert!(is_near(least.intensity, 6.25) && is_near(least.rate, 6.25 * 3.35e12), "{least:?}");
    }

    #[test]
    fn with_fast_memory_the_units_decide() {
        // 40 FLOP per byte, which is beyond the corner at 67 / 3.35 = 20.
        let point = Point::new("a", &counts(64_000, 0, 0, 100), 1_600).unwrap();
        assert!(is_near(point.without_caches(Card::H100).rate, 67e12));
        let tensor = Point::new("a", &counts(0, 64_000, 0, 100), 0).unwrap();
        assert!(
            is_near(tensor.without_caches(Card::H100).rate, 40.0 * 3.35e12),
            "limited by memory"
        );
        assert!(is_near(tensor.without_caches(Card::A100).rate, 40.0 * 2.039e12));
        assert!(is_near(tensor.without_caches(Card::Rtx4090).rate, 40.0 * 1.008e12));
        let much = Point::new("a", &counts(0, 6_400_000, 0, 100), 0).unwrap();
        assert!(is_near(much.without_caches(Card::H100).rate, 494.5e12));
        // An addition takes as long as a multiply-add, but is only one operation instead of two.
        let additions = Point::new("a", &counts(0, 0, 128_000, 100), 0).unwrap();
        assert!(is_near(additions.without_caches(Card::H100).rate, 33.5e12));
        // Equal numbers of multiply-adds on both units, which run in parallel, so the slower unit determines the rate.
        let both = Point::new("a", &counts(6_400_000, 6_400_000, 0, 100), 0).unwrap();
        assert!(is_near(both.without_caches(Card::H100).rate, 2.0 * 67e12));
    }

    #[test]
    fn work_without_a_position_has_a_reason() {
        assert_eq!(Point::new("a", &counts(0, 0, 0, 100), 1), Err(NoPosition::Nothing));
        assert_eq!(Point::new("a", &counts(1, 0, 0, 0), 1), Err(NoPosition::Nothing));
        let other = Counts { other_multiply_adds: 1, ..counts(1, 1, 0, 1) };
        assert_eq!(Point::new("a", &other, 1), Err(NoPosition::OtherTypes));
    }

    /// The corners of the three cards' rooflines, computed by hand: 67 / 3.35, 19.5 / 2.039 and 82.6 / 1.008.
    #[test]
    fn each_card_has_its_corner() {
        for (card, corner) in [(Card::H100, 20.0), (Card::A100, 9.56), (Card::Rtx4090, 81.9)] {
            let speeds = card.speeds();
            assert!((speeds.single / speeds.memory / corner - 1.0).abs() < 0.01, "{card}");
        }
    }
}
