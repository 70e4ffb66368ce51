//! The operations of a training step, a row each: the inputs, the rule for an element, its error, and the names
//! of its indices.

use tensor::{Loss, TensorName};

use super::fed;
use crate::judge::rounding::Rounding;

/// The operation that makes one tensor.
pub(crate) struct Operation {
    /// The operation as a formula, such as `dw1 = matmul_at_b(dz1, x)`.
    pub(crate) formula: String,
    /// A noun phrase for the operation, such as `that product`.
    pub(crate) noun: &'static str,
    /// The names of the tensors that it reads.
    pub(crate) inputs: Vec<TensorName>,
    /// The rule for an element.
    pub(crate) rule: Rule,
    /// The names of an element's row and column, and of a sum's terms.
    pub(crate) axes: [&'static str; 3],
}

/// The rule by which an operation makes an element from its inputs' elements.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// A sum of products.
    Sum(Sum),
    /// A function of the same element of each input.
    Elementwise(Elementwise),
    /// The output function of a row of the last `z`.
    Output,
    /// The loss, a function of the whole last `z` and of `y`.
    Loss,
}

/// The index that moves along an axis of an operand: the result's row or column, or the number of a sum's term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    Row,
    Column,
    Term,
    Nothing,
}

/// `out[row, column] = bias[column] + Σ_term left · right`.
#[derive(Clone, Copy)]
pub(crate) struct Sum {
    /// The axes that index the rows and the columns of the first input.
    pub(crate) left: [Axis; 2],
    /// The axes that index the rows and the columns of the second input; without one, every term is multiplied by 1.
    pub(crate) right: Option<[Axis; 2]>,
    /// Whether the last input is a bias.
    pub(crate) biased: bool,
    /// The noun of the terms, in the plural.
    pub(crate) over: &'static str,
}

/// The numbers of a step that its elementwise operations use.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) batch: f64,
    pub(crate) rate: f64,
}

/// Recovers an input's element from the elements of all inputs and of the result.
type Undo = fn(&[f64], f64, Settings) -> f64;

/// A function of an element of each input.
#[derive(Clone, Copy)]
pub(crate) struct Elementwise {
    /// The two summands of the result: one that an operation only adds, and the rest.
    pub(crate) of: fn(&[f64], Settings) -> (f64, f64),
    /// The bound of the result's error, from each input's value and error.
    pub(crate) error: fn(&[(f64, f64)], Settings, &Rounding) -> f64,
    /// For an input that a fused kernel may not store: its index, and a function that recovers its element from
    /// the inputs and the result; NaN if the result has no trace of it.
    pub(crate) undo: Option<(usize, Undo)>,
}

/// The element of each input at the same place; 0 for a second input that the operation doesn't have.
pub(crate) fn element(inputs: &[&[f64]], i: usize) -> [f64; 2] {
    [inputs[0][i], inputs.get(1).map_or(0.0, |second| second[i])]
}

/// The number of roundings that the factor 1/B adds to a term. Levels apply the factor to each `dz`, or to the sums of
/// unscaled `dz`. They divide, or multiply by a rounded reciprocal, which may itself be a product.
const SCALING: usize = 4;

/// The minimum number of roundings that is assumed for a term of a sum with a bias. Single precision from tensor cores,
/// with three TF32 numbers for each factor, takes more than one rounding for each term of a short sum; the module
/// `rounding` derives the number.
const FEW_TERMS: usize = 13;

impl Sum {
    /// The number of roundings that a term takes part in, in a sum of `terms` terms.
    pub(crate) fn roundings(self, terms: usize) -> usize {
        // z = a_prev · wᵀ + b: K products and K additions, so no term is rounded more than K + 1 times. Sums of few
        // terms may need more.
        if self.biased { (terms + 1).max(FEW_TERMS) } else { terms + SCALING }
    }

    /// The relative error of each term, in a sum of `terms` terms.
    pub(crate) fn relative(self, terms: usize, rounding: &Rounding) -> f64 {
        let steps = self.roundings(terms);
        // Without a second factor, nothing is multiplied.
        if self.right.is_some() { rounding.product(steps) } else { rounding.gamma(steps) }
    }
}

/// ReLU keeps distances, unless all or a part of the interval z ± d is below 0. ReLU rounds nothing, but the
/// computation of z + d here does, so the bound is widened by a few units in the last place.
const RELU: Elementwise = Elementwise {
    // A comparison with NaN is false: it stays.
    of: |v, _| (0.0, if v[0] <= 0.0 { 0.0 } else { v[0] }),
    error: |v, _, _| {
        let (z, d) = v[0];
        let reached = z + d + 2.0 * f64::EPSILON * (z.abs() + d);
        if reached < 0.0 { 0.0 } else { reached.min(d) }
    },
    undo: Some((0, |_, seen, _| if seen == 0.0 { f64::NAN } else { seen })),
};

/// dz = da where z > 0 and 0 elsewhere. If z is within its own bound of the kink, it may be on the other side, so
/// that all of da appears or disappears. A z that is exactly 0 and has no error may not.
const MASK: Elementwise = Elementwise {
    of: |v, _| (0.0, if v[1] > 0.0 { v[0] } else { 0.0 }),
    error: |v, _, _| {
        let [(da, da_error), (z, z_error)] = [v[0], v[1]];
        match () {
            () if z > z_error => da_error,
            () if z <= -z_error => 0.0,
            () => da.abs() + da_error,
        }
    },
    undo: Some((0, |v, seen, _| if v[1] <= 0.0 { f64::NAN } else { seen })),
};

