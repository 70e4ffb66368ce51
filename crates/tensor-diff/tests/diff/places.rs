//! Tests of the words for the positions of wrong elements: by row and column, by period, and by the values of an input.

use tensor::{Loss, TensorName};
use tensor_diff::judge;

use crate::support::{Start, data};
use TensorName::{Dz, Z};

/// The explanation of a `dz1` of `[batch, units]` that `change` makes wrong in these elements.
fn text(
    [batch, units]: [usize; 2],
    is_wrong: impl Fn(usize, f64) -> bool,
    change: impl Fn(usize, f64) -> f64,
) -> String {
    let start = Start::new(&[9, units, 5], batch, Loss::CrossEntropy, 21);
    let mut dump = start.candidate();
    let z = data(&mut dump, Z(1)).clone();
    // No element is 0, whose product with anything is right.
    let dz = data(&mut dump, Dz(1));
    for i in (0..dz.len()).filter(|&i| is_wrong(i, z[i])) {
        dz[i] = change(i, dz[i]);
    }
    judge(&dump, 1.0).first_fault.unwrap().pattern.unwrap().text
}

#[test]
fn rows_columns_and_steps_are_named() {
    let noise = |i: usize, dz: f64| dz + 0.01 + (i * i % 7) as f64 * 0.013;
    let wrong = |shape, elements: &[usize]| text(shape, |i, _| elements.contains(&i), noise);
    assert_eq!(wrong([2, 2], &[2, 3]), "only the last 1 of 2 rows are wrong, from 1 on: a partial tile or batch, or values left over from an earlier one");
    assert_eq!(wrong([3, 4], &[0, 1, 4, 5]), "");
}
