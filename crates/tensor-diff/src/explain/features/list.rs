//! The features that an element may be made of.

use std::f64::consts::PI;

use tensor::{Loss, TensorName};

use super::super::losses::{SMOOTHING, spreads};
use super::super::{Function, Scene};
use crate::chain::count;
use crate::chain::operation::updated_from;
use crate::numeric::{largest, sigmoid, sign, softmax, softplus};

/// A feature: its name, the mistake that is made if an element is only this feature, and its value at an element.
pub(super) struct Feature<'a> {
    pub(super) text: String,
    pub(super) note: &'static str,
    /// Whether its value is divided by B.
    pub(super) over_batch: bool,
    pub(super) of: Box<dyn Fn(usize) -> f64 + 'a>,
}

fn feature<'a>(text: impl Into<String>, of: impl Fn(usize) -> f64 + 'a) -> Feature<'a> {
    Feature { text: text.into(), note: "", over_batch: false, of: Box::new(of) }
}

/// Functions that a nonlinearity, or its slope, may be mistaken for; `#` stands for the number's name.
const FUNCTIONS: [Function; 26] = [
    ("#", |x| x),
    ("relu(#)", |x| x.max(0.0)),
    ("|#|", f64::abs),
    ("#²", |x| x * x),
    ("# where it is below 0", |x| x.min(0.0)),
    ("[# > 0]", above),
    ("the sign of #", sign),
    ("exp(#)", f64::exp),
    ("exp(#) - 1 where it is below 0", |x| x.min(0.0).exp_m1()),
    ("sigmoid(#)", sigmoid),
    ("# times sigmoid(#)", |x| x * sigmoid(x)),
    ("the slope of # times sigmoid(#)", |x| sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x)))),
    ("gelu(#)", |x| x * normal(x)),
    ("gelu's slope at #", |x| normal(x) + x * (-0.5 * x * x).exp() / (2.0 * PI).sqrt()),
    ("gelu(#) by its tanh formula", |x| {
        let inner = (2.0 / PI).sqrt() * (x + 0.044_715 * x * x * x);
        0.5 * x * (1.0 + inner.tanh())
    }),
    ("selu(#)", |x| SELU[0] * if x > 0.0 { x } else { SELU[1] * x.exp_m1() }),
    ("selu's slope at #", |x| SELU[0] * if x > 0.0 { 1.0 } else { SELU[1] * x.exp() }),
    ("sigmoid's slope at #", |x| sigmoid(x) * (1.0 - sigmoid(x))),
    ("tanh(#)", f64::tanh),
    ("tanh's slope at #", |x| 1.0 - x.tanh().powi(2)),
    ("softplus(#)", softplus),
    ("# / (1 + |#|)", |x| x / (1.0 + x.abs())),
    ("# times sigmoid(1.702·#)", |x| x * sigmoid(1.702 * x)),
    ("# times tanh(softplus(#))", |x| x * softplus(x).tanh()),
    ("elu(#)", |x| if x > 0.0 { x } else { x.exp_m1() }),
    ("sin(#)", f64::sin),
];

/// The scale and the limit of selu (Klambauer et al., "Self-Normalizing Neural Networks", 2017).
const SELU: [f64; 2] = [1.050_700_987_355_480_5, 1.673_263_242_354_377_2];

/// The distribution function of the normal distribution, by the series of DLMF 7.6.2 for erf.
fn normal(x: f64) -> f64 {
    if x.abs() > 8.0 {
        return above(x);
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= x * x / f64::from(2 * n + 1);
        sum += term;
    }
    0.5 + (-0.5 * x * x).exp() / (2.0 * PI).sqrt() * sum
}

/// Functions of the right value.
const FUNCTIONS_OF_EXPECTED: [Function; 4] = [
    ("#", |x| x),
    ("the magnitude of #", f64::abs),
    ("the square of #", |x| x * x),
    ("the sign of #", sign),
];

