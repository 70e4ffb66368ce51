//! A tensor engine in one file: reverse-mode differentiation on matrices, and a network on it.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::ops::{Add, Mul, Sub};
use std::rc::Rc;

use ndarray::{Array2, Axis};

// ANCHOR: node
/// A matrix of single-precision numbers.
pub type Matrix = Array2<f32>;

/// A matrix, and the operation that computed it. A clone is the same matrix.
#[derive(Clone)]
pub struct Tensor(Rc<Node>);

struct Node {
    age: usize,
    value: Matrix,
    needs_grad: bool,
    grad: RefCell<Option<Matrix>>,
    operands: Vec<(Tensor, Rule)>,
}

/// Computes the gradient of one operand from the gradient of the result.
type Rule = Box<dyn Fn(&Matrix) -> Matrix>;

impl Tensor {
    /// A matrix that gets no gradient: the images, the targets, a factor.
    pub fn constant(value: Matrix) -> Self {
        Self::node(value, false, Vec::new())
    }

    /// A number, as a matrix that broadcasts to any shape.
    pub fn number(value: f32) -> Self {
        Self::constant(Matrix::from_elem((1, 1), value))
    }

    /// A matrix whose gradient is wanted: weights or biases.
    pub fn parameter(value: Matrix) -> Self {
        Self::node(value, true, Vec::new())
    }

    /// The result of an operation. An operand that needs no gradient is not recorded.
    fn result<const N: usize>(value: Matrix, operands: [(&Tensor, Rule); N]) -> Self {
        let needed = operands.into_iter().filter(|(operand, _)| operand.0.needs_grad);
        let operands: Vec<_> = needed.map(|(operand, rule)| (operand.clone(), rule)).collect();
        Self::node(value, !operands.is_empty(), operands)
    }

    fn node(value: Matrix, needs_grad: bool, operands: Vec<(Tensor, Rule)>) -> Self {
        let age = operands.iter().map(|(operand, _)| operand.0.age + 1).max().unwrap_or(0);
        Self(Rc::new(Node { age, value, needs_grad, grad: RefCell::new(None), operands }))
    }

    /// The matrix itself.
    pub fn value(&self) -> &Matrix {
        &self.0.value
    }

    /// The gradient of the last `backward`; `None` before it.
    pub fn grad(&self) -> Option<Matrix> {
        self.0.grad.borrow().clone()
    }
}
// ANCHOR_END: node

// ANCHOR: pairs
/// Like NumPy, `ndarray` stretches an axis of length 1 to the length of the other operand's axis.
impl Add for &Tensor {
    type Output = Tensor;

    fn add(self, other: &Tensor) -> Tensor {
        let value = self.value() + other.value();
        Tensor::result(value, [(self, Box::new(Matrix::clone)), (other, Box::new(Matrix::clone))])
    }
}

impl Sub for &Tensor {
    type Output = Tensor;

    fn sub(self, other: &Tensor) -> Tensor {
        let value = self.value() - other.value();
        Tensor::result(value, [(self, Box::new(Matrix::clone)), (other, Box::new(|dy| -dy))])
    }
}

impl Mul for &Tensor {
    type Output = Tensor;

    fn mul(self, other: &Tensor) -> Tensor {
        let (a, b) = (self.clone(), other.clone());
        Tensor::result(
            self.value() * other.value(),
            [
                (self, Box::new(move |dy| dy * b.value())),
                (other, Box::new(move |dy| dy * a.value())),
            ],
        )
    }
}
// ANCHOR_END: pairs

// ANCHOR: operations
impl Tensor {
    /// The matrix product `[m, k]` times `[k, n]`.
    pub fn matmul(&self, other: &Tensor) -> Tensor {
        let (a, b) = (self.clone(), other.clone());
        let da: Rule = Box::new(move |dy| dy.dot(&b.value().t()));
        let db: Rule = Box::new(move |dy| a.value().t().dot(dy));
        Tensor::result(self.value().dot(other.value()), [(self, da), (other, db)])
    }

    /// The transposed matrix.
    pub fn t(&self) -> Tensor {
        Tensor::result(self.value().t().to_owned(), [(self, Box::new(|dy| dy.t().to_owned()))])
    }

    /// A function of each element, with its slope.
    fn map(&self, function: fn(f32) -> f32, slope: fn(f32) -> f32) -> Tensor {
        let x = self.clone();
        let rule: Rule = Box::new(move |dy| dy * &x.value().mapv(slope));
        Tensor::result(self.value().mapv(function), [(self, rule)])
    }

    /// Each element, or 0 if it is negative; NaN stays NaN.
    pub fn relu(&self) -> Tensor {
        self.map(|x| if x < 0.0 { 0.0 } else { x }, |x| f32::from(x > 0.0))
    }

