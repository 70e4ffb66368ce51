//! The portable random generator: a seed gives the same numbers on every platform.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// The purpose of random numbers. Each purpose has a separate stream, so that drawing more numbers for one purpose
/// doesn't change the numbers of another purpose: shuffling has no effect on the initial parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Initial weights and biases.
    Parameters,
    /// The order of the samples in an epoch.
    Shuffle,
    /// The random inputs of fixtures.
    Noise,
    /// The built-in digits.
    Digits,
}

impl Purpose {
    /// The number of the ChaCha stream. Renumbering would change the numbers of every seed.
    const fn stream_number(self) -> u64 {
        match self {
            Self::Parameters => 0,
            Self::Shuffle => 1,
            Self::Noise => 2,
            Self::Digits => 3,
        }
    }
}

/// A random generator: ChaCha with 8 rounds, which only uses integer arithmetic. Its bits are converted with
/// exact operations or `libm`, so all results are the same on every platform.
#[derive(Debug)]
pub struct Generator(ChaCha8Rng);

impl Generator {
    /// The generator for a seed, a purpose and an index, such as the number of the epoch or image. Generators
    /// that differ in at least one of the three are independent of each other.
    #[must_use]
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&index.to_le_bytes());
        let mut chacha = ChaCha8Rng::from_seed(key);
        chacha.set_stream(purpose.stream_number());
        Self(chacha)
    }

    /// 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A random integer from 0 to `n − 1`, each equally likely (Lemire, "Fast random integer
    /// generation in an interval", 2019).
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: u32) -> u32 {
        assert!(n > 0, "no integer is below 0");
        // The high half of a 64-bit product is the result. If the low half is below 2^32 mod n, the draw is repeated:
        // accepting it would make some results more likely than others.
        let mut product = u64::from(self.next_u32()) * u64::from(n);
        if low(product) < n {
            let surplus = n.wrapping_neg() % n;
            while low(product) < surplus {
                product = u64::from(self.next_u32()) * u64::from(n);
            }
        }
        (product >> 32) as u32
    }

    /// A random number in `[0, 1)`, a multiple of 2⁻²⁴. Every such multiple is exactly representable in `f32`.
    pub fn unit(&mut self) -> f32 {
        let bits = (self.next_u32() >> 8) as f32;
        bits * (1.0 / 16_777_216.0)
    }

    /// A random number between `low` and `high`, `low + (high − low)·unit`, rounded at each step;
    /// the last rounding can give `high` itself.
    pub fn uniform(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// A random number of the standard normal distribution: mean 0, variance 1. Box and Muller's
    /// `√(−2·ln u)·cos(2π·v)`, computed in `f64` and rounded once.
    pub fn normal(&mut self) -> f32 {
        // u is in (0, 1], never 0, so that its logarithm is finite.
        let u = 1.0 - self.unit_f64();
        let v = self.unit_f64();
        let radius = libm::sqrt(-2.0 * libm::log(u));
        let value = radius * libm::cos(std::f64::consts::TAU * v);
        value as f32
    }

    /// Shuffles the items; each order is equally likely (Fisher and Yates).
    ///
    /// # Panics
    /// If there are 2³² items or more.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        let count = u32::try_from(items.len()).expect("fewer than 2^32 items are shuffled");
        for last in (1..count).rev() {
            let chosen = self.below(last + 1);
            items.swap(last as usize, chosen as usize);
        }
    }

    /// A random number in `[0, 1)`, a multiple of 2⁻⁵³.
    fn unit_f64(&mut self) -> f64 {
        let bits = (self.0.next_u64() >> 11) as f64;
        bits * (1.0 / 9_007_199_254_740_992.0)
    }
}

/// The low half of a product.
const fn low(product: u64) -> u32 {
    product as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_seeds_and_indices_are_independent() {
        let first = |seed, purpose, index| Generator::new(seed, purpose, index).next_u32();
        let mut seen = vec![
            first(1, Purpose::Parameters, 0),
            first(1, Purpose::Shuffle, 0),
            first(1, Purpose::Noise, 0),
            first(1, Purpose::Digits, 0),
            first(2, Purpose::Parameters, 0),
            first(1, Purpose::Parameters, 1),
            first(0, Purpose::Parameters, 1),
        ];
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 7);
    }

    #[test]
    fn integers_below_n_are_unbiased_and_all_reached() {
        let mut generator = Generator::new(1, Purpose::Noise, 0);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[generator.below(10) as usize] += 1;
        }
        // 475 is five standard deviations of this binomial distribution (p = 0.1).
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 475), "{counts:?}");

        // For n = 3/4 of 2^32, a plain remainder would make results in the lowest third more likely.
        let n = 3 << 30;
        let lower = (0..100_000).filter(|_| generator.below(n) < 1 << 30).count();
        assert!(lower.abs_diff(33_333) < 750, "{lower}");
        assert_eq!(generator.below(1), 0);
    }

    #[test]
    fn normals_have_mean_0_and_variance_1() {
        let mut generator = Generator::new(1, Purpose::Noise, 0);
        let values: Vec<f64> = (0..100_000).map(|_| f64::from(generator.normal())).collect();
        let mean = values.iter().sum::<f64>() / 1e5;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / 1e5;
        let beyond = values.iter().filter(|v| v.abs() > 1.959_964).count();
        assert!(mean.abs() < 0.016, "{mean}");
        assert!((variance - 1.0).abs() < 0.023, "{variance}");
        assert!(beyond.abs_diff(5_000) < 350, "{beyond} of 100,000 outside the 95 % interval");
    }

    #[test]
    fn unit_is_a_multiple_of_two_to_the_minus_24() {
        let mut generator = Generator::new(3, Purpose::Noise, 0);
        for _ in 0..1000 {
            let value = generator.unit();
            assert!((0.0..1.0).contains(&value));
            assert_eq!((value * 16_777_216.0).fract(), 0.0);
        }
    }

    #[test]
    fn a_shuffle_is_a_permutation() {
        let mut items: Vec<u32> = (0..1000).collect();
        Generator::new(1, Purpose::Shuffle, 0).shuffle(&mut items);
        assert!(items.iter().zip(0..).any(|(item, i)| *item != i));
        items.sort_unstable();
        assert!(items.into_iter().eq(0..1000));
        Generator::new(1, Purpose::Shuffle, 0).shuffle(&mut [(); 0]);
    }
}
