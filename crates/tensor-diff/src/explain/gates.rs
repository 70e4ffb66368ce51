//! Elements that pass or are set to 0, depending on whether another tensor is above or below a threshold.

use tensor::TensorName;

use super::numbers::{number, plain, simplest_between};
use super::{Function, Pattern, Scene};
use crate::numeric::extremes;

/// The least number of elements that pass, and of those that are set to 0: fewer may be separated by chance.
const MIN_ELEMENTS: usize = 3;

/// The tensors whose elements may pass, with their names.
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

/// Tries thresholds of another tensor, or of its magnitude, that separate the elements that pass from the others.
pub(super) fn opened(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.in_part || !scene.tells_after(200, 0) {
        return None;
    }
    let same = scene.tensors().into_iter().filter(|(.., v)| v.len() == scene.candidate.len());
    let same = same.map(|(text, .., values)| (text, values));
    let tensors: Vec<_> = same.chain([("what it should be".into(), scene.expected)]).collect();
    let ways: [Function; 2] = [("", |x| x), ("the magnitude of ", f64::abs)];
    let all = ways.iter().flat_map(|way| tensors.iter().map(move |by| (way, by)));
    let all = all.flat_map(|by| [(by, 1.0, "above"), (by, -1.0, "below")]);
    passing(scene).into_iter().find_map(|(name, values)| {
        let gate = &Gate::new(scene, name, values)?;
        all.clone().find_map(|(((what, of), (text, by)), sign, side)| {
            let at = |i: usize| sign * of(by[i]);
            let ends = |elements: &[usize]| extremes(elements.iter().map(|&i| at(i)));
            let ((_, shut), (open, _)) = (ends(&gate.zeroed), ends(&gate.passes));
            let edge = simplest_between(shut, open);
            let edge = if edge >= open { shut } else { edge };
            let made = |i| if at(i) > edge { gate.factor * gate.values[i] } else { 0.0 };
            let words = || {
                // Adding 0 turns −0 into 0.
                let (passes, edge) = (gate.times(scene), plain(sign * edge + 0.0));
                format!("it is {passes} where {what}{text} is {side} {edge}, and 0 elsewhere")
            };
            if shut < open { scene.try_numbers(made, words) } else { None }
        })
    })
}

/// Tries elements that are set to 0 independently of every tensor, as by dropout.
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
