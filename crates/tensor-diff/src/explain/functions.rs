//! Functions in place of which another one is computed.

use tensor::TensorName;

use super::Pattern;
use super::{Hypothesis, Scene, hypothesis, outputs};
use crate::chain::fed;

pub(super) fn exchanged(scene: &Scene<'_>) -> Option<Pattern> {
    let last = scene.chain.layers();
    match scene.name {
        TensorName::A(layer) => activation(scene, layer),
        TensorName::P => outputs::output(scene),
        TensorName::Loss => outputs::loss(scene),
        TensorName::Dz(layer) if layer == last => output_gradient(scene),
        TensorName::Dz(layer) => masked(scene, layer),
        TensorName::Db(layer) => summed(scene, layer),
        TensorName::Z(layer) if layer > 1 => pre_activation(scene, layer),
        _ => None,
    }
}

/// A function of one number.
type Function = fn(f64) -> f64;

/// Functions that stand where relu should.
const ACTIVATIONS: [(&str, Function); 9] = [
    ("z itself: relu is not applied", |z| z),
    ("|z|", f64::abs),
    ("relu(-z)", |z| (-z).max(0.0)),
    ("tanh(z)", f64::tanh),
    ("sigmoid(z)", |z| 1.0 / (1.0 + (-z).exp())),
    ("elu(z)", |z| if z > 0.0 { z } else { z.exp_m1() }),
    ("softplus(z)", |z| z.max(0.0) + (-z.abs()).exp().ln_1p()),
    ("silu(z)", |z| z / (1.0 + (-z).exp())),
    ("gelu(z) by its tanh formula", |z| {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (z + 0.044_715 * z * z * z);
        0.5 * z * (1.0 + inner.tanh())
    }),
];

fn activation(scene: &Scene<'_>, layer: usize) -> Option<Pattern> {
    let z = scene.chain.get(TensorName::Z(layer))?;
    let found = scene.first(
        ACTIVATIONS
            .iter()
            .map(|(text, function)| hypothesis(format!("it is {text}"), |i| function(z[i])))
            .collect(),
    );
    found.or_else(|| {
        let &first = scene.probes.first()?;
        let others = scene.probes.iter().filter(|&&i| i != first).count();
        let slope = scene.candidate[first] / z[first];
        let limit = scene.candidate[first];
        if others < 2 {
            return None;
        }
        let mut family = vec![hypothesis(format!("no element is above {limit:.6}"), move |i| {
            z[i].max(0.0).min(limit)
        })];
        if slope.is_finite() && z[first] < 0.0 {
            let text = format!("it is leaky: {slope:.6} times z where that is below 0");
            family.push(hypothesis(text, move |i| if z[i] > 0.0 { z[i] } else { slope * z[i] }));
        }
        // What is let through only from a number on.
        let zeroed = scene.wrong.iter().filter(|&&i| scene.candidate[i] == 0.0).map(|&i| z[i]);
        let edge = zeroed.fold(f64::NEG_INFINITY, f64::max);
        if edge > 0.0 {
            let text = format!("it is 0 where z is up to {edge:.6}, not up to 0");
            family.push(hypothesis(text, move |i| if z[i] > edge { z[i] } else { 0.0 }));
        }
        scene.first(family)
    })
}

/// The product of an activation that was not rectified, or of what it was made of.
fn pre_activation(scene: &Scene<'_>, layer: usize) -> Option<Pattern> {
    let sum = super::formula::Sum::of(scene)?;
    let z = scene.chain.get(TensorName::Z(layer - 1))?;
    let other = super::index::Operand { values: z, ..sum.left.clone() };
    let text = format!("it is made of z{} in place of {}", layer - 1, fed(layer));
    scene.first(vec![hypothesis(text, |i| sum.with(i, &other, &sum.right))])
}

