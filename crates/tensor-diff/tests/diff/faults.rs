//! Tests with faults, injected one at a time into dumps of honest float32 steps: each is caught, the first
//! divergence names the tensor that was spoilt, and the likely reading is the right one.

use tensor::{Loss, TensorName};
use tensor_diff::{PatternKind, Verdict};

use crate::support::faults::{each_tensor, first, kind, starts, text};
use crate::support::{Start, data, diff, explain};

#[test]
fn no_clean_dump_is_flagged() {
    for start in starts() {
        let found = diff(&start.reference(), &start.candidate());
        assert!(found.agrees(), "{}", explain(&found));
        assert_eq!(found.rows.count(Verdict::Ok), found.rows.len());
        assert!(found.warnings.is_empty());
    }
}

#[test]
fn nan_and_infinities_in_any_element_of_any_tensor() {
    for (value, verdict, word) in [
        (f64::NAN, Verdict::Nan, "holds NaN at "),
        (f64::INFINITY, Verdict::Infinite, "holds infinity at "),
        (f64::NEG_INFINITY, Verdict::Infinite, "holds -infinity at "),
    ] {
        let injected = each_tensor(
            |tensor| {
                *tensor.data.last_mut().unwrap() = value;
                true
            },
            |_, name, found| {
                let row = found.rows.get(name).unwrap();
                let shape = row.shape.as_ref().unwrap();
                let last: Vec<usize> = shape.iter().map(|axis| axis - 1).collect();
                let worst = &row.deviation.as_ref().unwrap().worst_index;
                kind(found) == Some(PatternKind::NonFinite)
                    && row.verdict == verdict
                    && *worst == last
                    && text(found).starts_with(&match row.deviation.as_ref().unwrap().elements {
                        1 => format!("the candidate {}", word.trim_end_matches(" at ")),
                        _ => format!(
                            "the candidate {}only at {last:?}",
                            word.trim_end_matches("at ")
                        ),
                    })
            },
        );
        // Each loss has three networks with 22 tensors and one with 32. A fault was injected into every tensor.
        assert_eq!(injected, 3 * (3 * 22 + 32));
    }
}

/// Two NaN are not equal, and neither are two infinities: nothing was proved.
#[test]
fn the_same_nan_or_infinity_in_both_dumps() {
    for value in [f64::NAN, f64::INFINITY] {
        let start = &starts()[0];
        let (mut reference, mut candidate) = (start.reference(), start.candidate());
        data(&mut reference, TensorName::Z(2))[4] = value;
        data(&mut candidate, TensorName::Z(2))[4] = value;
        assert_eq!(first(&diff(&reference, &candidate)), TensorName::Z(2));
        assert_eq!(first(&diff(&reference, &start.candidate())), TensorName::Z(2));
        let found = diff(&reference, &start.candidate());
        assert!(text(&found).starts_with("the reference holds "), "{}", text(&found));
        assert_eq!(first(&diff(&reference, &reference)), TensorName::Z(2));
    }
}

#[test]
fn stored_column_major() {
    let injected = each_tensor(
        |tensor| {
            let &[rows, columns] = &tensor.shape[..] else { return false };
            let old = tensor.data.clone();
            for (i, value) in tensor.data.iter_mut().enumerate() {
                *value = old[i % rows * columns + i / rows];
            }
            rows > 1 && columns > 1
        },
        |_, _, found| kind(found) == Some(PatternKind::StoredColumnMajor),
    );
    assert!(injected > 100);
}

#[test]
fn row_zero_for_every_row() {
    let injected = each_tensor(
        |tensor| {
            let &[_, columns] = &tensor.shape[..] else { return false };
            let row = tensor.data[..columns].to_vec();
            for (value, i) in tensor.data.iter_mut().zip(0..) {
                *value = row[i % columns];
            }
            row.iter().any(|&value| value != 0.0)
        },
        |_, _, found| kind(found) == Some(PatternKind::RowZero),
    );
    assert!(injected > 100);
}

#[test]
fn all_zeros() {
    let injected = each_tensor(
        |tensor| {
            tensor.data.fill(0.0);
            true
        },
        |_, _, found| kind(found) == Some(PatternKind::AllZeros),
    );
    assert!(injected > 250);
}

#[test]
fn a_flipped_sign() {
    let injected = each_tensor(
        |tensor| {
            tensor.data.iter_mut().for_each(|value| *value = -*value);
            true
        },
        |_, _, found| kind(found) == Some(PatternKind::SignFlipped),
    );
    assert!(injected > 250);
}

#[test]
fn any_other_constant_factor() {
    let start = &starts()[0];
    let (reference, mut candidate) = (start.reference(), start.candidate());
    data(&mut candidate, TensorName::Dw(1)).iter_mut().for_each(|value| *value *= -3.7);
    let found = diff(&reference, &candidate);
    assert_eq!(text(&found), "it is -3.7 times what it should be");
    // A single number is a multiple of any other, so that explains nothing.
    let mut candidate = start.candidate();
    data(&mut candidate, TensorName::Loss)[0] *= -3.7;
    assert_eq!(kind(&diff(&reference, &candidate)), Some(PatternKind::Unexplained));
}

