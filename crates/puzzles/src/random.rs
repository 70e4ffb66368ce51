//! Random numbers for test cases, the same at every run and on every machine.

/// A linear congruential generator with Knuth's multiplier and increment for 64 bits. Its upper bits are random enough for
/// tests.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    /// Random numbers from −1 to 1, in steps of 2^−12. They are never 0, so that they differ from unwritten elements.
    pub(crate) fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count)
            .map(|_| {
                let steps = (self.next() >> 19) as i32 - 4096;
                (if steps == 0 { 1.0 } else { steps as f32 }) / 4096.0
            })
            .collect()
    }

    /// `count` random integers below `below`.
    pub(crate) fn below(&mut self, below: u32, count: usize) -> Vec<u32> {
        (0..count).map(|_| ((u64::from(self.next()) * u64::from(below)) >> 32) as u32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_their_range_and_spread() {
        let floats = Random::new(7).floats(1000);
        assert!(floats.iter().all(|&f| (-1.0..1.0).contains(&f) && f != 0.0));
        assert!(floats.iter().sum::<f32>().abs() < 60.0);
        let mut counts = [0; 10];
        Random::new(8).below(10, 1000).iter().for_each(|&n| counts[n as usize] += 1);
        assert!(counts.iter().all(|&count| count > 50), "{counts:?}");
    }
}
