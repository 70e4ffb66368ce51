//! Images whose pixels were normalised wrongly: the wrong tensor is `x` itself, or a product that reads it.

use tensor::TensorName;

use super::formula::{Formula, Swap};
use super::index::Map;
use super::{Pattern, Scene, hypothesis};
use crate::chain::count;
use crate::numeric::norm;

/// The means and deviations of usual normalisations: MNIST's, none, and a half.
const NORMALISATIONS: [(f64, f64); 3] = [(0.1307, 0.3081), (0.0, 1.0), (0.5, 0.5)];

/// A wrong way to read pixels: a function of the byte, and whether the result is normalised.
type Way = (&'static str, fn(f64) -> f64, bool);

const WAYS: [Way; 7] = [
    ("not normalised", |byte| byte / 255.0, false),
    ("the bytes themselves: neither divided by 255 nor normalised", |byte| byte, false),
    ("normalised without a division by 255", |byte| byte, true),
    ("read as signed bytes: from 128 on, 256 is missing", signed, true),
    ("divided by 256, not by 255", |byte| byte / 256.0, true),
    ("inverted: 255 minus the byte", |byte| (255.0 - byte) / 255.0, true),
    ("read as signed bytes and not normalised", signed, false),
];

fn signed(byte: f64) -> f64 {
    (if byte > 127.0 { byte - 256.0 } else { byte }) / 255.0
}

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
    let (formula, of) = match scene.name {
        TensorName::X => (Formula::same(scene), ""),
        _ => (Formula::new(scene)?, " of x"),
    };
    let formula = &formula;
    let place = formula.operands.iter().position(|operand| of.is_empty() || operand.is("x"))?;
    scene.first(ways.iter().map(|(text, values)| {
        let swap = [Swap { place, values, map: Map::Right }];
        hypothesis(format!("the pixels{of} are {text}"), move |i| formula.total(i, &swap))
    }))
}

/// The images under each wrong normalisation; empty if their pixels aren't bytes.
fn ways(x: &[f64]) -> Vec<(&'static str, Vec<f64>)> {
    let byte = |x: f64, (mean, deviation): (f64, f64)| 255.0 * (x * deviation + mean);
    let is_byte = |byte: f64| (byte - byte.round()).abs() < 0.01 && (-0.5..255.5).contains(&byte);
    let mut found =
        NORMALISATIONS.into_iter().filter(|&how| x.iter().all(|&x| is_byte(byte(x, how))));
    let Some(how) = found.next() else { return Vec::new() };
    let normalised = |value: f64| (value - how.0) / how.1;
    let made = |(text, of, is_normalised): Way| {
        let bytes = x.iter().map(|&x| of(byte(x, how).round()));
        (text, bytes.map(|v| if is_normalised { normalised(v) } else { v }).collect())
    };
    let twice = ("normalised twice", x.iter().copied().map(normalised).collect::<Vec<f64>>());
    // Some ways to read pixels give the right values if pixels aren't normalised; these are no mistakes.
    let all = std::iter::once(twice).chain(WAYS.map(made));
    all.filter(|(_, values)| values.iter().zip(x).any(|(v, x)| (v - x).abs() > 1e-3)).collect()
}