/// A function of two numbers, `#` and `@`: its words, the mistake that is made if it takes the place of the right
/// function, and the function.
type OfTwo = (&'static str, &'static str, fn(f64, f64) -> f64);

/// Functions of `p` and `y`, to be divided by B.
const FUNCTIONS_OF_P_AND_Y: [OfTwo; 11] = [
    ("#", "y is left out", |p, _| p),
    ("@", "p is left out", |_, y| y),
    ("#²", "", |p, _| p * p),
    ("#·(1 - #)", "", |p, _| p * (1.0 - p)),
    ("(# - @)²", "", |p, y| (p - y).powi(2)),
    ("(# - @)·#·(1 - #)", "sigmoid's slope, which this loss cancels", |p, y| {
        (p - y) * p * (1.0 - p)
    }),
    ("the sign of # - @", "", |p, y| (p - y).signum()),
    ("@/#", "", |p, y| y / p),
    ("(# - @) / (#·(1 - #))", "the gradient with respect to p, not to z", |p, y| {
        (p - y) / (p * (1.0 - p))
    }),
    ("-@ / #", "the gradient with respect to p, not to z", |p, y| -y / p),
    ("-@·(1 - #)", "only the diagonal of softmax's Jacobian", |p, y| -y * (1.0 - p)),
];

/// Functions of a row of `p` and `y`, to be divided by B.
type OfRows = (&'static str, &'static str, fn(&[f64], &[f64]) -> Vec<f64>);

const FUNCTIONS_OF_ROWS: [OfRows; 5] = [
    (
        "p·((p - y) - sum p·(p - y))",
        "softmax's Jacobian is applied to p - y, which has it already; or p - y is that of a squared error of p",
        |p, y| jacobian(p, &p.iter().zip(y).map(|(p, y)| p - y).collect::<Vec<_>>()),
    ),
    ("softmax(p) - y", "softmax is applied twice", |p, y| {
        softmax(p).iter().zip(y).map(|(q, y)| q - y).collect()
    }),
    (
        "softmax's Jacobian times (softmax(p) - y)",
        "p is taken for logits: softmax is applied twice",
        |p, y| jacobian(p, &softmax(p).iter().zip(y).map(|(q, y)| q - y).collect::<Vec<_>>()),
    ),
    ("p·sum(y/p) - y", "softmax's Jacobian without p in its sum", |p, y| {
        let sum: f64 = p.iter().zip(y).map(|(p, y)| y / p).sum();
        p.iter().zip(y).map(|(p, y)| p * sum - y).collect()
    }),
    ("1 for the largest p - y", "the predicted class in place of p", |p, y| {
        p.iter().zip(y).map(|(&own, y)| f64::from(u8::from(own == largest(p))) - y).collect()
    }),
];

/// A gradient with respect to `p`, passed through softmax.
fn jacobian(p: &[f64], gradient: &[f64]) -> Vec<f64> {
    let sum: f64 = p.iter().zip(gradient).map(|(p, g)| p * g).sum();
    p.iter().zip(gradient).map(|(p, g)| p * (g - sum)).collect()
}

/// The output gradient with smoothed labels, in the usual ways.
pub(super) fn smoothed<'a>(scene: &'a Scene<'a>) -> Option<Vec<Feature<'a>>> {
    let (p, y) = (scene.chain.get(TensorName::P)?, scene.chain.get(TensorName::Y)?);
    let (batch, classes) = (count(scene.chain.batch()), count(scene.chain.outputs()));
    let ways = SMOOTHING.into_iter().flat_map(|e| spreads(e, classes).map(|way| (e, way)));
    let each = ways.map(|(e, (how, other, own))| {
        let text = format!(
            "(p - ({own:.4}·y + {other:.4})) / B: the labels are smoothed by e = {e}, {how}"
        );
        feature(text, move |i| (p[i] - own * y[i] - other) / batch)
    });
    is_output_gradient(scene).then(|| each.collect())
}