/// The elements beside one of a matrix of this many columns, by how far they are from it.
fn neighbours(columns: usize) -> [(isize, &'static str); 4] {
    [
        (1, "one element too far"),
        (-1, "one element too early"),
        (columns as isize, "of the row below"),
        (-(columns as isize), "of the row above"),
    ]
}

/// `(p − y) / B` with something else.
fn output_gradient(scene: &Scene<'_>) -> Option<Pattern> {
    let (p, y) = (scene.chain.get(TensorName::P)?, scene.chain.get(TensorName::Y)?);
    let batch = scene.chain.batch() as f64;
    let columns = scene.chain.outputs();
    let mut family = vec![
        hypothesis("y is left out", move |i| p[i] / batch),
        hypothesis("p is left out", move |i| -y[i] / batch),
        hypothesis(
            "it has a factor p·(1 - p): sigmoid's slope, which this loss cancels",
            move |i| (p[i] - y[i]) * p[i] * (1.0 - p[i]) / batch,
        ),
        hypothesis("it is the product of p and y", move |i| p[i] * y[i] / batch),
        hypothesis("y is added, not subtracted", move |i| (p[i] + y[i]) / batch),
        hypothesis("it is the square of the difference", move |i| (p[i] - y[i]).powi(2) / batch),
        hypothesis("it is the magnitude of the difference", move |i| (p[i] - y[i]).abs() / batch),
    ];
    let by_p = by_p(scene, p, y);
    if by_p.is_some() {
        return by_p;
    }
    for (which, name, own) in [(0, "p", p), (1, "y", y)] {
        let with = move |i: usize, other: f64| {
            if which == 0 { (other - y[i]) / batch } else { (p[i] - other) / batch }
        };
        for (offset, how) in neighbours(columns) {
            family.push(hypothesis(format!("{name} is read {how}"), move |i| {
                let at = i.checked_add_signed(offset).and_then(|at| own.get(at));
                with(i, at.copied().unwrap_or(f64::NAN))
            }));
        }
        family.push(hypothesis(format!("{name} is read with neighbours exchanged"), move |i| {
            with(i, own.get(i ^ 1).copied().unwrap_or(f64::NAN))
        }));
        family.push(hypothesis(format!("rows of {name} are read from their ends"), move |i| {
            with(i, own[i / columns * columns + columns - 1 - i % columns])
        }));
        family.push(hypothesis(format!("{name} is read from its end"), move |i| {
            with(i, own[own.len() - 1 - i])
        }));
        family.push(hypothesis(format!("row 0 of {name} is read for every row"), move |i| {
            with(i, own[i % columns])
        }));
        let text = format!("column 0 of {name} is read for every column");
        family.push(hypothesis(text, move |i| with(i, own[i / columns * columns])));
        for (text, other, earlier, values) in scene.tensors() {
            if values.len() >= own.len() && (other.to_string() != name || earlier) {
                let text = format!("{text} is read in place of {name}");
                family.push(hypothesis(text, move |i| with(i, values[i])));
            }
        }
    }
    scene.first(family)
}

/// The gradient with respect to `p`, without the slope of the output function as a factor; divided by B or by another
/// number.
fn by_p(scene: &Scene<'_>, p: &[f64], y: &[f64]) -> Option<Pattern> {
    let batch = scene.chain.batch() as f64;
    type Gradient = (&'static str, fn(f64, f64) -> f64);
    let gradients: [Gradient; 2] =
        [("(p - y) / (p·(1 - p))", |p, y| (p - y) / (p * (1.0 - p))), ("-y / p", |p, y| -y / p)];
    gradients.into_iter().find_map(|(text, of)| {
        let words = format!(
            "it is {text}: the gradient with respect to p, not to z{}",
            scene.chain.layers()
        );
        let at = |i: usize| of(p[i], y[i]) / batch;
        scene.first(vec![hypothesis(words.clone(), at)]).or_else(|| {
            let &first = scene.probes.iter().find(|&&i| at(i).is_finite() && at(i) != 0.0)?;
            let factor = scene.candidate[first] / at(first);
            if !scene.tells_after(2, 1) || !factor.is_finite() {
                return None;
            }
            let times = super::numbers::number(scene, factor);
            scene.try_numbers(|i| factor * at(i), || format!("{words}, {times} times"))
        })
    })
}

/// `db` summed, or averaged, over everything or over the units: NumPy's `dz.sum()` without its `axis=0`, and
/// `axis=1`.
fn summed(scene: &Scene<'_>, layer: usize) -> Option<Pattern> {
    let name = TensorName::Dz(layer);
    let dz = scene.chain.get(name)?;
    let units = scene.candidate.len();
    let rows: Vec<f64> = dz.chunks_exact(units).map(|row| row.iter().sum()).collect();
    let total: f64 = rows.iter().sum();
    let (all, unit_count) = (dz.len() as f64, units as f64);
    if rows.len() == 1 && units == 1 {
        return None;
    }
    // Each row of p - y sums to 0 where p is softmax's.
    let both_are_zero =
        rows.iter().chain([&total]).all(|sum| sum.abs() <= scene.tolerance(scene.probes[0], 0.0));
    if both_are_zero {
        let text = format!(
            "it is 0 but for rounding, which is the sum of {name} without an axis, or over the units \
             instead of the samples"
        );
        return scene.first(vec![hypothesis(text, |_| 0.0)]);
    }
    let of_row = |i: usize| rows[i % rows.len()];
    let padded = |i: usize| rows.get(i).copied().unwrap_or(0.0);
    scene.first(vec![
        hypothesis(format!("it is the sum of all of {name}: the axis is missing"), |_| total),
        hypothesis(format!("it is the mean of all of {name}: the axis is missing"), |_| {
            total / all
        }),
        hypothesis(
            format!("it is the sum of {name} over the units, not the samples: the wrong axis"),
            of_row,
        ),
        hypothesis(
            format!(
                "it is the sum of {name} over the units, not the samples, and 0 after the last sample"
            ),
            padded,
        ),
        hypothesis(
            format!("it is the mean of {name} over the units, not its sum over the samples"),
            move |i| of_row(i) / unit_count,
        ),
    ])
}

/// `da` where another mask let it pass.
fn masked(scene: &Scene<'_>, layer: usize) -> Option<Pattern> {
    let (da, z) = (scene.chain.get(TensorName::Da(layer))?, scene.chain.mask(layer)?);
    let (_, columns) = scene.rows_and_columns();
    let name = TensorName::Da(layer);
    let pass = |mask: f64, i: usize| if mask > 0.0 { da[i] } else { 0.0 };
    let mut family: Vec<Hypothesis<'_>> = vec![
        hypothesis(format!("it is {name}: the mask is not applied"), move |i| da[i]),
        hypothesis("the mask is turned round: it passes where z is not above 0", move |i| {
            pass(-z[i], i)
        }),
        hypothesis("it is multiplied by z, not by z > 0", move |i| da[i] * z[i]),
        hypothesis("it is multiplied by relu(z), not by z > 0", move |i| da[i] * z[i].max(0.0)),
        hypothesis(format!("it is the mask itself: {name} is left out"), move |i| {
            f64::from(u8::from(z[i] > 0.0))
        }),
        hypothesis("it is divided by B once more", {
            let batch = scene.chain.batch() as f64;
            move |i| pass(z[i], i) / batch
        }),
        hypothesis("it has sigmoid's slope in place of relu's", move |i| {
            let s = 1.0 / (1.0 + (-z[i]).exp());
            da[i] * s * (1.0 - s)
        }),
        hypothesis("it has tanh's slope in place of relu's", move |i| {
            da[i] * (1.0 - z[i].tanh().powi(2))
        }),
    ];
    let a = scene.chain.get(TensorName::A(layer));
    family.extend(a.into_iter().flat_map(|a| {
        [
            hypothesis(
                "it has sigmoid's slope, a·(1 - a), in place of relu's",
                move |i: usize| da[i] * a[i] * (1.0 - a[i]),
            ),
            hypothesis("it has tanh's slope, 1 - a², in place of relu's", move |i: usize| {
                da[i] * (1.0 - a[i] * a[i])
            }),
        ]
    }));
    for (offset, how) in neighbours(columns) {
        family.push(hypothesis(format!("the mask is that {how}"), move |i| {
            let at = i.checked_add_signed(offset).and_then(|at| z.get(at));
            at.map_or(f64::NAN, |&mask| pass(mask, i))
        }));
        family.push(hypothesis(format!("{name} is read {how}"), move |i| {
            let at = i.checked_add_signed(offset).and_then(|at| da.get(at));
            let value = at.copied().unwrap_or(f64::NAN);
            if z[i] > 0.0 { value } else { 0.0 }
        }));
    }
    family.push(hypothesis("the mask of row 0 is taken for every row", move |i| {
        pass(z[i % columns], i)
    }));
    for (text, _, _, values) in scene.tensors() {
        if values.len() >= da.len() {
            let masked = format!("the mask is taken from {text}");
            family.push(hypothesis(masked, move |i| pass(values[i], i)));
            let other = format!("{text} passes where z is not above 0");
            family.push(hypothesis(other, move |i| if z[i] > 0.0 { da[i] } else { values[i] }));
            let other = format!("{text} is masked in place of {name}");
            family.push(hypothesis(other, move |i| if z[i] > 0.0 { values[i] } else { 0.0 }));
        }
    }
    scene.first(family).or_else(|| {
        let &first = scene.probes.first()?;
        let constant = scene.candidate[first];
        let mask = (scene.probes.len() > 2).then(|| {
            let text = format!("it is {constant:.6} times the mask: {name} is left out");
            let of_mask = move |i: usize| if z[i] > 0.0 { constant } else { 0.0 };
            scene.first(vec![hypothesis(text, of_mask)])
        });
        if let Some(found) = mask.flatten() {
            return Some(found);
        }
        let slope = scene.candidate[first] / da[first];
        let others = scene.probes.iter().filter(|&&i| i != first && da[i] != 0.0).count();
        let text = format!("it is leaky: {slope:.6} times {name} where z is not above 0");
        (others >= 2 && slope.is_finite() && z[first] <= 0.0).then(|| {
            scene.first(vec![hypothesis(
                text,
                move |i| {
                    if z[i] > 0.0 { da[i] } else { slope * da[i] }
                },
            )])
        })?
    })
}
