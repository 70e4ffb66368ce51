//! Images whose pixels were normalised wrongly: the wrong tensor is `x` itself, or a product that reads it.

use tensor::TensorName;

use super::formula::{Formula, Swap};
use super::index::Map;
use super::{Pattern, Scene, hypothesis};
use crate::chain::count;
use crate::numeric::norm;

/// The means and deviations of usual normalisations: MNIST's, none, and a half.
const NORMALISATIONS: [(f64, f64); 3] = [(0.1307, 0.3081), (0.0, 1.0), (0.5, 0.5)];

/// A wrong normalisation: a function of the byte, of the right value, and of the mean and deviation.
type Way = (&'static str, fn(f64, f64, (f64, f64)) -> f64);

const WAYS: [Way; 8] = [
    ("normalised twice", |_, x, (mean, deviation)| (x - mean) / deviation),
    ("not normalised", |byte, _, _| byte / 255.0),
    ("the bytes themselves: neither divided by 255 nor normalised", |byte, _, _| byte),
    ("normalised without a division by 255", |byte, _, (mean, deviation)| {
        (byte - mean) / deviation
    }),
    ("read as signed bytes: from 128 on, 256 is missing", |byte, _, (mean, deviation)| {
        ((if byte > 127.0 { byte - 256.0 } else { byte }) / 255.0 - mean) / deviation
    }),
    ("divided by 256, not by 255", |byte, _, (mean, deviation)| (byte / 256.0 - mean) / deviation),
    ("inverted: 255 minus the byte", |byte, _, (mean, deviation)| {
        ((255.0 - byte) / 255.0 - mean) / deviation
    }),
    ("read as signed bytes and not normalised", |byte, _, _| {
        (if byte > 127.0 { byte - 256.0 } else { byte }) / 255.0
    }),
];

/// A function of all pixels of an image.
type ByImage = (&'static str, fn(&[f64]) -> Vec<f64>);

const BY_IMAGE: [ByImage; 5] = [
    ("less their image's mean", |image| image.iter().map(|x| x - mean(image)).collect()),
    ("less their image's mean, over its deviation", |image| {
        let mean = mean(image);
        let squares: f64 = image.iter().map(|x| (x - mean).powi(2)).sum();
        let deviation = (squares / count(image.len())).sqrt();
        image.iter().map(|x| (x - mean) / deviation).collect()
    }),
    ("divided by their image's norm", |image| image.iter().map(|x| x / norm(image)).collect()),
    ("clipped to 0 and 1", |image| image.iter().map(|x| x.clamp(0.0, 1.0)).collect()),
    ("1 above 0, and 0 elsewhere", |image| {
        image.iter().map(|&x| f64::from(u8::from(x > 0.0))).collect()
    }),
];

fn mean(image: &[f64]) -> f64 {
    image.iter().sum::<f64>() / count(image.len())
}

pub(super) fn misread(scene: &Scene<'_>) -> Option<Pattern> {
    let x = scene.chain.get(TensorName::X)?;
    let mut ways = ways(x);
    let columns = *scene.chain.sizes().first()?;
    ways.extend(BY_IMAGE.map(|(text, of)| (text, x.chunks(columns).flat_map(of).collect())));
    if scene.name == TensorName::X {
        let family = ways
            .into_iter()
            .map(|(text, values)| hypothesis(format!("the pixels are {text}"), move |i| values[i]));
        return scene.first(family);
    }
    let formula = &Formula::new(scene)?;
    let place = formula.operands.iter().position(|operand| operand.is("x"))?;
    let family = ways.iter().map(|(text, values)| {
        let swap = [Swap { place, values, map: Map::Right }];
        hypothesis(format!("the pixels of x are {text}"), move |i| formula.total(i, &swap))
    });
    scene.first(family)
}

/// The images under each wrong normalisation; empty if their pixels aren't bytes.
fn ways(x: &[f64]) -> Vec<(&'static str, Vec<f64>)> {
    let byte = |x: f64, (mean, deviation): (f64, f64)| 255.0 * (x * deviation + mean);
    let is_byte = |byte: f64| (byte - byte.round()).abs() < 0.01 && (-0.5..255.5).contains(&byte);
    let mut found =
        NORMALISATIONS.into_iter().filter(|&how| x.iter().all(|&x| is_byte(byte(x, how))));
    let Some(how) = found.next() else { return Vec::new() };
    let made = |(text, of): Way| {
        (text, x.iter().map(|&x| of(byte(x, how).round(), x, how)).collect::<Vec<f64>>())
    };
    // Some ways to read pixels give the right values if pixels aren't normalised; these are no mistakes.
    WAYS.into_iter()
        .map(made)
        .filter(|(_, values)| values.iter().zip(x).any(|(v, x)| (v - x).abs() > 1e-3))
        .collect()
}
