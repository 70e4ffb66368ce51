//! Faults, injected one at a time into dumps of honest float32 steps: each is caught, the first
//! divergence names the tensor that was spoilt, and the likely reading is the right one.

use crate::support::{Start, data, diff, explain, tensor_mut};
use tensor::{Dump, DumpedTensor, Loss, TensorName};
use tensor_diff::{Comparison, PatternKind, Verdict};

/// All losses, two and three layers, odd sizes, a batch of one, a batch as large as the output.
fn starts() -> Vec<Start> {
    let mut starts = Vec::new();
    for (seed, loss) in (1..).zip(Loss::ALL) {
        starts.push(Start::new(&[13, 7, 5], 6, loss, seed));
        starts.push(Start::new(&[11, 9, 8, 3], 4, loss, seed + 10));
        starts.push(Start::new(&[13, 7, 5], 1, loss, seed + 20));
        starts.push(Start::new(&[31, 17, 10], 10, loss, seed + 30));
    }
    starts
}

/// Spoils each tensor of each dump in turn; `spoil` says false where that changes nothing.
/// Returns how many faults were injected.
fn each_tensor(
    spoil: impl Fn(&mut DumpedTensor) -> bool,
    expect: impl Fn(&Start, TensorName, &Comparison) -> bool,
) -> usize {
    let mut injected = 0;
    for start in starts() {
        let (reference, clean) = (start.reference(), start.candidate());
        for name in clean.tensors.iter().map(|tensor| tensor.name) {
            let mut candidate = clean.clone();
            if !spoil(tensor_mut(&mut candidate, name)) || candidate == clean {
                continue;
            }
            injected += 1;
            let found = diff(&reference, &candidate);
            assert!(!found.agrees(), "{name} of {:?} {} was not caught", start.sizes, start.loss);
            assert_eq!(first(&found), name, "{}", explain(&found));
            assert!(
                expect(&start, name, &found),
                "{name} of {:?}, batch {}, {}: {}",
                start.sizes,
                start.batch,
                start.loss,
                explain(&found)
            );
        }
    }
    injected
}

fn first(found: &Comparison) -> TensorName {
    found.first_divergence.as_ref().unwrap().tensor
}

fn kind(found: &Comparison) -> Option<PatternKind> {
    found.first_divergence.as_ref().unwrap().pattern.as_ref().map(|pattern| pattern.kind)
}

fn text(found: &Comparison) -> &str {
    &found.first_divergence.as_ref().unwrap().pattern.as_ref().unwrap().text
}

fn given(name: TensorName) -> bool {
    matches!(name, TensorName::X | TensorName::Y | TensorName::W(_) | TensorName::B(_))
}

#[test]
fn no_clean_dump_is_flagged() {
    for start in starts() {
        let found = diff(&start.reference(), &start.candidate());
        assert!(found.agrees(), "{}", explain(&found));
        assert_eq!(found.count(Verdict::Ok), found.rows.len());
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
                let row = found.row(name).unwrap();
                let shape = row.shape.as_ref().unwrap();
                let last: Vec<usize> = shape.iter().map(|axis| axis - 1).collect();
                let worst = &row.deviation.as_ref().unwrap().worst_index;
                kind(found) == Some(PatternKind::NonFinite)
                    && row.verdict == verdict
                    && *worst == last
                    && text(found).starts_with(&match row.deviation.as_ref().unwrap().elements {
                        1 => format!("the candidate {}", word.trim_end_matches(" at ")),
                        _ => format!("the candidate {word}{last:?}, there alone"),
                    })
            },
        );
        // Of each loss three networks with 22 tensors and one with 32: every single one.
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
fn a_wrong_shape() {
    let injected = each_tensor(
        |tensor| {
            tensor.shape.reverse();
            tensor.shape.len() == 2 && tensor.shape[0] != tensor.shape[1]
        },
        |_, name, found| {
            found.row(name).unwrap().verdict == Verdict::Shape
                && kind(found) == Some(PatternKind::AxesExchanged)
        },
    );
    assert!(injected > 100);
    each_tensor(
        |tensor| {
            tensor.shape.push(1);
            true
        },
        |_, name, found| {
            // [n] and [n, 1]; [1] and [1, 1] count as exchanged axes of nothing.
            found.row(name).unwrap().verdict == Verdict::Shape
        },
    );
}