/// dz = (p − y) / B
const OUTPUT_GRADIENT: Elementwise = Elementwise {
    of: |v, step| (0.0, (v[0] - v[1]) / step.batch),
    error: |v, step, rounding| {
        let ((p, d), (y, _)) = (v[0], v[1]);
        (d + rounding.gamma(1 + SCALING) * ((p - y).abs() + d)) / step.batch + rounding.tiny()
    },
    undo: Some((0, |v, seen, step| seen * step.batch + v[1])),
};

/// `w − lr·dw`: the product is rounded (a factor that is folded into the learning rate makes two of it), and the
/// difference once more.
const UPDATE: Elementwise = Elementwise {
    of: |v, step| (v[0], -step.rate * v[1]),
    error: |v, Settings { rate, .. }, rounding| {
        let ((w, apart), (dw, d)) = (v[0], v[1]);
        let step = apart + rate.abs() * (d + rounding.gamma(1 + SCALING) * (dw.abs() + d));
        step + rounding.gamma(1) * ((w - rate * dw).abs() + step) + rounding.tiny()
    },
    undo: Some((1, |v, seen, step| (v[0] - seen) / step.rate)),
};

/// The operation that makes this tensor in a network of `layers` layers; `None` for the tensors that are
/// given to a training step.
pub(crate) fn operation(name: TensorName, layers: usize, loss: Option<Loss>) -> Option<Operation> {
    use Axis::{Column, Row, Term};
    use Rule::{Elementwise, Output};
    use TensorName::{A, B, BNext, Da, Db, Dw, Dz, P, W, WNext, X, Y, Z};
    let last = Z(layers);
    let unit = ["the sample", "the unit", "the term"];
    let class = ["the sample", "the class", "the term"];
    let sum = |left, right, biased, over| Rule::Sum(Sum { left, right, biased, over });
    let (function, noun, inputs, rule, axes) = match name {
        X | Y | W(_) | B(_) => return None,
        Z(l) => (
            "add_bias(matmul_a_bt",
            "that product or its bias",
            vec![fed(l), W(l), B(l)],
            sum([Row, Term], Some([Column, Term]), true, "inputs"),
            ["the sample", "the unit", "the input"],
        ),
        A(l) => ("relu", "that activation", vec![Z(l)], Elementwise(RELU), unit),
        P => match loss {
            Some(Loss::CrossEntropy) => ("softmax", "that function", vec![last], Output, class),
            _ => ("sigmoid", "that function", vec![last], Output, unit),
        },
        TensorName::Loss => {
            let function = loss.map_or("the loss", Loss::name);
            (function, "that function", vec![last, Y], Rule::Loss, class)
        }
        Dz(l) if l == layers => {
            let rule = Elementwise(OUTPUT_GRADIENT);
            ("output_gradient", "that operation", vec![P, Y], rule, class)
        }
        Dz(l) => {
            let rule = Elementwise(MASK);
            ("relu_backward", "that operation", vec![Da(l), Z(l)], rule, unit)
        }
        // ANCHOR: row
        Dw(l) => (
            "matmul_at_b",
            "that product",
            vec![Dz(l), fed(l)],
            sum([Term, Row], Some([Term, Column]), false, "samples"),
            ["the unit", "the input", "the sample"],
        ),
        // ANCHOR_END: row
        Db(l) => (
            "sum_batch",
            "that sum",
            vec![Dz(l)],
            sum([Term, Column], None, false, "samples"),
            ["nothing", "the unit", "the sample"],
        ),
        Da(l) => (
            "matmul_a_b",
            "that product",
            vec![Dz(l + 1), W(l + 1)],
            sum([Row, Term], Some([Term, Column]), false, "units"),
            ["the sample", "the unit", "the next layer's unit"],
        ),
        WNext(_) | BNext(_) => {
            let (w, dw) = updated_from(name)?;
            let axes = ["the unit", "the input", "the term"];
            ("update", "that update", vec![w, dw], Elementwise(UPDATE), axes)
        }
    };
    let listed: Vec<String> = inputs.iter().map(ToString::to_string).collect();
    let function = function.replace('-', "_");
    let call = format!("{name} = {function}({})", listed.join(", "));
    let formula = match (name, &listed[..], loss) {
        (Z(_), [a, w, b], _) => format!("{name} = {function}({a}, {w}), {b})"),
        (P, [z], Some(Loss::SquaredError)) => format!("{name} = {z}"),
        (P, [z], None) => format!("{name} = softmax({z}), sigmoid({z}) or {z} itself"),
        (Dz(l), ..) if l == layers => format!("{call} = (p - y) / B"),
        (WNext(_) | BNext(_), [w, dw], _) => format!("{call} = {w} - lr * {dw}"),
        _ => call,
    };
    Some(Operation { formula, noun, inputs, rule, axes })
}

/// The parameter before the step and its gradient, for a parameter after it.
pub(crate) const fn updated_from(name: TensorName) -> Option<(TensorName, TensorName)> {
    match name {
        TensorName::WNext(layer) => Some((TensorName::W(layer), TensorName::Dw(layer))),
        TensorName::BNext(layer) => Some((TensorName::B(layer), TensorName::Db(layer))),
        _ => None,
    }
}
