//! Tests of every operation against committed values and gradients of PyTorch, which
//! `reference/autograd_values.py` writes.

use std::collections::BTreeSet;

use crate::operations::{OPERATIONS, Values, apply, cases, weighted};
use autograd::Tensor;

/// Equal up to a few units in the last place, because two libraries add in different orders.
#[track_caller]
fn assert_same(operation: &str, found: (&[usize], Vec<f64>), expected: &Values) {
    assert_eq!(found.0, expected.shape, "{operation}");
    let largest = expected.data.iter().fold(1e-300_f64, |m, v| m.max(v.abs()));
    for (a, b) in found.1.iter().zip(&expected.data) {
        assert!((a - b).abs() <= 1e-14 * largest, "{operation}: {:?}, {expected:?}", found.1);
    }
}

#[test]
fn values_and_gradients_agree_with_pytorch() {
    for case in cases() {
        let name = case.operation.as_str();
        let x: Vec<Tensor<f64>> = case.inputs.iter().map(|x| x.tensor().requires_grad()).collect();
        let y = apply(name, &case.arguments, &x).value().unwrap();
        assert_same(name, (y.shape(), y.to_vec().unwrap()), &case.output);
        weighted(name, &case.arguments, &x, &case.upstream).backward().unwrap();
        for (x, expected) in x.iter().zip(&case.gradients) {
            let gradient = x.grad().unwrap().unwrap();
            assert_same(name, (gradient.shape(), gradient.to_vec().unwrap()), expected);
        }
    }
}

#[test]
fn every_operation_has_a_case() {
    let cases = cases();
    let found: BTreeSet<&str> = cases.iter().map(|case| case.operation.as_str()).collect();
    assert_eq!(found, OPERATIONS.iter().copied().collect());
}
