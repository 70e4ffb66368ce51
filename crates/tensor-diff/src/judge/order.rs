//! Whether a dump lists its tensors in the order of computation.

use std::iter;

use tensor::{Dump, TensorName};

/// A tensor at the wrong place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misplaced {
    pub(crate) name: TensorName,
    /// `reference` or `candidate`.
    pub(crate) file: &'static str,
    /// The tensor before it in that file; `None` if it is the first.
    pub(crate) after: Option<TensorName>,
}

/// The fewest tensors that have to move for a file to be in the expected order.
pub(crate) fn misplaced(
    file: &'static str,
    dump: &Dump,
    expected: &[TensorName],
) -> Vec<Misplaced> {
    let names: Vec<TensorName> = dump.tensors.iter().map(|tensor| tensor.name).collect();
    let known = |(at, name)| Some((at, expected.iter().position(|other| other == name)?));
    let (places, positions): (Vec<usize>, Vec<usize>) =
        names.iter().enumerate().filter_map(known).unzip();
    let misplaced = outside_of_longest_rise(&positions).into_iter().map(|moved| {
        let at = places[moved];
        Misplaced { name: names[at], file, after: at.checked_sub(1).map(|before| names[before]) }
    });
    misplaced.collect()
}

/// The indices that a longest increasing subsequence leaves out. Of two neighbours that are
/// exchanged, either could move: the one that should come first is the one that is named.
fn outside_of_longest_rise(positions: &[usize]) -> Vec<usize> {
    let n = positions.len();
    // From the back: the length of the longest rise that starts at each index, and the next index in it.
    let mut length = vec![1; n];
    let mut next = vec![None; n];
    for i in (0..n).rev() {
        let higher = (i + 1..n).rev().filter(|&j| positions[j] > positions[i]);
        next[i] = higher.max_by_key(|&j| length[j]);
        length[i] += next[i].map_or(0, |j| length[j]);
    }
    let longest = (0..n).rev().max_by_key(|&i| length[i]);
    let rise: Vec<usize> = iter::successors(longest, |&i| next[i]).collect();
    (0..n).filter(|i| !rise.contains(i)).collect()
}
