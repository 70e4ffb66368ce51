//! Tests of the rules of the tensor engine in one file against central differences. Only the operations on this
//! list are tested, so add new ones here first.

#[allow(dead_code, unreachable_pub, reason = "the example uses the rest, without `pub(crate)`")]
#[path = "../examples/tensors/engine.rs"]
mod engine;

use engine::{Matrix, Tensor};
use ndarray::array;

/// A name, and an operation. It ends in a sum, because `backward` begins at a number.
type Listed = (&'static str, fn(&Tensor, &Tensor) -> Tensor);

const OPERATIONS: &[Listed] = &[
    ("add", |a, b| (&(a + b) * &(a + b)).sum()),
    ("sub", |a, b| (&(a - b) * &(a - b)).sum()),
    ("mul", |a, b| (a * b).sum()),
    ("matmul and t", |a, b| (&a.matmul(&b.t()) * &a.matmul(&b.t())).sum()),
    ("relu", |a, b| (&a.relu() * b).sum()),
    ("softplus", |a, b| (&a.softplus() * b).sum()),
    ("bce", engine::bce),
    ("squared_error", engine::squared_error),
    ("cross_entropy", |a, _| a.cross_entropy(&classes())),
];

fn classes() -> Tensor {
    Tensor::constant(array![[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
}

/// Two samples, and a row that broadcasting stretches to both samples.
fn operands() -> [Matrix; 2] {
    [array![[0.5, -1.5, 2.0], [-0.25, 1.0, 0.75]], array![[1.5, 0.5, -2.0]]]
}

#[test]
fn every_rule_agrees_with_central_differences() {
    const STEP: f32 = 1.0 / 64.0;
    for (name, operation) in OPERATIONS {
        let [a, b] = operands().map(Tensor::parameter);
        operation(&a, &b).backward();
        for (side, tensor) in [a, b].iter().enumerate() {
            let gradient = tensor.grad().unwrap_or_else(|| Matrix::zeros(tensor.value().dim()));
            for (index, is) in gradient.indexed_iter() {
                let value = |step| {
                    let mut moved = operands();
                    moved[side][index] += step;
                    let [a, b] = moved.map(Tensor::constant);
                    operation(&a, &b).value()[[0, 0]]
                };
                let slope = (value(STEP) - value(-STEP)) / (2.0 * STEP);
                assert!(
                    (is - slope).abs() < 1e-3 * (1.0 + slope.abs()),
                    "{name}, operand {side}, element {index:?}: the gradient is {is}, the slope {slope}"
                );
            }
        }
    }
}

#[test]
fn a_constant_gets_no_gradient_and_a_sum_over_two_uses_adds() {
    let (x, w) = (Tensor::constant(array![[3.0]]), Tensor::parameter(array![[2.0]]));
    (&(&w * &x) + &(&w * &w)).backward();
    assert_eq!((x.grad(), w.grad()), (None, Some(array![[7.0]])));
}
