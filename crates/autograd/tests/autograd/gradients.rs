//! Tests of every gradient rule against central differences in double precision, with random shapes
//! that have to be broadcast, and with views.

use crate::operations::{OPERATIONS, Values, apply, weighted};
use autograd::Tensor;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

#[derive(Clone, Debug)]
struct Case {
    arguments: Vec<f64>,
    inputs: Vec<Values>,
}

/// A shape with a number of axes in this range, all of them short.
fn shape(axes: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1..=4_usize, axes)
}

/// Numbers of either sign, not close to 0, where `relu` has a kink and `div` a pole.
fn number() -> impl Strategy<Value = f64> {
    (0.2..2.0_f64, any::<bool>()).prop_map(|(x, negative)| if negative { -x } else { x })
}

fn values(shape: &[usize]) -> BoxedStrategy<Values> {
    filled(shape, number().boxed())
}

fn positive(shape: &[usize]) -> BoxedStrategy<Values> {
    filled(shape, (0.2..2.0).boxed())
}

fn filled(shape: &[usize], number: BoxedStrategy<f64>) -> BoxedStrategy<Values> {
    let shape = shape.to_vec();
    let count = shape.iter().product::<usize>();
    prop::collection::vec(number, count)
        .prop_map(move |data| Values { shape: shape.clone(), data })
        .boxed()
}

/// Numbers that are far apart, so that a small step doesn't change which one is the largest.
fn distinct(shape: &[usize]) -> BoxedStrategy<Values> {
    let shape = shape.to_vec();
    let count = shape.iter().product::<usize>();
    let grid: Vec<f64> = (0..count).map(|i| 0.1 * i as f64 - 1.0).collect();
    Just(grid).prop_shuffle().prop_map(move |data| Values { shape: shape.clone(), data }).boxed()
}

/// A shape that broadcasts to another: leading axes dropped, some of the others made 1.
fn smaller(shape: Vec<usize>) -> impl Strategy<Value = Vec<usize>> {
    let axes = shape.len();
    (0..=axes, prop::collection::vec(any::<bool>(), axes)).prop_map(move |(dropped, ones)| {
        let lengths = shape.iter().zip(ones).skip(dropped);
        lengths.map(|(&length, one)| if one { 1 } else { length }).collect()
    })
}

fn with_axis(values: fn(&[usize]) -> BoxedStrategy<Values>) -> BoxedStrategy<Case> {
    shape(1..=3)
        .prop_flat_map(move |shape| (0..shape.len(), values(&shape)))
        .prop_map(|(axis, x)| Case { arguments: vec![axis as f64], inputs: vec![x] })
        .boxed()
}

fn case(operation: &str) -> BoxedStrategy<Case> {
    let one = |x: BoxedStrategy<Values>| {
        x.prop_map(|x| Case { arguments: vec![], inputs: vec![x] }).boxed()
    };
    let with_number = |x: BoxedStrategy<Values>| {
        (x, number()).prop_map(|(x, n)| Case { arguments: vec![n], inputs: vec![x] }).boxed()
    };
    match operation {
        "add" | "sub" | "mul" | "div" => shape(0..=3)
            .prop_flat_map(|shape| (smaller(shape.clone()), smaller(shape)))
            .prop_flat_map(|(a, b)| (values(&a), values(&b)))
            .prop_map(|(a, b)| Case { arguments: vec![], inputs: vec![a, b] })
            .boxed(),
        "log" => one(shape(0..=3).prop_flat_map(|s| positive(&s)).boxed()),
        "pow" => with_number(shape(0..=3).prop_flat_map(|s| positive(&s)).boxed()),
        "scale" | "shift" | "number_sub" | "number_div" => {
            with_number(shape(0..=3).prop_flat_map(|s| values(&s)).boxed())
        }
        "sum_axis" | "mean_axis" => with_axis(values),
        "max_axis" => with_axis(distinct),
        "max" => one(shape(0..=3).prop_flat_map(|s| distinct(&s)).boxed()),
        "matmul" => (1..=4_usize, 1..=4_usize, 1..=4_usize)
            .prop_flat_map(|(m, k, n)| (values(&[m, k]), values(&[k, n])))
            .prop_map(|(a, b)| Case { arguments: vec![], inputs: vec![a, b] })
            .boxed(),
        "transpose" => one(shape(2..=4).prop_flat_map(|s| values(&s)).boxed()),
        "reshape" => shape(0..=3)
            .prop_flat_map(|shape| (Just(shape.clone()).prop_shuffle(), values(&shape)))
            .prop_map(|(new, x)| Case { arguments: floats(&new), inputs: vec![x] })
            .boxed(),
        "broadcast_to" => shape(0..=3)
            .prop_flat_map(|shape| (Just(shape.clone()), smaller(shape)))
            .prop_flat_map(|(shape, small)| (Just(shape), values(&small)))
            .prop_map(|(shape, x)| Case { arguments: floats(&shape), inputs: vec![x] })
            .boxed(),
        "slice" => shape(1..=3)
            .prop_flat_map(|shape| (0..shape.len(), values(&shape)))
            .prop_flat_map(|(axis, x)| {
                let length = x.shape[axis];
                (Just(axis), 0..=length, 0..=length, Just(x))
            })
            .prop_map(|(axis, a, b, x)| Case {
                arguments: floats(&[axis, a.min(b), a.max(b)]),
                inputs: vec![x],
            })
            .boxed(),
        "index" => shape(1..=3)
            .prop_flat_map(|shape| (prop::collection::vec(0..shape[0], 1..=5), values(&shape)))
            .prop_map(|(rows, x)| Case { arguments: floats(&rows), inputs: vec![x] })
            .boxed(),
        "concat" => (shape(1..=3), prop::collection::vec(1..=3_usize, 1..=3))
            .prop_flat_map(|(shape, lengths)| (0..shape.len(), Just(shape), Just(lengths)))
            .prop_flat_map(|(axis, shape, lengths)| {
                let part = |length: usize| {
                    let mut shape = shape.clone();
                    shape[axis] = length;
                    values(&shape)
                };
                (Just(axis), lengths.into_iter().map(part).collect::<Vec<_>>())
            })
            .prop_map(|(axis, inputs)| Case { arguments: vec![axis as f64], inputs })
            .boxed(),
        "softmax" | "log_softmax" => one(shape(1..=3).prop_flat_map(|s| values(&s)).boxed()),
        "cross_entropy" | "bce" | "squared_error" => shape(2..=2)
            .prop_flat_map(|shape| (values(&shape), positive(&shape)))
            .prop_map(|(z, y)| Case { arguments: vec![], inputs: vec![z, y] })
            .boxed(),
        _ => one(shape(0..=3).prop_flat_map(|s| values(&s)).boxed()),
    }
}

