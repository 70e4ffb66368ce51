//! Which function a number of a case chooses.

/// Places of each function among the numbers: so many that none is hardly ever chosen.
const PLACES: u64 = 16;

/// The functions by their places: a number chooses that whose place is next. Places follow from a function's own
/// line, so that cases keep their meaning when functions come or go: a new one takes what it gets from all others
/// alike, and one that has gone leaves its numbers to all others.
pub(super) struct Choice(Vec<(u16, usize)>);

impl Choice {
    /// Of functions by their lines, which differ.
    pub(super) fn new(lines: &[&str]) -> Self {
        let of = |(index, line)| (0..PLACES).map(move |copy| (place(line, copy), index));
        let mut places: Vec<_> = lines.iter().copied().enumerate().flat_map(of).collect();
        // Where two have the same place, neither the order of the lines counts nor how many there are.
        places.sort_by_key(|&(place, index)| (place, lines[index]));
        Self(places)
    }

    /// The index of the function.
    pub(super) fn of(&self, number: u16) -> usize {
        let next = self.0.partition_point(|(place, _)| *place < number);
        self.0[next % self.0.len()].1
    }
}

fn place(line: &str, copy: u64) -> u16 {
    let hash = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let mut state = line.bytes().fold(0xcbf2_9ce4_8422_2325 ^ copy, hash);
    for _ in 0..2 {
        state = (state ^ (state >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    (state >> 48) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c_api::functions::SUBJECTS;

    fn lines() -> Vec<&'static str> {
        SUBJECTS.into_iter().flat_map(str::lines).filter(|line| !line.is_empty()).collect()
    }

    /// How many of all numbers choose each.
    fn shares(lines: &[&str]) -> Vec<usize> {
        let choice = Choice::new(lines);
        let mut shares = vec![0; lines.len()];
        (0..=u16::MAX).for_each(|number| shares[choice.of(number)] += 1);
        shares
    }

    #[test]
    fn every_function_is_chosen_and_none_much_more_often_than_others() {
        let lines = lines();
        let mean = (1 << 16) / lines.len();
        for (line, share) in lines.iter().zip(shares(&lines)) {
            assert!((mean / 5..mean * 3).contains(&share), "{line}: {share} of 65536, mean {mean}");
        }
    }

    #[test]
    fn a_new_function_changes_what_its_own_numbers_choose_alone() {
        let old = lines();
        let new: Vec<&str> =
            std::iter::once("cuNew +stream int").chain(old.iter().copied()).collect();
        let (before, after) = (Choice::new(&old), Choice::new(&new));
        let chosen = |number| (old[before.of(number)], new[after.of(number)]);
        let changed = (0..=u16::MAX).map(chosen).filter(|(before, after)| before != after);
        let changed: Vec<_> = changed.collect();
        assert!(changed.iter().all(|(_, after)| *after == new[0]));
        assert!((1..=400).contains(&changed.len()), "{} of 65536", changed.len());
    }

    #[test]
    fn no_line_is_there_twice() {
        let mut lines = lines();
        let all = lines.len();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), all);
    }
}
