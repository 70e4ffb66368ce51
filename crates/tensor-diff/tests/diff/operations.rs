//! Tests with tensors that a wrong operation makes from right operands.

use tensor::{Dump, Loss, TensorName};
use tensor_diff::PatternKind;

use crate::support::faults::{first, kind, starts, text};
use crate::support::{Start, data, diff, explain};

/// A gradient that is too large or too small by a factor of B; B = C = 10 is ambiguous.
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
                // As with a real mistake, all tensors that are made of a wrong gradient are wrong
                // too.
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

/// Replaces a tensor by the result of a wrong operation, and returns the explanation.
pub(crate) fn wrong_operation(
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