/// A reference whose tensors contradict its own parameters proves nothing.
#[test]
fn a_wrong_shape_in_both_dumps() {
    let start = &starts()[0];
    let (mut reference, mut candidate) = (start.reference(), start.candidate());
    for dump in [&mut reference, &mut candidate] {
        tensor_mut(dump, TensorName::Dw(2)).shape.reverse();
    }
    let found = diff(&reference, &candidate);
    assert_eq!((first(&found), found.mismatches()), (TensorName::Dw(2), 1));
}

#[test]
fn a_missing_tensor() {
    for start in starts() {
        let (reference, clean) = (start.reference(), start.candidate());
        for name in clean.tensors.iter().map(|tensor| tensor.name) {
            let without = |dump: &Dump| {
                let mut dump = dump.clone();
                dump.tensors.retain(|tensor| tensor.name != name);
                dump
            };
            let (lacking, lame) = (without(&clean), without(&reference));
            let found = diff(&reference, &lacking);
            assert_eq!(first(&found), name);
            assert_eq!(found.row(name).unwrap().verdict, Verdict::Missing);
            assert_eq!(found.mismatches(), 1, "{}", explain(&found));
            let reading = &found.first_divergence.as_ref().unwrap().reading;
            assert!(reading.contains("missing from the candidate"), "{reading}");

            // What the reference lacks is computed for the sake of the others' bounds, and still
            // missing.
            let found = diff(&lame, &clean);
            assert_eq!(found.row(name).unwrap().verdict, Verdict::Missing);
            if !given(name) {
                assert_eq!((first(&found), found.mismatches()), (name, 1), "{}", explain(&found));
            }
            assert!(!diff(&lame, &lacking).agrees());
        }
    }
}

#[test]
fn a_tensor_that_is_declared_not_materialised_neither_fails_nor_passes() {
    for start in starts() {
        let (reference, mut candidate) = (start.reference(), start.candidate());
        let absent = [TensorName::Z(1), TensorName::Da(1), TensorName::Dz(1), TensorName::P];
        candidate.tensors.retain(|tensor| !absent.contains(&tensor.name));
        candidate.header.not_materialised = absent.to_vec();
        for found in [diff(&reference, &candidate), diff(&candidate, &start.candidate())] {
            assert!(found.agrees(), "{}", explain(&found));
            assert_eq!(found.count(Verdict::NotMaterialised), absent.len());
            assert_eq!(found.count(Verdict::Ok), found.rows.len() - absent.len());
        }
        // A fault is still found behind them, and the reading says what is not known.
        data(&mut candidate, TensorName::A(1))[0] += 1.0;
        let found = diff(&reference, &candidate);
        assert_eq!(first(&found), TensorName::A(1));
        let reading = &found.first_divergence.unwrap().reading;
        assert!(reading.contains("z1 is not materialised, so the fault is in"), "{reading}");
    }
}

/// Else an empty dump that declares everything away would pass.
#[test]
fn inputs_and_parameters_cannot_be_declared_away() {
    let start = &starts()[0];
    let (reference, clean) = (start.reference(), start.candidate());
    let names: Vec<TensorName> = clean.tensors.iter().map(|tensor| tensor.name).collect();
    let mut empty = clean.clone();
    empty.tensors.clear();
    empty.header.not_materialised = names.clone();
    let found = diff(&reference, &empty);
    assert_eq!((first(&found), found.mismatches()), (TensorName::X, 10));
    assert!(!diff(&empty, &empty).agrees());
}