/// Functions of `da` and `z`.
const FUNCTIONS_OF_DA_AND_Z: [OfTwo; 6] =
    [
        ("#", "", |da, _| da),
        ("# where @ is not below 0", "the mask is z >= 0: the slope at exactly 0 is 1", |da, z| {
            if z < 0.0 { 0.0 } else { da }
        }),
        ("# where @ is above 0, and half of it at 0", "the slope at exactly 0 is 1/2", |da, z| {
            match z {
                0.0 => 0.5 * da,
                z => da * above(z),
            }
        }),
        ("@", "", |_, z| z),
        ("[@ > 0]", "the gradient is left out", |_, z| above(z)),
        ("# where @ is not above 0", "the mask is turned round", |da, z| da * (1.0 - above(z))),
    ];

/// Functions of `da` and `a`.
const FUNCTIONS_OF_DA_AND_A: [OfTwo; 2] = [
    ("# times @·(1 - @)", "sigmoid's slope in place of relu's", |da, a| da * a * (1.0 - a)),
    ("# times (1 - @²)", "tanh's slope in place of relu's", |da, a| da * (1.0 - a * a)),
];

/// Functions of a parameter and its gradient.
const FUNCTIONS_OF_W_AND_DW: [OfTwo; 3] =
    [("#", "", |w, _| w), ("@", "", |_, dw| dw), ("#·@", "", |w, dw| w * dw)];

/// 1 for a number above 0, else 0.
fn above(z: f64) -> f64 {
    f64::from(u8::from(z > 0.0))
}

fn is_output_gradient(scene: &Scene<'_>) -> bool {
    scene.name == TensorName::Dz(scene.chain.layers())
}

/// All features of an operation, the usual ones first.
pub(super) fn features<'a>(scene: &'a Scene<'a>) -> Vec<Feature<'a>> {
    const RIGHT: &str = "what it should be";
    let columns = scene.rows_and_columns().1.max(1);
    let scale = if is_output_gradient(scene) { 1.0 / count(scene.chain.batch()) } else { 1.0 };
    let mut all = own_features(scene).unwrap_or_default();
    let expected = scene.expected;
    all.extend(of_one(RIGHT, expected, &FUNCTIONS_OF_EXPECTED));
    let one = Feature { over_batch: is_output_gradient(scene), ..feature("1", move |_| scale) };
    all.insert(all.len() - FUNCTIONS_OF_EXPECTED.len() + 1, one);
    for (text, name, earlier, values) in scene.tensors() {
        if name == scene.name && !earlier {
            continue;
        }
        // The index into `values`, which has a number for each element, for each column, or for each row.
        type Index = fn(usize, usize) -> usize;
        let (index, of_all, of_each): (Index, _, _) = match values.len() {
            n if n == expected.len() => (|i, _| i, "", ""),
            n if n == columns => (|i, columns| i % columns, " in each row", " of the column"),
            n if n * columns == expected.len() => {
                (|i, columns| i / columns, " in each column", " of the row")
            }
            _ => continue,
        };
        let at = move |i: usize| values[index(i, columns)];
        all.push(feature(format!("{text}{of_all}"), at));
        all.push(feature(format!("{RIGHT} times {text}{of_each}"), move |i| expected[i] * at(i)));
    }
    all
}

/// Functions of one tensor.
fn of_one<'a>(
    name: &str,
    values: &'a [f64],
    functions: &[Function],
) -> impl Iterator<Item = Feature<'a>> {
    functions
        .iter()
        .map(move |&(text, of)| feature(text.replace('#', name), move |i| of(values[i])))
}

/// Functions of two tensors, times a number.
fn of_two<'a>(
    [(one, a), (other, b)]: [(&str, &'a [f64]); 2],
    scale: f64,
    functions: &'static [OfTwo],
) -> impl Iterator<Item = Feature<'a>> {
    functions.iter().map(move |&(text, note, of)| Feature {
        note,
        ..feature(text.replace('#', one).replace('@', other), move |i| scale * of(a[i], b[i]))
    })
}