    /// `ln(1 + eˣ)`, whose slope is the sigmoid; written so that no exponential overflows.
    pub fn softplus(&self) -> Tensor {
        self.map(|x| x.max(0.0) + libm::log1pf(libm::expf(-x.abs())), sigmoid)
    }

    /// The sum of all elements, `[1, 1]`.
    pub fn sum(&self) -> Tensor {
        let shape = self.value().dim();
        let rule: Rule = Box::new(move |dy| Matrix::from_elem(shape, dy[[0, 0]]));
        Tensor::result(Matrix::from_elem((1, 1), self.value().sum()), [(self, rule)])
    }

    /// `−Σ y·ln softmax(z)` over all elements, for logits `z` in rows; each row of `y` sums to 1.
    pub fn cross_entropy(&self, y: &Tensor) -> Tensor {
        let (p, ln_p) = softmax(self.value());
        let loss = -(y.value() * &ln_p).sum();
        let y = y.clone();
        let rule: Rule = Box::new(move |dy| (&p - y.value()) * dy[[0, 0]]);
        Tensor::result(Matrix::from_elem((1, 1), loss), [(self, rule)])
    }
}

/// `1 / (1 + e⁻ˣ)`.
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + libm::expf(-x))
}

/// The softmax of each row, and its logarithm.
pub fn softmax(z: &Matrix) -> (Matrix, Matrix) {
    let largest = z.fold_axis(Axis(1), f32::NEG_INFINITY, |a, b| a.max(*b)).insert_axis(Axis(1));
    let z = z - &largest;
    let exponentials = z.mapv(libm::expf);
    let sums = exponentials.sum_axis(Axis(1)).insert_axis(Axis(1));
    (exponentials / &sums, z - sums.mapv(libm::logf))
}
// ANCHOR_END: operations

// ANCHOR: backward
impl Tensor {
    /// Adds to the gradients of all matrices that this number, `[1, 1]`, was computed from.
    pub fn backward(&self) {
        let mut found: Vec<Tensor> = vec![self.clone()];
        let mut looked_at = 0;
        while let Some(tensor) = found.get(looked_at).cloned() {
            for (operand, _) in &tensor.0.operands {
                if !found.iter().any(|other| Rc::ptr_eq(&other.0, &operand.0)) {
                    found.push(operand.clone());
                }
            }
            looked_at += 1;
        }
        found.sort_by_key(|tensor| Reverse(tensor.0.age));
        self.add_grad(Matrix::ones((1, 1)));
        for tensor in &found {
            let Some(dy) = tensor.grad() else { continue };
            for (operand, rule) in &tensor.0.operands {
                operand.add_grad(rule(&dy));
            }
        }
    }

    /// Adds to the gradient. An axis that an operation stretched is summed up first.
    fn add_grad(&self, mut share: Matrix) {
        for (axis, &length) in self.value().shape().iter().enumerate() {
            if length == 1 {
                share = share.sum_axis(Axis(axis)).insert_axis(Axis(axis));
            }
        }
        let mut grad = self.0.grad.borrow_mut();
        *grad = Some(match grad.take() {
            Some(sum) => sum + share,
            None => share,
        });
    }
}
// ANCHOR_END: backward

// ANCHOR: network
/// Layers with ReLU between them; each has its weights `[n, m]` and its biases `[1, n]`.
pub struct Mlp {
    pub layers: Vec<(Tensor, Tensor)>,
}

impl Mlp {
    /// `z` of every layer, for the samples `x [B, m]`, and `relu(z)` of every layer but the last.
    pub fn forward(&self, x: &Tensor) -> (Vec<Tensor>, Vec<Tensor>) {
        let (mut z, mut a) = (Vec::new(), Vec::new());
        for (w, b) in &self.layers {
            if let Some(z) = z.last() {
                a.push(Tensor::relu(z));
            }
            z.push(&a.last().unwrap_or(x).matmul(&w.t()) + b);
        }
        (z, a)
    }

    /// Replaces each parameter `w` by `w − learning_rate · dw`, which has no gradient yet.
    pub fn update(&mut self, learning_rate: f32) {
        let stepped = |old: &Tensor| match old.grad() {
            Some(grad) => Tensor::parameter(old.value() - learning_rate * grad),
            None => old.clone(),
        };
        for (w, b) in &mut self.layers {
            (*w, *b) = (stepped(w), stepped(b));
        }
    }
}

/// Binary cross-entropy of the logits `z`, summed over the batch and the classes.
pub fn bce(z: &Tensor, y: &Tensor) -> Tensor {
    (&z.softplus() - &(z * y)).sum()
}

/// Half of the squared error, summed over the batch and the classes.
pub fn squared_error(z: &Tensor, y: &Tensor) -> Tensor {
    let error = z - y;
    &(&error * &error).sum() * &Tensor::number(0.5)
}
// ANCHOR_END: network
