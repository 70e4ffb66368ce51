//! Elements that are let through or set to 0: by which tensor, and above which number?

use tensor::TensorName;

use super::Pattern;
use super::Scene;
use super::numbers::{number, plain, simplest_between};

/// As many elements have to pass, and to be held back, that no tensor tells them apart by chance.
const AT_LEAST: usize = 3;

/// What is let through where it is let through, by name.
fn passing<'a>(scene: &'a Scene<'a>) -> Vec<(String, &'a [f64])> {
    let input = match scene.name {
        TensorName::A(layer) => Some(TensorName::Z(layer)),
        TensorName::Dz(layer) if layer < scene.chain.layers() => Some(TensorName::Da(layer)),
        _ => None,
    };
    let input = input.and_then(|name| Some((name.to_string(), scene.chain.get(name)?)));
    input.into_iter().chain([("what it should be".to_owned(), scene.expected)]).collect()
}

/// The elements that pass and those that are held back.
struct Gate<'a> {
    name: String,
    values: &'a [f64],
    factor: f64,
    passes: Vec<usize>,
    held: Vec<usize>,
}

impl<'a> Gate<'a> {
    fn of(scene: &'a Scene<'a>, name: String, values: &'a [f64]) -> Option<Self> {
        let known = || (0..values.len()).filter(|&i| scene.candidate[i].is_finite());
        let tells = |&i: &usize| values[i].abs() > 8.0 * scene.tolerance(i, values[i]);
        // The factor of what passes, by the largest of it.
        let largest = known()
            .filter(|&i| scene.candidate[i] != 0.0)
            .max_by(|&a, &b| values[a].abs().total_cmp(&values[b].abs()))?;
        let factor = scene.candidate[largest] / values[largest];
        let factor = if (factor - 1.0).abs() < 1e-4 { 1.0 } else { factor };
        if !factor.is_finite() || factor.abs() < 1e-3 {
            return None;
        }
        let (mut passes, mut held) = (Vec::new(), Vec::new());
        for i in known().filter(tells) {
            if scene.candidate[i] == 0.0 {
                held.push(i);
            } else if scene.fits(i, factor * values[i]) {
                passes.push(i);
            } else {
                return None;
            }
        }
        let enough = passes.len() >= AT_LEAST && held.len() >= AT_LEAST;
        enough.then_some(Self { name, values, factor, passes, held })
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
        let gate = Gate::of(scene, name, values)?;
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
    let least = |of: &[usize]| of.iter().map(|&i| by[i]).fold(f64::INFINITY, f64::min);
    let most = |of: &[usize]| of.iter().map(|&i| by[i]).fold(f64::NEG_INFINITY, f64::max);
    let what = gate.times(scene);
    let above = (most(&gate.held), least(&gate.passes));
    let below = (most(&gate.passes), least(&gate.held));
    if above.0 < above.1 {
        let edge = simplest_between(above.0, above.1);
        let edge = if edge >= above.1 { above.0 } else { edge };
        return scene.try_numbers(
            |i| if by[i] > edge { gate.factor * gate.values[i] } else { 0.0 },
            || format!("it is {what} where {text} is above {}, and 0 elsewhere", plain(edge)),
        );
    }
    if below.0 < below.1 {
        let edge = simplest_between(below.0, below.1);
        let edge = if edge <= below.0 { below.1 } else { edge };
        return scene.try_numbers(
            |i| if by[i] < edge { gate.factor * gate.values[i] } else { 0.0 },
            || format!("it is {what} where {text} is below {}, and 0 elsewhere", plain(edge)),
        );
    }
    None
}

/// The same where no tensor says which elements pass: what is held back is drawn.
pub(super) fn drawn(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.in_part || !scene.tells_after(10, 1) {
        return None;
    }
    let (name, values) = passing(scene).pop()?;
    let gate = Gate::of(scene, name, values)?;
    let all = gate.passes.len() + gate.held.len();
    let words = format!(
        "{} of {all} elements are 0 and the others {}: a mask that follows no tensor, as dropout has it",
        gate.held.len(),
        gate.times(scene)
    );
    scene.try_numbers(
        |i| if scene.candidate[i] == 0.0 { 0.0 } else { gate.factor * gate.values[i] },
        || words,
    )
}
