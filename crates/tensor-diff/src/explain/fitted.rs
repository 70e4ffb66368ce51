//! Hypotheses with a number that nobody knows beforehand: it is taken from one element, and has to
//! make all the others.

use tensor::TensorName;

use super::Pattern;
use super::{Hypothesis, Scene, hypothesis};

/// What is made of one number, or of two or three, for the whole tensor.
pub(super) fn one_number(scene: &Scene<'_>) -> Option<Pattern> {
    any_factor(scene)
        .or_else(|| constant(scene))
        .or_else(|| clipped(scene))
        .or_else(|| line(scene))
        .or_else(|| combination(scene))
}

/// One factor that nobody expects.
fn any_factor(scene: &Scene<'_>) -> Option<Pattern> {
    let &first = scene.probes.first()?;
    let factor = scene.candidate[first] / scene.expected[first];
    let others = scene.probes.iter().filter(|&&i| i != first).count();
    if others < 3 || !factor.is_finite() {
        return None;
    }
    let is_gradient = matches!(scene.name, TensorName::Dw(_) | TensorName::Db(_));
    let clipped = super::numbers::of_global_norm(scene.chain, factor).filter(|_| is_gradient);
    let clipped = clipped.map_or_else(String::new, |how| format!(", {how}"));
    let text = format!("every element is {factor:.6} times what it should be{clipped}");
    scene.first(vec![hypothesis(text, move |i| factor * scene.expected[i])])
}

/// One number for all elements.
fn constant(scene: &Scene<'_>) -> Option<Pattern> {
    let &first = scene.probes.first()?;
    let constant = scene.candidate[first];
    if scene.probes.len() < 3 || !constant.is_finite() {
        return None;
    }
    let text = format!("every element is {}", super::numbers::plain(constant));
    scene.first(vec![hypothesis(text, move |_| constant)])
}

/// Nothing is above one number, or nothing below another.
fn clipped(scene: &Scene<'_>) -> Option<Pattern> {
    let (mut high, mut low) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut at_the_end = 0;
    for &i in &scene.wrong {
        let (held, expected) = (scene.candidate[i], scene.expected[i]);
        if held.is_nan() {
            continue;
        }
        at_the_end += 1;
        if held < expected {
            high = high.min(held);
        } else {
            low = low.max(held);
        }
    }
    if at_the_end < 3 || low >= high {
        return None;
    }
    // What lies between the ends stays as it is; else it is a constant that is written.
    let between = |i: &usize| {
        let (expected, off) = (scene.expected[*i], scene.tolerance(*i, scene.expected[*i]));
        expected - low > off && high - expected > off && scene.fits(*i, expected)
    };
    if (0..scene.candidate.len()).filter(between).count() < 3 {
        return None;
    }
    let text = match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("it is clipped: nothing is above {high:.6} or below {low:.6}"),
        (true, false) => format!("it is clipped: nothing is below {low:.6}"),
        _ => format!("it is clipped: nothing is above {high:.6}"),
    };
    scene.first(vec![hypothesis(text, move |i| scene.expected[i].min(high).max(low))])
}

/// A straight line where a function of `z` should be.
fn line(scene: &Scene<'_>) -> Option<Pattern> {
    let z = scene.chain.get(match scene.name {
        TensorName::A(layer) => TensorName::Z(layer),
        TensorName::P => TensorName::Z(scene.chain.layers()),
        _ => return None,
    })?;
    let by_z = |&&a: &&usize, &&b: &&usize| z[a].total_cmp(&z[b]);
    let (&low, &high) = (scene.probes.iter().min_by(by_z)?, scene.probes.iter().max_by(by_z)?);
    let slope = (scene.candidate[high] - scene.candidate[low]) / (z[high] - z[low]);
    let start = scene.candidate[low] - slope * z[low];
    if scene.probes.len() < 4 || !slope.is_finite() {
        return None;
    }
    let text = format!("it is a straight line: {slope:.6} times z + {start:.6}");
    scene.first(vec![hypothesis(text, move |i| slope * z[i] + start)])
}

/// `α·p − β·y + γ` in place of `p − y`, and the same of an update.
fn combination(scene: &Scene<'_>) -> Option<Pattern> {
    let (names, scale) = match scene.name {
        TensorName::Dz(layer) if layer == scene.chain.layers() => {
            ([TensorName::P, TensorName::Y], 1.0 / scene.chain.batch() as f64)
        }
        name => {
            let (parameter, gradient) = crate::chain::operation::updated_from(name)?;
            ([parameter, gradient], 1.0)
        }
    };
    let (one, other) = (scene.chain.get(names[0])?, scene.chain.get(names[1])?);
    // What half of the elements say, the other half has to confirm.
    let wrong: Vec<usize> = scene.wrong.iter().copied().step_by(2).take(500).collect();
    if wrong.len() < 6 {
        return None;
    }
    let mut normal = [[0.0; 4]; 3];
    for &i in &wrong {
        let row = [one[i] * scale, other[i] * scale, scale, scene.candidate[i]];
        for a in 0..3 {
            for b in 0..4 {
                normal[a][b] += row[a] * row[b];
            }
        }
    }
    let [alpha, beta, gamma] = solved(normal)?;
    let rest = if gamma.abs() < 1e-6 { String::new() } else { format!(" + {gamma:.6}") };
    let over = if scale == 1.0 { "" } else { ", over B" };
    let text =
        format!("it is {alpha:.6} times {} + {beta:.6} times {}{rest}{over}", names[0], names[1]);
    scene.first(vec![hypothesis(text, move |i| scale * (alpha * one[i] + beta * other[i] + gamma))])
}

