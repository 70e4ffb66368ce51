//! Which operation makes each tensor, in the words of the kernels.

use tensor::{Loss, TensorName};

use crate::chain::fed;

/// How one tensor comes about.
pub(crate) struct Operation {
    /// Such as `dw1 = matmul_at_b(dz1, x)`.
    pub(crate) formula: String,
    /// What to call it: `that product`.
    pub(crate) noun: &'static str,
    /// The tensors that it reads.
    pub(crate) inputs: Vec<TensorName>,
}

/// The operation that makes this tensor in a network of `layers` layers, or `None` for what is
/// given to a training step.
pub(crate) fn operation(name: TensorName, layers: usize, loss: Option<Loss>) -> Option<Operation> {
    use TensorName::{A, B, BNext, Da, Db, Dw, Dz, P, W, WNext, X, Y, Z};
    let last = Z(layers);
    let (formula, noun, inputs) = match name {
        X | Y | W(_) | B(_) => return None,
        Z(l) => {
            let (a, w, b) = (fed(l), W(l), B(l));
            let formula = format!("{name} = add_bias(matmul_a_bt({a}, {w}), {b})");
            (formula, "that product or its bias", vec![a, w, b])
        }
        A(l) => (format!("{name} = relu({})", Z(l)), "that activation", vec![Z(l)]),
        P => {
            let formula = match loss {
                Some(Loss::CrossEntropy) => format!("p = softmax({last})"),
                Some(Loss::Bce) => format!("p = sigmoid({last})"),
                Some(Loss::SquaredError) => format!("p = {last}"),
                None => format!("p = softmax({last}), sigmoid({last}) or {last} itself"),
            };
            (formula, "that function", vec![last])
        }
        TensorName::Loss => {
            let function = match loss {
                Some(Loss::CrossEntropy) => "cross_entropy",
                Some(Loss::Bce) => "bce",
                Some(Loss::SquaredError) => "squared_error",
                None => "the loss",
            };
            (format!("loss = {function}({last}, y)"), "that function", vec![last, Y])
        }
        Dz(l) if l == layers => {
            let formula = format!("{name} = output_gradient(p, y) = (p - y) / B");
            (formula, "that operation", vec![P, Y])
        }
        Dz(l) => {
            let (da, z) = (Da(l), Z(l));
            (format!("{name} = relu_backward({da}, {z})"), "that operation", vec![da, z])
        }
        Dw(l) => {
            let (dz, a) = (Dz(l), fed(l));
            (format!("{name} = matmul_at_b({dz}, {a})"), "that product", vec![dz, a])
        }
        Db(l) => (format!("{name} = sum_batch({})", Dz(l)), "that sum", vec![Dz(l)]),
        Da(l) => {
            let (dz, w) = (Dz(l + 1), W(l + 1));
            (format!("{name} = matmul_a_b({dz}, {w})"), "that product", vec![dz, w])
        }
        WNext(l) | BNext(l) => {
            let (w, dw) = if matches!(name, WNext(_)) { (W(l), Dw(l)) } else { (B(l), Db(l)) };
            (format!("{name} = update({w}, {dw}) = {w} - lr * {dw}"), "that update", vec![w, dw])
        }
    };
    Some(Operation { formula, noun, inputs })
}
