//! Activations, masks and sums over the batch that differ from the right ones in one number, or in their axis.

use tensor::TensorName;

use super::{Hypothesis, Pattern, Scene, hypothesis};
use crate::chain::count;

pub(super) fn altered(scene: &Scene<'_>) -> Option<Pattern> {
    match scene.name {
        TensorName::A(layer) => {
            let z = scene.chain.get(TensorName::Z(layer))?;
            leaky(scene, TensorName::Z(layer), z, z).or_else(|| limited(scene, z))
        }
        TensorName::Dz(layer) if layer < scene.chain.layers() => {
            let da = scene.chain.get(TensorName::Da(layer))?;
            leaky(scene, TensorName::Da(layer), da, scene.chain.mask(layer)?)
        }
        TensorName::Db(layer) => summed(scene, layer),
        _ => None,
    }
}

/// A multiple of the input where relu, or its mask, lets nothing pass.
fn leaky(scene: &Scene<'_>, name: TensorName, input: &[f64], mask: &[f64]) -> Option<Pattern> {
    let layer = if let TensorName::A(l) | TensorName::Dz(l) = scene.name { l } else { 0 };
    let confirmed = scene.probes.iter().filter(|&&i| input[i] != 0.0).count() > 2;
    let made = |i: usize| if mask[i] > 0.0 { (input[i], 0.0) } else { (0.0, input[i]) };
    let words =
        |slope: f64| format!("it is leaky: {slope:.6} times {name} where z{layer} is not above 0");
    if confirmed { scene.try_scaled(made, words) } else { None }
}

/// An activation with an upper limit, or with a threshold other than 0.
fn limited(scene: &Scene<'_>, z: &[f64]) -> Option<Pattern> {
    let &first = scene.probes.first()?;
    let limit = scene.candidate[first];
    if scene.other_probes(first) < 2 {
        return None;
    }
    let mut family =
        vec![hypothesis(format!("no element is above {limit:.6}"), |i| z[i].max(0.0).min(limit))];
    let zeroed = scene.wrong.iter().filter(|&&i| scene.candidate[i] == 0.0).map(|&i| z[i]);
    let edge = zeroed.fold(f64::NEG_INFINITY, f64::max);
    if edge > 0.0 {
        let text = format!("it is 0 where z is up to {edge:.6}, not up to 0");
        family.push(hypothesis(text, move |i| if z[i] > edge { z[i] } else { 0.0 }));
    }
    scene.first(family)
}

/// `db` summed, or averaged, over everything or over the units: NumPy's `dz.sum()` without its `axis=0`, and
/// `axis=1`.
fn summed(scene: &Scene<'_>, layer: usize) -> Option<Pattern> {
    let name = TensorName::Dz(layer);
    let dz = scene.chain.get(name)?;
    let units = scene.candidate.len();
    let rows: Vec<f64> = dz.chunks_exact(units).map(|row| row.iter().sum()).collect();
    let total: f64 = rows.iter().sum();
    if rows.len() == 1 && units == 1 {
        return None;
    }
    // Each row of p - y sums to 0 if p is softmax's.
    let both_are_zero =
        rows.iter().chain([&total]).all(|sum| sum.abs() <= scene.tolerance(scene.probes[0], 0.0));
    let family: Vec<Hypothesis<'_>> = if both_are_zero {
        let text = format!(
            "it is 0 except for rounding, which is the sum of {name} without an axis, or over the units \
             instead of the samples"
        );
        vec![hypothesis(text, |_| 0.0)]
    } else {
        let rows = &rows;
        let of_row = move |i: usize| rows[i % rows.len()];
        let padded = move |i: usize| rows.get(i).copied().unwrap_or(0.0);
        let sum = format!("it is the sum of {name} over the units, not the samples");
        let mean = format!("it is the mean of {name} over the units, not its sum over the samples");
        let all = |what| format!("it is the {what} of all of {name}: the axis is missing");
        vec![
            hypothesis(all("sum"), move |_| total),
            hypothesis(all("mean"), move |_| total / count(dz.len())),
            hypothesis(format!("{sum}: the wrong axis"), of_row),
            hypothesis(format!("{sum}, and 0 after the last sample"), padded),
            hypothesis(mean, move |i| of_row(i) / count(units)),
        ]
    };
    scene.first(family)
}
