//! Whether a dump lists its tensors in the order of computation.

use tensor::{Dump, TensorName};

/// One of the two files that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum File {
    /// The first one.
    Reference,
    /// The second one.
    Candidate,
}

impl File {
    /// The word for it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Candidate => "candidate",
        }
    }
}

/// A tensor at the wrong place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misplaced {
    pub(crate) name: TensorName,
    pub(crate) file: File,
    /// The tensor before it in that file; `None` if it is the first.
    pub(crate) after: Option<TensorName>,
}

/// The fewest tensors that have to move for a file to be in the expected order.
pub(crate) fn misplaced(file: File, dump: &Dump, expected: &[TensorName]) -> Vec<Misplaced> {
    let names: Vec<TensorName> = dump.tensors.iter().map(|tensor| tensor.name).collect();
    let position = |name: &TensorName| expected.iter().position(|e| e == name);
    let known: Vec<(usize, usize)> =
        names.iter().enumerate().filter_map(|(i, name)| Some((i, position(name)?))).collect();
    let positions: Vec<usize> = known.iter().map(|&(_, position)| position).collect();
    let mut misplaced: Vec<usize> = outside_of_longest_rise(&positions);
    misplaced.sort_unstable();
    let place = |k: usize| {
        let at = known[k].0;
        let after = at.checked_sub(1).map(|before| names[before]);
        Misplaced { name: names[at], file, after }
    };
    misplaced.into_iter().map(place).collect()
}

/// The indices that a longest increasing subsequence leaves out. Of two neighbours that are
/// exchanged, either could move: the one that should come first is the one that is named.
fn outside_of_longest_rise(positions: &[usize]) -> Vec<usize> {
    let n = positions.len();
    // From the back: the length of the longest rise that starts at each index, and the next index in it.
    let mut length = vec![1; n];
    let mut next = vec![None; n];
    for i in (0..n).rev() {
        for j in i + 1..n {
            if positions[j] > positions[i] && length[j] + 1 > length[i] {
                length[i] = length[j] + 1;
                next[i] = Some(j);
            }
        }
    }
    let mut outside: Vec<usize> = (0..n).collect();
    let mut at = (0..n).rev().max_by_key(|&i| length[i]);
    while let Some(i) = at {
        outside.retain(|&k| k != i);
        at = next[i];
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_few_as_possible_have_to_move() {
        assert!(outside_of_longest_rise(&[]).is_empty());
        assert!(outside_of_longest_rise(&[0, 1, 4, 9]).is_empty());
        // The last one at the front, the first one at the back.
        assert_eq!(outside_of_longest_rise(&[9, 0, 1, 2]), [0]);
        assert_eq!(outside_of_longest_rise(&[1, 2, 3, 0]), [3]);
        // Exchanged neighbours: the one that should come first.
        assert_eq!(outside_of_longest_rise(&[0, 2, 1, 3]), [2]);
        assert_eq!(outside_of_longest_rise(&[0, 1, 3, 2]), [3]);
        assert_eq!(outside_of_longest_rise(&[1, 0, 2, 3]), [1]);
    }
}
