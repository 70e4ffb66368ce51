//! Comparison of a kernel's results with the expected numbers.

use crate::case::{Buffer, Data};
use crate::near::Near;
use crate::outcome::Wrong;

/// The wrong elements of a buffer; `None` if all are right.
pub(crate) fn judge(buffer: &Buffer, got: &Data) -> Option<Wrong> {
    let expected: Vec<Near> = match &buffer.after {
        Some(after) => after.clone(),
        // The bits of an input must not change: -0 in place of 0 is a change.
        None if *got == buffer.before => return None,
        None => (0..got.len()).map(|index| Near::exact(buffer.before.get(index))).collect(),
    };
    // The comparison is written so that NaN is wrong.
    let right =
        |index: usize| (got.get(index) - expected[index].value).abs() <= expected[index].bound;
    let wrong: Vec<bool> = (0..got.len()).map(|index| !right(index)).collect();
    let first = wrong.iter().position(|&wrong| wrong)?;
    Some(Wrong {
        buffer: buffer.name.to_owned(),
        shape: buffer.shape.clone(),
        first: place(&buffer.shape, first),
        expected: expected.iter().map(|near| near.value).collect(),
        got: (0..got.len()).map(|index| got.get(index)).collect(),
        wrong,
    })
}

/// The index along each axis of the element at a flat index.
pub(crate) fn place(shape: &[usize], mut index: usize) -> Vec<usize> {
    let mut place: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&length| {
            let at = index % length;
            index /= length;
            at
        })
        .collect();
    place.reverse();
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(after: Option<Vec<Near>>) -> Buffer {
        let before = Data::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let (name, shape) = ("m", vec![2, 3]);
        Buffer { name, shape, before, written: true, after, suspects: Vec::new() }
    }

    #[test]
    fn nan_is_wrong() {
        let after = vec![Near { value: 1.0, bound: f64::INFINITY }; 6];
        let mut got = vec![1.0; 6];
        assert!(judge(&buffer(Some(after.clone())), &Data::F32(got.clone())).is_none());
        got[4] = f32::NAN;
        let wrong = judge(&buffer(Some(after)), &Data::F32(got)).unwrap();
        assert_eq!(wrong.first, [1, 1]);
    }

    #[test]
    fn an_input_may_not_change() {
        let mut got = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert!(judge(&buffer(None), &Data::F32(got.clone())).is_none());
        got[5] = 6.5;
        assert_eq!(judge(&buffer(None), &Data::F32(got)).unwrap().first, [1, 2]);
    }

    #[test]
    fn only_differences_beyond_the_bound_are_wrong() {
        let near = |value, bound| Some(vec![Near { value, bound }; 6]);
        let got = Data::F32(vec![1.5; 6]);
        assert!(judge(&buffer(near(1.0, 0.5)), &got).is_none());
        assert!(judge(&buffer(near(1.0, 0.49)), &got).is_some());
    }
}
