//! Pseudo-random numbers, the same on every machine and in every run.

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators").
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    #[expect(clippy::should_implement_trait, reason = "an iterator's Option would never be None")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A random number below `n`, which must not be 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// A random number in a range, including both ends.
    pub fn between(&mut self, (least, most): (i64, i64)) -> i64 {
        least + (self.next() % (most - least + 1) as u64) as i64
    }

    /// A random element of a list.
    pub fn one<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    /// True once in `n` times on average.
    pub fn chance(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}