#[test]
fn a_wrong_order() {
    for start in starts() {
        let (reference, clean) = (start.reference(), start.candidate());
        for i in 1..clean.tensors.len() {
            let mut candidate = clean.clone();
            candidate.tensors.swap(i - 1, i);
            for found in [diff(&reference, &candidate), diff(&candidate, &clean)] {
                assert_eq!(first(&found), clean.tensors[i - 1].name, "{}", explain(&found));
                assert_eq!(found.count(Verdict::Order), 1);
            }
        }
        let mut candidate = clean.clone();
        candidate.tensors.rotate_left(1);
        let found = diff(&reference, &candidate);
        assert_eq!((first(&found), found.mismatches()), (TensorName::X, 1));
        let last = clean.tensors.last().unwrap().name;
        let reading = found.first_divergence.unwrap().reading;
        assert!(reading.contains(&format!("right after {last} in the candidate")), "{reading}");
    }
}

#[test]
fn a_tensor_that_the_network_does_not_have() {
    let start = &starts()[0];
    let (reference, mut candidate) = (start.reference(), start.candidate());
    candidate.tensors.push(DumpedTensor {
        name: TensorName::A(1_000_000_000_000),
        shape: vec![1],
        data: vec![0.0],
    });
    let found = diff(&reference, &candidate);
    assert_eq!((found.mismatches(), found.count(Verdict::Unexpected)), (1, 1));
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

/// A gradient that is B times too large, or 1/B of what it should be; B = 10 = C is both.
#[test]
fn a_missing_or_doubled_mean_over_the_batch() {
    for start in starts().into_iter().filter(|start| start.batch > 1) {
        let (reference, clean) = (start.reference(), start.candidate());
        let batch = start.batch as f64;
        for (factor, words) in [
            (batch, format!("it is {batch} times what it should be")),
            (1.0 / batch, format!("it is 1/{batch} of what it should be")),
        ] {
            let gradient = |name| {
                use TensorName::{Da, Db, Dw, Dz};
                matches!(name, Dz(_) | Dw(_) | Db(_) | Da(_))
            };
            let names = clean.tensors.iter().map(|tensor| tensor.name);
            for name in names.filter(|&name| gradient(name) || name == TensorName::Loss) {
                let mut candidate = clean.clone();
                // As it really happens: whatever is made of a gradient is wrong too.
                for tensor in candidate.tensors.iter_mut().skip_while(|tensor| tensor.name != name)
                {
                    if tensor.name == name || gradient(tensor.name) && gradient(name) {
                        tensor.data.iter_mut().for_each(|value| *value *= factor);
                    }
                }
                let found = diff(&reference, &candidate);
                assert_eq!(first(&found), name);
                assert_eq!(kind(&found), Some(PatternKind::Factor), "{}", explain(&found));
                assert!(text(&found).starts_with(&words), "{}", text(&found));
            }
        }
    }
}

#[test]
fn any_other_constant_factor() {
    let start = &starts()[0];
    let (reference, mut candidate) = (start.reference(), start.candidate());
    data(&mut candidate, TensorName::Dw(1)).iter_mut().for_each(|value| *value *= -3.7);
    let found = diff(&reference, &candidate);
    assert_eq!(text(&found), "every element is -3.700000 times what it should be");
    // One number is a multiple of any other: nothing is claimed.
    let mut candidate = start.candidate();
    data(&mut candidate, TensorName::Loss)[0] *= -3.7;
    assert_eq!(kind(&diff(&reference, &candidate)), None);
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
        // A sum of another gradient is that one's sum, too.
        if text(&found) == "dz1 is read in place of dz3" {
            assert_eq!((one, other), (Db(3), Db(1)));
            continue;
        }
        // As is p that holds (p - y) / B.
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
                // Rows that are 0 anyway, behind relu, would be right.
                let alive = stale.chunks(columns.max(1)).all(|row| row.iter().any(|&v| v != 0.0));
                for (value, i) in stale.iter_mut().zip(1_u16..) {
                    *value = if zero { 0.0 } else { 0.37 * f64::from(i) };
                }
                rows >= 6 && columns > 1 && alive
            },
            |_, _, found| {
                // What is 0 is explained; what is left over is only told by where it is.
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

/// Replaces a tensor by what a wrong operation would have made, and says what is recognised.
fn wrong_operation(
    start: &Start,
    name: TensorName,
    wrong: impl Fn(&Dump) -> Vec<f64>,
) -> (PatternKind, String) {
    let mut candidate = start.candidate();
    let wrong = wrong(&candidate).into_iter().map(|value| f64::from(value as f32)).collect();
    *data(&mut candidate, name) = wrong;
    let found = diff(&start.reference(), &candidate);
    assert_eq!(first(&found), name, "{}", explain(&found));
    (kind(&found).unwrap_or_else(|| panic!("{}", explain(&found))), text(&found).to_owned())
}

#[test]
fn mistakes_of_one_operation_are_recognised() {
    use TensorName::{A, B, BNext, Da, Db, Dw, Dz, P, W, WNext, X, Z};
    for start in starts().into_iter().filter(|start| start.batch > 1) {
        let get = |dump: &Dump, name| dump.get(name).unwrap().data.clone();
        let (batch, last) = (start.batch, start.sizes.len() - 1);
        let (n0, n1) = (start.sizes[0], start.sizes[1]);
        let rate = f64::from(start.learning_rate);
        let is = |name, wrong: &dyn Fn(&Dump) -> Vec<f64>, expected: PatternKind| {
            let (kind, text) = wrong_operation(&start, name, wrong);
            assert_eq!(kind, expected, "{name} of {:?} {}: {text}", start.sizes, start.loss);
        };
        let minus = |a: Vec<f64>, b: Vec<f64>, k: f64| {
            a.iter().zip(b.iter().cycle()).map(|(a, b)| a - k * b).collect::<Vec<f64>>()
        };
        let product = |rows: usize,
                       columns: usize,
                       length: usize,
                       term: &dyn Fn(usize, usize, usize) -> f64| {
            (0..rows * columns)
                .map(|at| (0..length).map(|k| term(at / columns, at % columns, k)).sum())
                .collect::<Vec<f64>>()
        };
        is(A(1), &|d| get(d, Z(1)), PatternKind::ReluNotApplied);
        is(Dz(1), &|d| get(d, Da(1)), PatternKind::MaskMissing);
        if start.loss != Loss::SquaredError {
            is(P, &|d| get(d, Z(last)), PatternKind::OutputFunctionMissing);
        }
        is(WNext(1), &|d| get(d, W(1)), PatternKind::NotUpdated);
        is(BNext(last), &|d| get(d, B(last)), PatternKind::NotUpdated);
        is(WNext(2), &|d| minus(get(d, W(2)), get(d, Dw(2)), -rate), PatternKind::UpdateSign);
        is(BNext(1), &|d| minus(get(d, B(1)), get(d, Db(1)), -rate), PatternKind::UpdateSign);
        is(WNext(1), &|d| minus(get(d, W(1)), get(d, Dw(1)), 1.0), PatternKind::StepFactor);
        is(WNext(1), &|d| minus(get(d, W(1)), get(d, Dw(1)), 3.3 * rate), PatternKind::StepFactor);
        is(Z(1), &|d| minus(get(d, Z(1)), get(d, B(1)), 1.0), PatternKind::BiasMissing);
        is(Db(1), &|d| get(d, Dz(1))[..n1].to_vec(), PatternKind::OneSampleOnly);
        is(
            Dw(1),
            &|d| {
                let (dz, x) = (get(d, Dz(1)), get(d, X));
                let row = batch - 1;
                product(n1, n0, 1, &|i, j, _| dz[row * n1 + i] * x[row * n0 + j])
            },
            PatternKind::OneSampleOnly,
        );
        let n2 = start.sizes[2];
        is(
            Da(1),
            &|d| {
                let (dz, w) = (get(d, Dz(2)), get(d, WNext(2)));
                product(batch, n1, n2, &|i, j, k| dz[i * n2 + k] * w[k * n1 + j])
            },
            PatternKind::UpdatedWeights,
        );
        is(
            Da(1),
            &|d| {
                let (dz, w) = (get(d, Dz(2)), get(d, W(2)));
                product(batch, n1, n2, &|i, j, k| dz[i * n2 + k] * w[j * n2 + k])
            },
            PatternKind::WeightsReadColumnMajor,
        );
        is(
            Z(1),
            &|d| {
                let (x, w) = (get(d, X), get(d, W(1)));
                let xw = product(batch, n1, n0, &|i, j, k| x[i * n0 + k] * w[k * n1 + j]);
                minus(xw, get(d, B(1)), -1.0)
            },
            PatternKind::WeightsReadColumnMajor,
        );
    }
}

/// Biases that start from 0 and stay 0 were written, and not updated.
#[test]
fn zero_biases_that_are_not_updated() {
    let start = Start::new(&[13, 7, 5], 6, Loss::CrossEntropy, 1).scaled(0.0);
    let mut candidate = start.candidate();
    data(&mut candidate, TensorName::BNext(2)).fill(0.0);
    let found = diff(&start.reference(), &candidate);
    assert_eq!(first(&found), TensorName::BNext(2));
    assert_eq!(kind(&found), Some(PatternKind::NotUpdated));
}

/// What a reference in float64 was drawn in must be what a float32 level can start from.
#[test]
fn inputs_that_no_float32_holds() {
    let start = &starts()[0];
    let mut reference = start.reference();
    data(&mut reference, TensorName::W(1)).iter_mut().for_each(|w| *w += 1e-12);
    let found = diff(&reference, &start.candidate());
    assert_eq!(first(&found), TensorName::W(1));
    assert_eq!(kind(&found), Some(PatternKind::RoundedToSingle));
}

#[test]
fn headers_that_differ_are_warned_of() {
    let start = &starts()[0];
    let mut candidate = start.candidate();
    candidate.header.preset = "other".into();
    candidate.header.seed = 2;
    candidate.header.step = 7;
    candidate.header.learning_rate = 0.5;
    candidate.header.loss = Some(Loss::Bce);
    let found = diff(&start.reference(), &candidate);
    assert_eq!(found.warnings.len(), 5);
    assert_eq!(
        found.warnings[0],
        "the reference was made with preset small and the candidate with preset other"
    );
    // What the header says of the loss and the learning rate is not what was computed.
    assert_eq!(first(&found), TensorName::P);
    candidate.header.loss = Some(start.loss);
    assert_eq!(first(&diff(&start.reference(), &candidate)), TensorName::WNext(1));
    candidate.header.learning_rate = start.learning_rate;
    let found = diff(&start.reference(), &candidate);
    assert_eq!(found.warnings.len(), 3);
    assert!(found.agrees(), "a warning is no verdict");
}

/// Sizes that a file may hold, and no network should.
#[test]
fn odd_dumps_are_judged_without_a_panic() {
    let start = &starts()[0];
    let clean = start.candidate();
    let mut none = clean.clone();
    none.tensors.clear();
    let mut empty = clean.clone();
    for tensor in &mut empty.tensors {
        tensor.data.clear();
        tensor.shape = if tensor.shape.is_empty() { vec![0] } else { vec![0; tensor.shape.len()] };
    }
    let mut scalars = clean.clone();
    for tensor in &mut scalars.tensors {
        tensor.data.truncate(1);
        tensor.shape.clear();
    }
    let dumps = [none, empty, scalars, clean];
    for (i, reference) in dumps.iter().enumerate() {
        for (j, candidate) in dumps.iter().enumerate() {
            let agrees = diff(reference, candidate).agrees();
            assert_eq!(agrees, i == 3 && j == 3, "reference {i}, candidate {j}");
        }
    }
}