fn floats(counts: &[usize]) -> Vec<f64> {
    counts.iter().map(|&n| n as f64).collect()
}

/// `(f(x + h) − f(x − h)) / 2h` for each element of each input.
fn slopes(inputs: &[Values], f: impl Fn(&[Tensor<f64>]) -> f64) -> Vec<Vec<f64>> {
    let h = 1e-5;
    let at = |i: usize, k: usize, step: f64| {
        let mut moved = inputs.to_vec();
        moved[i].data[k] += step;
        f(&moved.iter().map(Values::tensor).collect::<Vec<_>>())
    };
    (0..inputs.len())
        .map(|i| {
            (0..inputs[i].data.len()).map(|k| (at(i, k, h) - at(i, k, -h)) / (2.0 * h)).collect()
        })
        .collect()
}

/// The gradients that the engine computes.
fn gradients(inputs: &[Values], f: impl Fn(&[Tensor<f64>]) -> Tensor<f64>) -> Vec<Vec<f64>> {
    let x: Vec<Tensor<f64>> = inputs.iter().map(|x| x.tensor().requires_grad()).collect();
    f(&x).backward().unwrap();
    let gradient = |x: &Tensor<f64>| {
        let gradient = x.grad().unwrap().unwrap();
        assert_eq!(gradient.shape(), x.shape().unwrap());
        gradient.to_vec().unwrap()
    };
    x.iter().map(gradient).collect()
}

fn agree(found: &[Vec<f64>], measured: &[Vec<f64>]) -> Result<(), TestCaseError> {
    for (found, measured) in found.iter().zip(measured) {
        let largest = measured.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
        for (a, b) in found.iter().zip(measured) {
            // Written so that NaN fails.
            prop_assert!((a - b).abs() <= 1e-7 * largest, "{found:?} is not {measured:?}");
        }
    }
    Ok(())
}

fn runner() -> TestRunner {
    TestRunner::new(Config { cases: 64, failure_persistence: None, ..Config::default() })
}

#[test]
fn every_gradient_agrees_with_central_differences() {
    for operation in OPERATIONS {
        let mut runner = runner();
        let outcome = runner.run(&case(operation), |case| {
            let tensors: Vec<_> = case.inputs.iter().map(Values::tensor).collect();
            let shape = apply(operation, &case.arguments, &tensors).shape().unwrap();
            // Different weights, so that every element of the result has a different influence.
            let weight = |i: usize| 0.7 + 0.3 * (i as f64 * 1.7).sin();
            let data = (0..shape.iter().product()).map(weight).collect();
            let weights = Values { shape, data };
            let f = |x: &[Tensor<f64>]| weighted(operation, &case.arguments, x, &weights);
            let measured = slopes(&case.inputs, |x| f(x).item().unwrap());
            agree(&gradients(&case.inputs, f), &measured)
        });
        if let Err(error) = outcome {
            panic!("{operation}: {error}");
        }
    }
}

/// Results computed from views, and from views of views, have the right gradients.
#[test]
fn gradients_flow_through_views() {
    let mut runner = runner();
    let strategy = (2..=4_usize, 2..=4_usize, 1..=3_usize)
        .prop_flat_map(|(m, n, k)| (values(&[m, n]), values(&[m, k]), Just(n)));
    runner
        .run(&strategy, |(x, w, n)| {
            let f = |t: &[Tensor<f64>]| {
                let view = t[0].transpose().slice(0, 1..n).broadcast_to([2, n - 1, x.shape[0]]);
                let product = view.slice(0, 1..2).reshape([n - 1, x.shape[0]]).matmul(&t[1]);
                (product.transpose().tanh() * product.transpose()).sum() + t[0].transpose().mean()
            };
            let inputs = [x.clone(), w];
            agree(&gradients(&inputs, f), &slopes(&inputs, |t| f(t).item().unwrap()))
        })
        .unwrap();
}

/// A wrong rule fails the comparison, so the tests above can fail.
#[test]
fn a_wrong_rule_is_detected() {
    let x = Values { shape: vec![3], data: vec![0.5, -1.0, 2.0] };
    let right = slopes(std::slice::from_ref(&x), |x| x[0].tanh().sum().item().unwrap());
    let wrong = gradients(&[x], |x| x[0].sigmoid().sum());
    assert!(agree(&wrong, &right).is_err());
}