/// Functions of the operation's own operands.
pub(super) fn own_features<'a>(scene: &'a Scene<'a>) -> Option<Vec<Feature<'a>>> {
    use TensorName::{A, B, BNext, Da, Dz, P, WNext, Y, Z};
    let chain = scene.chain;
    let last = chain.layers();
    let mut all = Vec::new();
    match scene.name {
        A(layer) => all.extend(of_one(&Z(layer).to_string(), chain.get(Z(layer))?, &FUNCTIONS)),
        Z(layer) => {
            let (b, columns) = (chain.get(B(layer))?, scene.rows_and_columns().1);
            all.push(feature(B(layer).to_string(), move |i| b[i % columns]));
        }
        P => {
            if chain.losses() == [Loss::CrossEntropy] {
                let p = scene.expected;
                let text = "p / (1 - p): the class itself is left out of its sum";
                all.push(feature(text, move |i| p[i] / (1.0 - p[i])));
            }
            all.extend(of_one(&Z(last).to_string(), chain.get(Z(last))?, &FUNCTIONS));
        }
        Dz(layer) if layer == last => {
            let (p, y) = (chain.get(P)?, chain.get(Y)?);
            let scale = 1.0 / count(chain.batch());
            all.extend(of_two([("p", p), ("y", y)], scale, &FUNCTIONS_OF_P_AND_Y));
            if let Some(z) = chain.get(Z(last)) {
                all.push(feature(Z(last).to_string(), move |i| scale * z[i]));
                let text = format!("(p - y)·{}", Z(last));
                all.push(feature(text, move |i| scale * (p[i] - y[i]) * z[i]));
            }
            if chain.losses() == [Loss::CrossEntropy] {
                let classes = chain.outputs();
                let rows = || p.chunks_exact(classes).zip(y.chunks_exact(classes));
                all.extend(FUNCTIONS_OF_ROWS.map(|(text, note, of)| {
                    let values: Vec<f64> = rows().flat_map(|(p, y)| of(p, y)).collect();
                    Feature { note, ..feature(text, move |i| scale * values[i]) }
                }));
            }
            all.iter_mut().for_each(|feature| feature.over_batch = true);
        }
        Dz(layer) => {
            let (da, z) = (chain.get(Da(layer))?, chain.mask(layer)?);
            let [of_da, of_z, of_a] = [Da(layer), Z(layer), A(layer)].map(|name| name.to_string());
            let two = [(&of_da[..], da), (&of_z[..], z)];
            all.extend(of_two(two, 1.0, &FUNCTIONS_OF_DA_AND_Z[..3]));
            for (text, of) in FUNCTIONS {
                let text = format!("{of_da} times {}", text.replace('#', &of_z));
                all.push(feature(text, move |i| da[i] * of(z[i])));
            }
            all.extend(of_one(&of_da, da, &FUNCTIONS[2..7]));
            all.extend(of_two(two, 1.0, &FUNCTIONS_OF_DA_AND_Z[3..]));
            let a = chain.get(A(layer)).into_iter();
            all.extend(a.flat_map(|a| of_two([two[0], (&of_a, a)], 1.0, &FUNCTIONS_OF_DA_AND_A)));
        }
        WNext(_) | BNext(_) => {
            let (parameter, gradient) = updated_from(scene.name)?;
            let (w, dw) = (chain.get(parameter)?, chain.get(gradient)?);
            let names = [parameter, gradient].map(|name| name.to_string());
            all.extend(of_two([(&names[0], w), (&names[1], dw)], 1.0, &FUNCTIONS_OF_W_AND_DW));
            all.extend(of_one(&names[1], dw, &FUNCTIONS[1..]));
            all.extend(of_one(&names[0], w, &FUNCTIONS[6..7]));
        }
        _ => {}
    }
    Some(all)
}
