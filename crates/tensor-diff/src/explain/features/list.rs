//! The features that an element may be made of.

use tensor::{Loss, TensorName};

use super::super::Scene;
use super::super::formula::Sum;
use crate::chain::count;
use crate::chain::operation::updated_from;
use crate::numeric::{sigmoid, sign, softplus};

/// A feature: its name, the mistake if it is the whole element, and its value at an element.
pub(super) struct Feature<'a> {
    pub(super) text: String,
    pub(super) note: &'static str,
    pub(super) of: Box<dyn Fn(usize) -> f64 + 'a>,
}

fn feature<'a>(text: impl Into<String>, of: impl Fn(usize) -> f64 + 'a) -> Feature<'a> {
    Feature { text: text.into(), note: "", of: Box::new(of) }
}

/// A function of one number; `#` stands for its name.
type Function = (&'static str, fn(f64) -> f64);

/// Functions that a nonlinearity, or its slope, may be mistaken for.
const FUNCTIONS: [Function; 28] = [
    ("#", |x| x),
    ("relu(#)", |x| x.max(0.0)),
    ("|#|", f64::abs),
    ("#²", |x| x * x),
    ("relu(#)²", |x| x.max(0.0).powi(2)),
    ("# where it is below 0", |x| x.min(0.0)),
    ("[# > 0]", |x| f64::from(u8::from(x > 0.0))),
    ("the sign of #", sign),
    ("relu(-#)", |x| (-x).max(0.0)),
    ("exp(#)", f64::exp),
    ("exp(-#)", |x| (-x).exp()),
    ("exp(#) - 1 where it is below 0", |x| x.min(0.0).exp_m1()),
    ("2^#", f64::exp2),
    ("sigmoid(#)", sigmoid),
    ("# times sigmoid(#)", |x| x * sigmoid(x)),
    ("gelu(#) by its tanh formula", |x| {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
        0.5 * x * (1.0 + inner.tanh())
    }),
    ("sigmoid's slope at #", |x| sigmoid(x) * (1.0 - sigmoid(x))),
    ("tanh(#)", f64::tanh),
    ("tanh's slope at #", |x| 1.0 - x.tanh().powi(2)),
    ("softplus(#)", softplus),
    ("ln(1 + |#|)", |x| x.abs().ln_1p()),
    ("ln |#|", |x| x.abs().ln()),
    ("the root of |#|", |x| x.abs().sqrt()),
    ("#³", |x| x * x * x),
    ("# / (1 + |#|)", |x| x / (1.0 + x.abs())),
    ("1 / (1 + #²)", |x| 1.0 / (1.0 + x * x)),
    ("sin #", f64::sin),
    ("1/#", |x| 1.0 / x),
];

/// Functions of the right value.
const OF_EXPECTED: [Function; 9] = [
    ("#", |x| x),
    ("the magnitude of #", f64::abs),
    ("the square of #", |x| x * x),
    ("the sign of #", sign),
    ("the root of the magnitude of #", |x| x.abs().sqrt()),
    ("the third power of #", |x| x * x * x),
    ("exp of #", f64::exp),
    ("ln of #", f64::ln),
    ("tanh of #", f64::tanh),
];

/// A function of two numbers and, if it is made in the place of the right one, the mistake.
type OfTwo = (&'static str, &'static str, fn(f64, f64) -> f64);

/// Functions of `p` and `y`, to be divided by B.
const OUTPUT_GRADIENTS: [OfTwo; 18] = [
    ("p", "y is left out", |p, _| p),
    ("y", "p is left out", |_, y| y),
    ("p·y", "", |p, y| p * y),
    ("p²", "", |p, _| p * p),
    ("p·(1 - p)", "", |p, _| p * (1.0 - p)),
    ("(p - y)²", "", |p, y| (p - y).powi(2)),
    ("|p - y|", "", |p, y| (p - y).abs()),
    ("(p - y)·p·(1 - p)", "sigmoid's slope, which this loss cancels", |p, y| {
        (p - y) * p * (1.0 - p)
    }),
    ("(p - y)·p", "", |p, y| (p - y) * p),
    ("(p - y)·(1 - p)", "", |p, y| (p - y) * (1.0 - p)),
    ("(p - y)³", "", |p, y| (p - y).powi(3)),
    ("the sign of p - y", "", |p, y| (p - y).signum()),
    ("ln p", "", |p, _| p.ln()),
    ("y/p", "", |p, y| y / p),
    ("the root of p", "", |p, _| p.abs().sqrt()),
    ("y·ln p", "", |p, y| y * p.ln()),
    ("(p - y) / (p·(1 - p))", "the gradient with respect to p, not to z", |p, y| {
        (p - y) / (p * (1.0 - p))
    }),
    ("-y / p", "the gradient with respect to p, not to z", |p, y| -y / p),
];

/// The words after a sum of features.
pub(super) fn over(scene: &Scene<'_>) -> &'static str {
    if is_output_gradient(scene) { ", over B" } else { "" }
}

fn is_output_gradient(scene: &Scene<'_>) -> bool {
    scene.name == TensorName::Dz(scene.chain.layers())
}

/// All features of an operation, the usual ones first.
pub(super) fn features<'a>(scene: &'a Scene<'a>) -> Vec<Feature<'a>> {
    const RIGHT: &str = "what it should be";
    let columns = scene.rows_and_columns().1.max(1);
    let scale = if is_output_gradient(scene) { 1.0 / count(scene.chain.batch()) } else { 1.0 };
    let mut all = own_features(scene);
    let expected = scene.expected;
    all.extend(of_one(RIGHT, move |i| expected[i], &OF_EXPECTED));
    all.insert(all.len() - OF_EXPECTED.len() + 1, feature("1", move |_| scale));
    let numbered = |axis: &str| format!("{RIGHT} times the number of its {axis}");
    all.push(feature(numbered("row"), move |i| expected[i] * count(i / columns)));
    all.push(feature(numbered("column"), move |i| expected[i] * count(i % columns)));
    for (text, name, earlier, values) in scene.tensors() {
        if name == scene.name && !earlier {
            continue;
        }
        // An element for each element, each column, or each row.
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

/// Functions of one number.
fn of_one<'a>(
    name: &str,
    value: impl Fn(usize) -> f64 + Copy + 'a,
    functions: &[Function],
) -> impl Iterator<Item = Feature<'a>> {
    functions.iter().map(move |&(text, of)| feature(text.replace('#', name), move |i| of(value(i))))
}

/// Functions of the operation's own operands.
pub(super) fn own_features<'a>(scene: &'a Scene<'a>) -> Vec<Feature<'a>> {
    operand_features(scene).unwrap_or_default()
}

fn operand_features<'a>(scene: &'a Scene<'a>) -> Option<Vec<Feature<'a>>> {
    use TensorName::{A, BNext, Da, Dz, P, WNext, Y, Z};
    let chain = scene.chain;
    let last = Z(chain.layers());
    let get = |name: TensorName| Some((name.to_string(), chain.get(name)?));
    let mut all = Vec::new();
    match scene.name {
        A(l) => {
            let (name, z) = get(Z(l))?;
            all.extend(of_one(&name, |i| z[i], &FUNCTIONS));
        }
        P => {
            if chain.losses() == [Loss::CrossEntropy] {
                let p = scene.expected;
                let text = "p / (1 - p): the class itself is left out of its sum";
                all.push(feature(text, move |i| p[i] / (1.0 - p[i])));
            }
            let (name, z) = get(last)?;
            all.extend(of_one(&name, |i| z[i], &FUNCTIONS));
        }
        Dz(l) if Z(l) == last => {
            let (p, y) = (chain.get(P)?, chain.get(Y)?);
            let scale = 1.0 / count(chain.batch());
            all.extend(OUTPUT_GRADIENTS.map(|(text, note, of)| Feature {
                note,
                ..feature(text, move |i| scale * of(p[i], y[i]))
            }));
            if let Some((name, z)) = get(last) {
                all.push(feature(&name[..], move |i| scale * z[i]));
                all.push(feature(format!("(p - y)·{name}"), move |i| {
                    scale * (p[i] - y[i]) * z[i]
                }));
            }
        }
        Dz(l) => {
            let ((of_da, da), z) = (get(Da(l))?, chain.mask(l)?);
            let of_z = Z(l).to_string();
            all.push(feature(&of_da[..], |i| da[i]));
            for (text, of) in FUNCTIONS {
                let text = format!("{of_da} times {}", text.replace('#', &of_z));
                all.push(feature(text, move |i| da[i] * of(z[i])));
            }
            all.extend(of_one(&of_da, |i| da[i], &FUNCTIONS[2..8]));
            all.push(feature(&of_z[..], |i| z[i]));
            let noted =
                |note, text: String, of: Box<dyn Fn(usize) -> f64 + 'a>| Feature { text, note, of };
            let gate = format!("[{of_z} > 0]");
            let passed = move |i: usize| f64::from(u8::from(z[i] > 0.0));
            all.push(noted("the gradient is left out", gate, Box::new(passed)));
            let turned = format!("{of_da} where {of_z} is not above 0");
            let of = move |i: usize| da[i] * (1.0 - passed(i));
            all.push(noted("the mask is turned round", turned, Box::new(of)));
            if let Some((name, a)) = get(A(l)) {
                let slope = format!("{of_da} times {name}·(1 - {name})");
                let of = move |i: usize| da[i] * a[i] * (1.0 - a[i]);
                all.push(noted("sigmoid's slope in place of relu's", slope, Box::new(of)));
                let slope = format!("{of_da} times (1 - {name}²)");
                let of = move |i: usize| da[i] * (1.0 - a[i] * a[i]);
                all.push(noted("tanh's slope in place of relu's", slope, Box::new(of)));
            }
        }
        WNext(_) | BNext(_) => {
            let (parameter, gradient) = updated_from(scene.name)?;
            let ((w_name, w), (dw_name, dw)) = (get(parameter)?, get(gradient)?);
            all.push(feature(&w_name[..], |i| w[i]));
            all.push(feature(&dw_name[..], |i| dw[i]));
            all.push(feature(format!("{w_name}·{dw_name}"), |i| w[i] * dw[i]));
            all.extend(of_one(&w_name, |i| w[i], &FUNCTIONS[1..]));
            all.extend(of_one(&dw_name, |i| dw[i], &FUNCTIONS[1..]));
        }
        Z(_) => {
            let sum = Sum::new(scene)?;
            let (b, columns) = (sum.base?, sum.columns);
            let name = sum.names[2]?.to_string();
            let bias = move |i: usize| b[i % columns];
            let product = move |i: usize| scene.expected[i] - bias(i);
            all.push(feature("the product", product));
            all.push(feature(&name[..], bias));
            all.push(feature(format!("the product times {name}"), move |i| product(i) * bias(i)));
            let of = move |i: usize| product(i).max(bias(i));
            all.push(feature(format!("the larger of the product and {name}"), of));
            let of = move |i: usize| product(i).min(bias(i));
            all.push(feature(format!("the smaller of the product and {name}"), of));
            all.extend(of_one("the product", product, &FUNCTIONS[1..]));
            all.extend(of_one(&name, bias, &FUNCTIONS[1..]));
        }
        _ => {}
    }
    Some(all)
}