#[test]
fn exchanged_names() {
    let start = Start::new(&[9, 7, 7, 7], 5, Loss::CrossEntropy, 3);
    use TensorName::{A, B, BNext, Da, Db, Dw, Dz, P, W, WNext, Z};
    for (one, other) in [
        (W(2), W(3)),
        (B(1), B(2)),
        (Z(1), Z(2)),
        (A(1), A(2)),
        (Z(3), P),
        (Dz(2), Dz(1)),
        (Dw(3), Dw(2)),
        (Db(3), Db(1)),
        (Da(2), Da(1)),
        (WNext(2), WNext(3)),
        (BNext(1), BNext(3)),
        (P, Dz(3)),
        (Db(2), BNext(1)),
    ] {
        let mut candidate = start.candidate();
        let (a, b) = (data(&mut candidate, one).clone(), data(&mut candidate, other).clone());
        *data(&mut candidate, one) = b;
        *data(&mut candidate, other) = a;
        let found = diff(&start.reference(), &candidate);
        assert_eq!(first(&found), one);
        // The bias gradient of another layer is also the sum over that layer's `dz`.
        if text(&found) == "dz1 is read in place of dz3" {
            assert_eq!((one, other), (Db(3), Db(1)));
            continue;
        }
        // A `p` that holds (p - y) / B has a second explanation, too.
        if text(&found).contains("times y") {
            assert_eq!((one, other), (P, Dz(3)));
            continue;
        }
        assert_eq!(kind(&found), Some(PatternKind::EqualsOther), "{}", explain(&found));
        assert!(text(&found).contains(&format!("it equals {other}:")), "{}", text(&found));
    }
}

#[test]
fn the_last_rows_are_stale() {
    for (zero, words) in [(false, "left over from an earlier one"), (true, "it was not written")] {
        let injected = each_tensor(
            |tensor| {
                let &[rows, columns] = &tensor.shape[..] else { return false };
                let stale = &mut tensor.data[(rows - rows / 3) * columns..];
                // Rows that are 0 after relu anyway would be right.
                let alive = stale.chunks(columns.max(1)).all(|row| row.iter().any(|&v| v != 0.0));
                for (value, i) in stale.iter_mut().zip(1_u16..) {
                    *value = if zero { 0.0 } else { 0.37 * f64::from(i) };
                }
                rows >= 6 && columns > 1 && alive
            },
            |_, _, found| {
                // Zeros are explained; stale values are only located.
                let (wanted, at) = if zero {
                    (PatternKind::Explained, text(found).contains(", in rows "))
                } else {
                    (PatternKind::LastRows, true)
                };
                kind(found) == Some(wanted) && at && text(found).contains(words)
            },
        );
        assert!(injected > 50, "{injected}");
    }
}

#[test]
fn the_last_columns_are_not_written() {
    let start = Start::new(&[13, 17, 5], 6, Loss::Bce, 8);
    let mut candidate = start.candidate();
    data(&mut candidate, TensorName::Z(1)).iter_mut().skip(16).step_by(17).for_each(|z| *z = 0.0);
    let found = diff(&start.reference(), &candidate);
    assert_eq!(text(&found), "it is 0: it was not written, in column 16 alone, of 17");
}

#[test]
fn a_single_element() {
    let injected = each_tensor(
        |tensor| {
            let middle = tensor.data.len() / 2;
            tensor.data[middle] += 0.47;
            tensor.data.len() > 2 && tensor.shape.len() == 2 && tensor.shape[0] > 1
        },
        |_, _, found| kind(found) == Some(PatternKind::OneElement),
    );
    assert!(injected > 50);
}

#[test]
fn a_shuffled_batch() {
    let start = &starts()[0];
    let mut candidate = start.candidate();
    let x = data(&mut candidate, TensorName::X);
    x.rotate_right(13);
    let found = diff(&start.reference(), &candidate);
    assert_eq!(first(&found), TensorName::X);
    assert_eq!(
        text(&found),
        "it holds the right rows in another order: row 0 is what row 5 should be"
    );
    let reading = &found.first_divergence.as_ref().unwrap().reading;
    assert!(reading.contains("did not start from the same inputs"), "{reading}");
}

/// A float64 reference must start from values that a float32 level can start from.
#[test]
fn inputs_that_no_float32_holds() {
    let start = &starts()[0];
    let mut reference = start.reference();
    data(&mut reference, TensorName::W(1)).iter_mut().for_each(|w| *w += 1e-12);
    let found = diff(&reference, &start.candidate());
    assert_eq!(first(&found), TensorName::W(1));
    assert_eq!(kind(&found), Some(PatternKind::RoundedToSingle));
}
