//! The things that an element may be made of.

use tensor::{Loss, TensorName};

use super::super::Scene;
use super::super::formula::Sum;
use crate::chain::count;

/// One of them: what it is called, and its value at an element.
pub(super) struct Feature<'a> {
    pub(super) text: String,
    pub(super) of: Box<dyn Fn(usize) -> f64 + 'a>,
}

fn feature<'a>(text: impl Into<String>, of: impl Fn(usize) -> f64 + 'a) -> Feature<'a> {
    Feature { text: text.into(), of: Box::new(of) }
}

/// A function of one number; `#` stands for its name.
type Function = (&'static str, fn(f64) -> f64);

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Functions that a nonlinearity, or its slope, may be mistaken for.
const FUNCTIONS: [Function; 26] = [
    ("#", |x| x),
    ("relu(#)", |x| x.max(0.0)),
    ("|#|", f64::abs),
    ("#²", |x| x * x),
    ("relu(#)²", |x| x.max(0.0).powi(2)),
    ("# where it is below 0", |x| x.min(0.0)),
    ("[# > 0]", |x| f64::from(u8::from(x > 0.0))),
    ("the sign of #", |x| if x == 0.0 { 0.0 } else { x.signum() }),
    ("exp(#)", f64::exp),
    ("exp(-#)", |x| (-x).exp()),
    ("exp(#) - 1 where it is below 0", |x| x.min(0.0).exp_m1()),
    ("2^#", f64::exp2),
    ("sigmoid(#)", sigmoid),
    ("# times sigmoid(#)", |x| x * sigmoid(x)),
    ("sigmoid's slope at #", |x| sigmoid(x) * (1.0 - sigmoid(x))),
    ("tanh(#)", f64::tanh),
    ("tanh's slope at #", |x| 1.0 - x.tanh().powi(2)),
    ("softplus(#)", |x| x.max(0.0) + (-x.abs()).exp().ln_1p()),
    ("ln(1 + |#|)", |x| x.abs().ln_1p()),
    ("ln |#|", |x| x.abs().ln()),
    ("the root of |#|", |x| x.abs().sqrt()),
    ("#³", |x| x * x * x),
    ("# / (1 + |#|)", |x| x / (1.0 + x.abs())),
    ("1 / (1 + #²)", |x| 1.0 / (1.0 + x * x)),
    ("sin #", f64::sin),
    ("1/#", |x| 1.0 / x),
];

/// What is written behind the sum.
pub(super) fn over(scene: &Scene<'_>) -> &'static str {
    if is_output_gradient(scene) { ", over B" } else { "" }
}

fn is_output_gradient(scene: &Scene<'_>) -> bool {
    matches!(scene.name, TensorName::Dz(layer) if layer == scene.chain.layers())
}

/// All of an operation, the usual ones first.
pub(super) fn features<'a>(scene: &'a Scene<'a>) -> Vec<Feature<'a>> {
    let (_, columns) = scene.rows_and_columns();
    let columns = columns.max(1);
    let scale = if is_output_gradient(scene) { 1.0 / count(scene.chain.batch()) } else { 1.0 };
    let mut all = own(scene);
    let expected = scene.expected;
    // What the operation's formula says, in its own words above.
    all.push(feature("what it should be", move |i| expected[i]));
    all.push(feature("1", move |_| scale));
    for (text, of) in [
        ("the magnitude of what it should be", f64::abs as fn(f64) -> f64),
        ("the square of what it should be", |x| x * x),
        ("the sign of what it should be", |x| if x == 0.0 { 0.0 } else { x.signum() }),
        ("the root of the magnitude of what it should be", |x| x.abs().sqrt()),
        ("the third power of what it should be", |x| x * x * x),
        ("exp of what it should be", f64::exp),
        ("ln of what it should be", f64::ln),
        ("tanh of what it should be", f64::tanh),
    ] {
        all.push(feature(text, move |i| of(expected[i])));
    }
    all.push(feature("what it should be times the number of its row", move |i| {
        expected[i] * (i / columns) as f64
    }));
    all.push(feature("what it should be times the number of its column", move |i| {
        expected[i] * (i % columns) as f64
    }));
    for (text, name, earlier, values) in scene.tensors() {
        if name == scene.name && !earlier {
            continue;
        }
        if values.len() == expected.len() {
            all.push(feature(text.clone(), move |i| values[i]));
            all.push(feature(format!("what it should be times {text}"), move |i| {
                expected[i] * values[i]
            }));
        } else if values.len() == columns {
            all.push(feature(format!("{text} in each row"), move |i| values[i % columns]));
            all.push(feature(format!("what it should be times {text} of the column"), move |i| {
                expected[i] * values[i % columns]
            }));
        } else if values.len() * columns == expected.len() {
            all.push(feature(format!("{text} in each column"), move |i| values[i / columns]));
            all.push(feature(format!("what it should be times {text} of the row"), move |i| {
                expected[i] * values[i / columns]
            }));
        }
    }
    all
}

/// Functions of the operation's own operands.
fn own<'a>(scene: &'a Scene<'a>) -> Vec<Feature<'a>> {
    use TensorName::{A, BNext, Da, Dz, P, WNext, Y, Z};
    let chain = scene.chain;
    let last = chain.layers();
    let of_one = |name: String, values: &'a [f64]| -> Vec<Feature<'a>> {
        let of = |(text, of): &Function| {
            let of = *of;
            feature(text.replace('#', &name), move |i| of(values[i]))
        };
        FUNCTIONS.iter().map(of).collect()
    };
    match scene.name {
        A(l) => chain.get(Z(l)).map(|z| of_one(Z(l).to_string(), z)).unwrap_or_default(),
        P => {
            let mut all =
                chain.get(Z(last)).map(|z| of_one(Z(last).to_string(), z)).unwrap_or_default();
            if chain.losses() == [Loss::CrossEntropy] {
                let p = scene.expected;
                all.insert(
                    0,
                    feature("p / (1 - p): the class itself is left out of its sum", move |i| {
                        p[i] / (1.0 - p[i])
                    }),
                );
            }
            all
        }
        Dz(l) if l == last => {
            let (Some(p), Some(y)) = (chain.get(P), chain.get(Y)) else { return Vec::new() };
            let scale = 1.0 / count(chain.batch());
            let mut all = vec![
                feature("p", move |i| scale * p[i]),
                feature("y", move |i| scale * y[i]),
                feature("p·y", move |i| scale * p[i] * y[i]),
                feature("p²", move |i| scale * p[i] * p[i]),
                feature("p·(1 - p)", move |i| scale * p[i] * (1.0 - p[i])),
                feature("(p - y)²", move |i| scale * (p[i] - y[i]).powi(2)),
                feature("|p - y|", move |i| scale * (p[i] - y[i]).abs()),
                feature("(p - y)·p·(1 - p)", move |i| {
                    scale * (p[i] - y[i]) * p[i] * (1.0 - p[i])
                }),
                feature("(p - y)·p", move |i| scale * (p[i] - y[i]) * p[i]),
                feature("(p - y)·(1 - p)", move |i| scale * (p[i] - y[i]) * (1.0 - p[i])),
                feature("(p - y)³", move |i| scale * (p[i] - y[i]).powi(3)),
                feature("the sign of p - y", move |i| scale * (p[i] - y[i]).signum()),
                feature("ln p", move |i| scale * p[i].ln()),
                feature("y/p", move |i| scale * y[i] / p[i]),
                feature("the root of p", move |i| scale * p[i].abs().sqrt()),
                feature("y·ln p", move |i| scale * y[i] * p[i].ln()),
            ];
            if let Some(z) = chain.get(Z(last)) {
                all.push(feature(format!("z{last}"), move |i| scale * z[i]));
                all.push(feature(format!("(p - y)·z{last}"), move |i| {
                    scale * (p[i] - y[i]) * z[i]
                }));
            }
            all
        }
        Dz(l) => {
            let (Some(da), Some(z)) = (chain.get(Da(l)), chain.mask(l)) else { return Vec::new() };
            let (of_da, of_z) = (Da(l).to_string(), Z(l).to_string());
            let mut all = vec![feature(of_da.clone(), move |i| da[i])];
            all.extend(FUNCTIONS.iter().map(|(text, of)| {
                feature(format!("{of_da} times {}", text.replace('#', &of_z)), move |i| {
                    da[i] * of(z[i])
                })
            }));
            all.extend(
                FUNCTIONS
                    .iter()
                    .skip(2)
                    .take(6)
                    .map(|(text, of)| feature(text.replace('#', &of_da), move |i| of(da[i]))),
            );
            all.push(feature(of_z, move |i| z[i]));
            all
        }
        WNext(_) | BNext(_) => {
            let names = crate::chain::operation::updated_from(scene.name);
            let Some((parameter, gradient)) = names else { return Vec::new() };
            let (Some(w), Some(dw)) = (chain.get(parameter), chain.get(gradient)) else {
                return Vec::new();
            };
            let mut all = vec![
                feature(parameter.to_string(), move |i| w[i]),
                feature(gradient.to_string(), move |i| dw[i]),
                feature(format!("{parameter}·{gradient}"), move |i| w[i] * dw[i]),
            ];
            for (name, values) in [(parameter, w), (gradient, dw)] {
                let functions = FUNCTIONS.iter().filter(|(text, _)| *text != "#");
                all.extend(functions.map(|(text, of)| {
                    feature(text.replace('#', &name.to_string()), move |i| of(values[i]))
                }));
            }
            all
        }
        Z(l) => {
            let Some(sum) = Sum::of(scene) else { return Vec::new() };
            let Some(b) = sum.base else { return Vec::new() };
            let (b_name, columns) = (TensorName::B(l).to_string(), sum.columns.max(1));
            let product = move |i: usize| scene.expected[i] - b[i % columns];
            let mut all = vec![
                feature("the product", product),
                feature(b_name.clone(), move |i| b[i % columns]),
                feature(format!("the product times {b_name}"), move |i| {
                    product(i) * b[i % columns]
                }),
                feature(format!("the larger of the product and {b_name}"), move |i| {
                    product(i).max(b[i % columns])
                }),
                feature(format!("the smaller of the product and {b_name}"), move |i| {
                    product(i).min(b[i % columns])
                }),
            ];
            for (text, of) in FUNCTIONS.iter().filter(|(text, _)| *text != "#") {
                all.push(feature(text.replace('#', "the product"), move |i| of(product(i))));
                all.push(feature(text.replace('#', &b_name), move |i| of(b[i % columns])));
            }
            all
        }
        _ => Vec::new(),
    }
}
