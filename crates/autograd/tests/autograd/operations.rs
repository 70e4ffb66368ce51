//! A list of all operations by name, for tests that go through all of them.

use autograd::{Element, Tensor, loss};

/// The shape and the elements of a tensor.
#[derive(Clone, Debug, serde::Deserialize)]
pub(crate) struct Values {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<f64>,
}

impl Values {
    pub(crate) fn tensor(&self) -> Tensor<f64> {
        Tensor::new(&self.shape, self.data.clone())
    }
}

/// An operation with its result and gradients in PyTorch.
#[derive(serde::Deserialize)]
pub(crate) struct Case {
    pub(crate) operation: String,
    pub(crate) arguments: Vec<f64>,
    pub(crate) inputs: Vec<Values>,
    pub(crate) output: Values,
    pub(crate) upstream: Values,
    pub(crate) gradients: Vec<Values>,
}

/// The cases of `reference/autograd_values.json`.
pub(crate) fn cases() -> Vec<Case> {
    #[derive(serde::Deserialize)]
    struct File {
        cases: Vec<Case>,
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reference/autograd_values.json");
    let file: File = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    file.cases
}

/// Defines [`apply`] and [`OPERATIONS`] from one list of names and calls. `x` are the operands; `number` and `count` return
/// an argument that isn't a tensor, and `counts` all of them.
macro_rules! operations {
    (|$x:ident, $number:ident, $count:ident, $counts:ident| $($name:literal => $result:expr,)*) => {
        /// All names that [`apply`] supports.
        pub(crate) const OPERATIONS: &[&str] = &[$($name),*];

        /// Applies the operation of that name; `arguments` are its arguments that aren't tensors.
        pub(crate) fn apply<T: Element>(
            operation: &str,
            arguments: &[f64],
            $x: &[Tensor<T>],
        ) -> Tensor<T> {
            let $number = |i: usize| T::from_f64(arguments[i]);
            let $count = |i: usize| arguments[i] as usize;
            let $counts = || arguments.iter().map(|&n| n as usize).collect::<Vec<_>>();
            match operation {
                $($name => $result,)*
                _ => panic!("there is no operation {operation}"),
            }
        }
    };
}

operations! { |x, number, count, counts|
    "add" => &x[0] + &x[1],
    "sub" => &x[0] - &x[1],
    "mul" => &x[0] * &x[1],
    "div" => &x[0] / &x[1],
    "neg" => -&x[0],
    "exp" => x[0].exp(),
    "log" => x[0].log(),
    "relu" => x[0].relu(),
    "tanh" => x[0].tanh(),
    "sigmoid" => x[0].sigmoid(),
    "softplus" => x[0].softplus(),
    "pow" => x[0].pow(number(0)),
    "scale" => &x[0] * number(0),
    "shift" => &x[0] + number(0),
    "number_sub" => -(&x[0] - number(0)),
    "number_div" => x[0].pow(-T::one()) * number(0),
    "sum" => x[0].sum(),
    "sum_axis" => x[0].sum_axis(count(0)),
    "mean" => x[0].mean(),
    "mean_axis" => x[0].mean_axis(count(0)),
    "max" => x[0].max(),
    "max_axis" => x[0].max_axis(count(0)),
    "matmul" => x[0].matmul(&x[1]),
    "transpose" => x[0].transpose(),
    "reshape" => x[0].reshape(counts()),
    "broadcast_to" => x[0].broadcast_to(counts()),
    "slice" => x[0].slice(count(0), count(1)..count(2)),
    "index" => x[0].index(&counts()),
    "concat" => Tensor::concat(&x.iter().collect::<Vec<_>>(), count(0)),
    "softmax" => x[0].softmax(),
    "log_softmax" => x[0].log_softmax(),
    "cross_entropy" => loss::cross_entropy(&x[0], &x[1]),
    "bce" => loss::bce(&x[0], &x[1]),
    "squared_error" => loss::squared_error(&x[0], &x[1]),
}

/// `Σ weights·operation(x)`: a single number that depends on every element of the result.
pub(crate) fn weighted(
    operation: &str,
    arguments: &[f64],
    x: &[Tensor<f64>],
    weights: &Values,
) -> Tensor<f64> {
    (apply(operation, arguments, x) * weights.tensor()).sum()
}