/// Three equations with three unknowns, by elimination with the largest pivot.
fn solved(mut rows: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for step in 0..3 {
        let pivot =
            (step..3).max_by(|&a, &b| rows[a][step].abs().total_cmp(&rows[b][step].abs()))?;
        rows.swap(step, pivot);
        let lead = rows[step];
        if lead[step] == 0.0 {
            return None;
        }
        for (at, row) in rows.iter_mut().enumerate() {
            if at != step {
                let factor = row[step] / lead[step];
                row.iter_mut().zip(lead).for_each(|(x, y)| *x -= factor * y);
            }
        }
    }
    let found = [0, 1, 2].map(|at| rows[at][3] / rows[at][at]);
    found.iter().all(|x| x.is_finite()).then_some(found)
}

/// A number for each row, or for each column: a factor, or what is added. What a row is divided by is
/// wrong, or a column's bias.
pub(super) fn of_rows_and_columns(scene: &Scene<'_>) -> Option<Pattern> {
    let &[rows, columns] = scene.shape else { return None };
    let mut family: Vec<Hypothesis<'_>> = Vec::new();
    for (what, groups, of) in [
        ("row", rows, Box::new(move |i: usize| i / columns) as Box<dyn Fn(usize) -> usize>),
        ("column", columns, Box::new(move |i: usize| i % columns)),
    ] {
        // The element of each group that is the farthest off, and how many of it are off.
        let mut farthest: Vec<Option<usize>> = vec![None; groups];
        let mut wrong = vec![0_usize; groups];
        let off = |i: usize| (scene.candidate[i] - scene.expected[i]).abs();
        for &i in scene.wrong.iter().filter(|&&i| scene.candidate[i].is_finite()) {
            let group = of(i);
            wrong[group] += 1;
            if farthest[group].is_none_or(|other| off(other) < off(i)) {
                farthest[group] = Some(i);
            }
        }
        // A group has to confirm its number with two more elements.
        if wrong.iter().any(|&wrong| wrong == 1 || wrong == 2) {
            continue;
        }
        let told = |how: fn(f64, f64) -> f64| -> Vec<f64> {
            let of = |i: Option<usize>| i.map(|i| how(scene.candidate[i], scene.expected[i]));
            farthest.iter().map(|&i| of(i).unwrap_or(f64::NAN)).collect()
        };
        let (factors, more) = (told(|c, e| c / e), told(|c, e| c - e));
        let sums = if what == "row" { sums(scene, columns) } else { String::new() };
        let ends = |all: &[f64]| {
            let finite = || all.iter().copied().filter(|x| x.is_finite());
            (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max))
        };
        let group = std::rc::Rc::new(of);
        let (least, most) = ends(&factors);
        let text =
            format!("each {what} has a factor of its own, from {least:.6} to {most:.6}{sums}");
        let at = std::rc::Rc::clone(&group);
        family.push(hypothesis(text, move |i| factors[at(i)] * scene.expected[i]));
        let (least, most) = ends(&more);
        let text =
            format!("to each {what} a number of its own is added, from {least:.6} to {most:.6}");
        family.push(hypothesis(text, move |i| more[group(i)] + scene.expected[i]));
    }
    scene.first(family)
}

/// What the rows of `p` sum to, where that should be 1.
fn sums(scene: &Scene<'_>, columns: usize) -> String {
    if scene.name != TensorName::P || scene.chain.losses() != [tensor::Loss::CrossEntropy] {
        return String::new();
    }
    let sums = scene.candidate.chunks_exact(columns).map(|row| row.iter().sum::<f64>());
    let (least, most) =
        sums.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), sum| (l.min(sum), m.max(sum)));
    format!(
        ": rows sum to {least:.6} at least and {most:.6} at most, not to 1, so what each is divided by is wrong"
    )
}

#[cfg(test)]
mod tests {
    use super::solved;

    #[test]
    fn three_equations_are_solved() {
        let found = solved([[0.0, 2.0, 1.0, 7.0], [1.0, 1.0, 1.0, 6.0], [2.0, 0.0, -1.0, -1.0]]);
        for (found, right) in found.unwrap().into_iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - right).abs() < 1e-12, "{found} {right}");
        }
        assert!(
            solved([[1.0, 1.0, 0.0, 2.0], [2.0, 2.0, 0.0, 4.0], [0.0, 0.0, 1.0, 1.0]]).is_none()
        );
    }
}
