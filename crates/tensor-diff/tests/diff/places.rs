//! Tests of the words for the positions of wrong elements: by row and column, by period, and by the values of an input.

use tensor::{Loss, TensorName};
use tensor_diff::judge;

use crate::support::{Start, data};
use TensorName::{Da, Db, Dz};

/// The explanation of a tensor of a step with this batch and these hidden units, some of whose elements are changed.
fn text(
    name: TensorName,
    [batch, units]: [usize; 2],
    is_wrong: impl Fn(usize, f64) -> bool,
    change: impl Fn(usize, f64) -> f64,
) -> String {
    let mut dump = Start::new(&[9, units, 5], batch, Loss::CrossEntropy, 21).candidate();
    for (i, value) in data(&mut dump, name).iter_mut().enumerate() {
        if is_wrong(i, *value) {
            *value = change(i, *value);
        }
    }
    judge(&dump, 1.0).first_fault.unwrap().pattern.unwrap().text
}

#[test]
fn rows_columns_and_steps_are_named() {
    let wrong = |name, shape, elements: &[usize]| {
        let noise = |i: usize, value: f64| value + 0.01 * ((i * i % 7) as f64 + 1.0);
        text(name, shape, |i, _| elements.contains(&i), noise)
    };
    for (elements, words) in [
        (&[4, 5][..], "wrong in row 1 alone, of 5 and columns 0 to 1 of 4"),
        (&[4, 5, 8], "wrong in rows 1 to 2 of 5 and columns 0 to 1 of 4"),
    ] {
        assert_eq!(wrong(Da(1), [5, 4], elements), words);
    }
    assert_eq!(wrong(Db(1), [6, 9], &[0, 3, 6]), "wrong in one element in 3 from 0 to 6");
    assert_eq!(wrong(Db(1), [6, 9], &[0, 3, 4]), "wrong in 3 of 9 elements, from 0 to 4");
}

#[test]
fn lanes_halves_of_tiles_and_values_are_parts() {
    let tripled = |name, shape, is_wrong: &dyn Fn(usize, f64) -> bool| {
        let text = text(name, shape, is_wrong, |_, value| 3.0 * value);
        text.strip_prefix("it is 3 times what it should be, ").unwrap().to_owned()
    };
    let lane = |i: usize, _: f64| i % 32 == 31;
    assert_eq!(tripled(Da(1), [10, 32], &lane), "in column 31 alone, of 32");
    assert_eq!(tripled(Da(1), [16, 20], &lane), "in one element in 32, from 31 on");
    let wrong_in = |is_wrong: &dyn Fn(usize, f64) -> bool| tripled(Da(1), [67, 10], is_wrong);
    assert_eq!(wrong_in(&|i, _| i / 10 % 32 >= 16), "in rows 16 to 31 of each 32");
    assert_eq!(wrong_in(&|_, value| value < 0.0), "where what it should be is below 0");
    let odd = "where row and column add up to an odd number";
    assert_eq!(wrong_in(&|i, _| (i / 10 + i % 10) % 2 == 1), odd);
    let of_input = tripled(Dz(1), [67, 10], &|_, value| value < 0.0);
    assert!(of_input.starts_with("where da1 is below "), "{of_input}");
}
