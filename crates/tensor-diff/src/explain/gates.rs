//! Elements that pass or are set to 0, depending on whether another tensor is above or below a threshold.

use tensor::TensorName;

use super::numbers::{number, plain, simplest_between};
use super::{Pattern, Scene};
use crate::numeric::extremes;

/// The least number of elements that pass, and of those that are set to 0: fewer may be separated by chance.
const MIN_ELEMENTS: usize = 3;

/// The tensors that may pass, by name.
fn passing<'a>(scene: &'a Scene<'a>) -> Vec<(String, &'a [f64])> {
    let input = match scene.name {
        TensorName::A(layer) => Some(TensorName::Z(layer)),
        TensorName::Dz(layer) if layer < scene.chain.layers() => Some(TensorName::Da(layer)),
        _ => None,
    };
    let input = input.and_then(|name| Some((name.to_string(), scene.chain.get(name)?)));
    input.into_iter().chain([("what it should be".to_owned(), scene.expected)]).collect()
}

/// The elements that pass, times a factor, and those that are set to 0.
struct Gate<'a> {
    name: String,
    values: &'a [f64],
    factor: f64,
    passes: Vec<usize>,
    zeroed: Vec<usize>,
}

impl<'a> Gate<'a> {
    fn new(scene: &'a Scene<'a>, name: String, values: &'a [f64]) -> Option<Self> {
        let known = || (0..values.len()).filter(|&i| scene.candidate[i].is_finite());
        let tells = |&i: &usize| values[i].abs() > 8.0 * scene.tolerance(i, values[i]);
        // The largest element that passes determines the factor.
        let largest = known()
            .filter(|&i| scene.candidate[i] != 0.0)
            .max_by(|&a, &b| values[a].abs().total_cmp(&values[b].abs()))?;
        let factor = scene.candidate[largest] / values[largest];
        let factor = if (factor - 1.0).abs() < 1e-4 { 1.0 } else { factor };
        if !factor.is_finite() || factor.abs() < 1e-3 {
            return None;
        }
        let (mut passes, mut zeroed) = (Vec::new(), Vec::new());
        for i in known().filter(tells) {
            if scene.candidate[i] == 0.0 {
                zeroed.push(i);
            } else if scene.fits(i, factor * values[i]) {
                passes.push(i);
            } else {
                return None;
            }
        }
        let enough = passes.len() >= MIN_ELEMENTS && zeroed.len() >= MIN_ELEMENTS;
        enough.then_some(Self { name, values, factor, passes, zeroed })
    }

    fn times(&self, scene: &Scene<'_>) -> String {
        match self.factor {
            1.0 => self.name.clone(),
            factor => format!("{} times {}", number(scene, factor), self.name),
        }
    }
}

pub(super) fn opened(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.in_part || !scene.tells_after(200, 0) {
        return None;
    }
    let tensors = tensors(scene);
    passing(scene).into_iter().find_map(|(name, values)| {
        let gate = Gate::new(scene, name, values)?;
        tensors.iter().find_map(|(text, by)| opened_by(scene, &gate, text, by))
    })
}

/// The tensors that may open a gate, and their magnitudes.
fn tensors(scene: &Scene<'_>) -> Vec<(String, Vec<f64>)> {
    let same = scene.tensors().into_iter().filter(|(.., v)| v.len() == scene.candidate.len());
    let mut all: Vec<(String, Vec<f64>)> = same.map(|(text, .., v)| (text, v.to_vec())).collect();
    all.push(("what it should be".into(), scene.expected.to_vec()));
    let magnitudes: Vec<(String, Vec<f64>)> = all
        .iter()
        .map(|(text, v)| (format!("the magnitude of {text}"), v.iter().map(|x| x.abs()).collect()))
        .collect();
    all.extend(magnitudes);
    all
}

fn opened_by(scene: &Scene<'_>, gate: &Gate<'_>, text: &str, by: &[f64]) -> Option<Pattern> {
    let of = |elements: &[usize]| extremes(elements.iter().map(|&i| by[i]));
    let ((least_zeroed, most_zeroed), (least, most)) = (of(&gate.zeroed), of(&gate.passes));
    let what = gate.times(scene);
    let passes = |i: usize| gate.factor * gate.values[i];
    if most_zeroed < least {
        let edge = simplest_between(most_zeroed, least);
        let edge = if edge >= least { most_zeroed } else { edge };
        return scene.try_numbers(
            |i| if by[i] > edge { passes(i) } else { 0.0 },
            || format!("it is {what} where {text} is above {}, and 0 elsewhere", plain(edge)),
        );
    }
    if most < least_zeroed {
        let edge = simplest_between(most, least_zeroed);
        let edge = if edge <= most { least_zeroed } else { edge };
        return scene.try_numbers(
            |i| if by[i] < edge { passes(i) } else { 0.0 },
            || format!("it is {what} where {text} is below {}, and 0 elsewhere", plain(edge)),
        );
    }
    None
}

/// Elements that are set to 0 independently of every tensor, as by dropout.
pub(super) fn drawn(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.in_part || !scene.tells_after(10, 1) {
        return None;
    }
    let (name, values) = passing(scene).pop()?;
    let gate = Gate::new(scene, name, values)?;
    let all = gate.passes.len() + gate.zeroed.len();
    let words = format!(
        "{} of {all} elements are 0 and the others {}: a mask that depends on no tensor, as in dropout",
        gate.zeroed.len(),
        gate.times(scene)
    );
    scene.try_numbers(
        |i| if scene.candidate[i] == 0.0 { 0.0 } else { gate.factor * gate.values[i] },
        || words,
    )
}
