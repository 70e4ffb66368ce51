//! Operands, or results, that have fewer digits than they should.

use super::formula::{Formula, Swap};
use super::index::Map;
use super::{Hypothesis, Pattern, Scene, hypothesis};
use crate::chain::count;
use crate::describe::list;
use crate::finding::PatternKind;
use tensor::TensorName::{Da, Db, Dw, Dz};

/// A number format: its name, its fraction bits, and its least exponent.
type Format = (&'static str, i32, i32);

/// Formats that products are made in; see NVIDIA's PTX ISA, "Alternate floating point data formats".
const FORMATS: [Format; 3] = [("half", 10, -14), ("bfloat16", 7, -126), ("TF32", 10, -126)];

/// The number, rounded to the nearest one of the format, or cut.
fn shortened(value: f64, (_, digits, least): Format, cut: bool) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = (value.abs().log2().floor() as i32).max(least);
    let quantum = f64::from(exponent - digits).exp2();
    let steps = value / quantum;
    quantum * if cut { steps.trunc() } else { steps.round_ties_even() }
}

/// Tries subnormal numbers that are flushed to 0: in results (FTZ), or in operands (DAZ). They are so small that few
/// exceed their bounds by much, so all elements together are the evidence.
pub(super) fn flushed(scene: &Scene<'_>) -> Option<Pattern> {
    let flush = |x: f64| if x.abs() < f64::from(f32::MIN_POSITIVE) { 0.0 } else { x };
    let is_small = |x: &f64| flush(*x) != *x;
    if scene.unit == f64::EPSILON {
        return None;
    }
    let all = 0..scene.candidate.len();
    // The number of elements outside their bounds that a prediction of all elements explains.
    let explains = |made: &dyn Fn(usize) -> f64| {
        let fits = |i: usize| match made(i) {
            0.0 if scene.expected[i] != 0.0 => scene.candidate[i] == 0.0,
            made => scene.fits(i, made),
        };
        let is_outside =
            |&i: &usize| (scene.candidate[i] - scene.expected[i]).abs() > scene.bounds[i];
        // If nothing is left of the tensor, it may not have been written.
        let explained = all.clone().all(fits) && scene.candidate.iter().any(|&held| held != 0.0);
        if explained { all.clone().filter(is_outside).count() } else { 0 }
    };
    let has_small = scene.expected.iter().any(is_small);
    let results = if has_small { explains(&|i| flush(scene.expected[i])) } else { 0 };
    let formula = Formula::new(scene);
    let operands = formula.iter().flat_map(|formula| formula.operands.iter().enumerate());
    let small = operands.filter(|(_, one)| one.values.iter().any(is_small));
    let small = small.map(|(place, one)| (place, one.values.iter().map(|&x| flush(x)).collect()));
    let small: Vec<(usize, Vec<f64>)> = small.collect();
    // All operands together, and each one.
    let groups =
        std::iter::once(&small[..]).chain(small.chunks(1)).filter(|group| !group.is_empty());
    let operands = groups.filter_map(|group| {
        let (formula, swaps) = (formula.as_ref()?, swaps(group));
        let made = |i: usize| formula.total(i, &swaps);
        let explained = explains(&made).max(explains(&|i| flush(made(i))));
        let names = list(group.iter().map(|(place, _)| &formula.operands[*place].name));
        (explained > 0).then_some((explained, names))
    });
    let operands = operands.rev().max_by_key(|(explained, _)| *explained);
    let ftz = "subnormal results are flushed to 0 (FTZ)";
    let text = match &operands {
        None if results == 0 => return None,
        None => ftz.to_owned(),
        Some((_, names)) => {
            let daz = format!("subnormal elements of {names} are read as 0 (DAZ)");
            if results == 0 { daz } else { format!("{ftz}, or {daz}") }
        }
    };
    let text = format!("numbers below 2^-126 become 0: {text}");
    let explains = operands.map_or(0, |(explained, _)| explained).max(results);
    Some(Pattern { kind: PatternKind::Explained, text, explains })
}

pub(super) fn rounded(scene: &Scene<'_>) -> Option<Pattern> {
    operands(scene).or_else(|| accumulated(scene)).or_else(|| result(scene))
}

/// A way to lose digits, in words and as a function.
type Way = (String, Box<dyn Fn(f64) -> f64>);

/// All ways to lose digits.
pub(super) fn ways() -> Vec<Way> {
    let mut all: Vec<Way> = Vec::new();
    for format in FORMATS {
        for cut in [false, true] {
            let how = format!("{} to {}", if cut { "cut" } else { "rounded" }, format.0);
            all.push((how, Box::new(move |value| shortened(value, format, cut))));
        }
    }
    all.push(("rounded to whole numbers".into(), Box::new(f64::round_ties_even)));
    all.push(("cut to whole numbers".into(), Box::new(f64::trunc)));
    all.push(("rounded down to whole numbers".into(), Box::new(f64::floor)));
    all
}

/// Operands with other values, as they are read.
fn swaps(operands: &[(usize, Vec<f64>)]) -> Vec<Swap<'_>> {
    let all = operands.iter().map(|(place, values)| (*place, values));
    all.map(|(place, values)| Swap { place, values, map: Map::Right }).collect()
}

/// Operands that lost digits, in words, and their values.
type Shortened = (String, Vec<(usize, Vec<f64>)>);

/// Every way to shorten the operands. The bias of a sum counts too little to be among them.
fn shortened_operands(formula: &Formula<'_>) -> Vec<Shortened> {
    let mut groups = formula.places();
    if formula.factors() > 0 {
        groups.retain(|places| places[0] < formula.factors());
    }
    if formula.factors() == 2 {
        groups.insert(0, vec![0, 1]);
    }
    let mut all: Vec<Shortened> = Vec::new();
    for places in groups {
        let mut names: Vec<&str> =
            places.iter().map(|&place| &formula.operands[place].name[..]).collect();
        names.dedup();
        let names =
            format!("{} {}", names.join(" and "), if names.len() == 1 { "is" } else { "are" });
        let start = all.len();
        for (how, of) in ways() {
            let own = |place: usize| formula.operands[place].values.iter().map(|&value| of(value));
            let made: Vec<(usize, Vec<f64>)> =
                places.iter().map(|&place| (place, own(place).collect())).collect();
            // If nothing is left of an operand, its digits are not the mistake: any tiny result would fit.
            if made.iter().any(|(_, values)| values.iter().all(|&value| value == 0.0)) {
                continue;
            }
            // TF32 has as many digits as half, and differs from it only in its exponents.
            match all[start..].iter_mut().find(|(_, other)| *other == made) {
                Some((text, _)) => {
                    let format = how.rsplit_once(" to ").map_or("", |(_, format)| format);
                    *text += &format!(" or {format}");
                }
                None => all.push((format!("{names} {how}"), made)),
            }
        }
    }
    all
}

/// The hypotheses that an operand was rounded to fewer digits.
fn operands(scene: &Scene<'_>) -> Option<Pattern> {
    let formula = &Formula::new(scene)?;
    if !scene.tells(50) {
        return None;
    }
    shortened_operands(formula).into_iter().find_map(|(text, made)| {
        let swaps = swaps(&made);
        scene.try_numbers(|i| formula.total(i, &swaps), || text)
    })
}

/// The maximum number of elements in a statistic: more would hardly change it.
const SAMPLE: usize = 256;
/// A hypothesis has to leave at most this share of the errors' root mean square.
const LEFT_OVER: f64 = 0.125;

/// Shortened operands, recognised by the errors of all elements together.
///
/// Such errors are far smaller than the bound of a long sum, so that few elements or none exceed their bounds. But they
/// follow from the operands to the last digit, and a hypothesis that is right leaves nearly nothing of them.
pub(super) fn of_all_errors(scene: &Scene<'_>) -> Option<Pattern> {
    let operands = shortened_throughout(scene).map(|text| {
        let text =
            format!("{text}: that explains the errors of all elements, within their bounds or not");
        Pattern { kind: PatternKind::Explained, text, explains: 0 }
    });
    operands.or_else(|| result(scene))
}

/// The operands that were shortened, and the format that they were shortened to.
pub(super) fn shortened_throughout(scene: &Scene<'_>) -> Option<String> {
    let formula = &Formula::new(scene).filter(|formula| formula.factors() == 2)?;
    let known: Vec<usize> =
        (0..scene.candidate.len()).filter(|&i| scene.candidate[i].is_finite()).collect();
    let step = known.len().div_ceil(SAMPLE).max(1);
    let sample: Vec<usize> = known.into_iter().step_by(step).collect();
    let root_mean_square = |predicted: &dyn Fn(usize) -> f64| {
        let squares = sample.iter().map(|&i| (scene.candidate[i] - predicted(i)).powi(2));
        (squares.sum::<f64>() / sample.len() as f64).sqrt()
    };
    let allowed = LEFT_OVER * root_mean_square(&|i| scene.expected[i]);
    // A float32 sum is never closer than its own roundings: without errors there is nothing to explain.
    let elements = sample.iter().filter(|&&i| scene.candidate[i] != scene.expected[i]).count();
    if elements < 16 || !allowed.is_finite() {
        return None;
    }
    let left_over = shortened_operands(formula).into_iter().map(|(text, made)| {
        let swaps = swaps(&made);
        (text, root_mean_square(&|i| formula.total(i, &swaps)))
    });
    let left_over: Vec<(String, f64)> = left_over.collect();
    let least = left_over.iter().map(|(_, left)| *left).min_by(f64::total_cmp)?;
    // TF32 and half only differ in their exponents, and few numbers distinguish them.
    let mut near = left_over.iter().filter(|(_, left)| *left <= 1.25 * least);
    let (mut text, _) = near.next()?.clone();
    for (other, _) in near {
        let (operands, format) = other.rsplit_once(" to ")?;
        if text.starts_with(operands) && !text.contains(format) {
            text = format!("{text} or {format}");
        }
    }
    (least <= allowed).then_some(text)
}

/// Tries a sum that is rounded after each term, from the first to the last. The products may be rounded as well, and
/// the sum may start with the bias.
fn accumulated(scene: &Scene<'_>) -> Option<Pattern> {
    let sum = &Formula::sum(scene)?;
    let mut family: Vec<Hypothesis<'_>> = Vec::new();
    for format in FORMATS.into_iter().take(2) {
        let short = move |value: f64| shortened(value, format, false);
        for (products, biased) in [(false, false), (true, false), (false, true), (true, true)] {
            let term = move |i: usize, k: usize| {
                let term = sum.term(i, k);
                if products { short(term) } else { term }
            };
            let text = format!("the sum is kept in {}: it is rounded after each term", format.0);
            family.push(hypothesis(text, move |i| {
                let base = sum.base_of(i);
                let start = if biased { short(base) } else { 0.0 };
                let all = (0..sum.length).fold(start, |all, k| short(all + term(i, k)));
                if biased { all } else { all + base }
            }));
        }
    }
    scene.first(family)
}

/// Tries a result whose elements all are numbers of a shorter format: the nearest one or its neighbour, or as far off
/// as the roundings of a sum may be. A `float32` is rarely such a number by chance, because many of its last digits
/// would have to be 0.
fn result(scene: &Scene<'_>) -> Option<Pattern> {
    let elements = || scene.candidate.iter().zip(scene.expected).enumerate();
    let many = elements().filter(|(_, (held, right))| held != right).count() >= 16;
    if scene.seen.is_some() || scene.wrong.len() < 3 && !many {
        return None;
    }
    // The distance of the farthest element, less its tolerance, in units of its quantum.
    let farthest = |quantum: &dyn Fn(f64) -> f64| {
        let off = elements().map(|(i, (held, right))| {
            let off = (held - right).abs() - scene.tolerance(i, *right);
            off / quantum(right.abs().max(held.abs()))
        });
        off.fold(0.0, f64::max)
    };
    let explained = |text: String| {
        Some(Pattern { kind: PatternKind::Explained, text, explains: scene.wrong.len() })
    };
    let terms = Formula::sum(scene).map_or(1, |sum| sum.length);
    let [half, bfloat16, tf32] = FORMATS;
    // A gradient may have been rounded before its division by B, which itself rounds to float32.
    let is_gradient = matches!(scene.name, Da(_) | Db(_) | Dw(_) | Dz(_));
    let batch = count(scene.chain.batch());
    let scales = [(1.0, 0.0, ""), (batch, scene.unit, " before the division by B")];
    // The shortest first: its numbers are also numbers of the longer formats.
    for (format, (scale, off_it, when)) in
        [bfloat16, half, tf32].into_iter().flat_map(|format| scales.map(|scale| (format, scale)))
    {
        let (name, digits, least) = format;
        let on_it = |&held: &f64| {
            let value = scale * held;
            (shortened(value, format, false) - value).abs() <= off_it * value.abs()
        };
        if scale != 1.0 && !is_gradient || !scene.candidate.iter().all(on_it) {
            continue;
        }
        let off = farthest(&|size| {
            let exponent = ((scale * size).log2().floor() as i32).max(least);
            f64::from(exponent - digits).exp2() / scale
        });
        let text = format!(
            "every element has {digits} binary digits after the point, as {name} has{when}"
        );
        if off <= 1.0 {
            return explained(text);
        }
        if terms > 1 && off <= terms as f64 {
            return explained(format!(
                "{text}, and is off by more than the last of them: the sum is kept in {name}"
            ));
        }
    }
    if scene.wrong.len() < 3 {
        return None;
    }
    if elements().all(|(_, (&held, _))| held == scene.candidate[0]) {
        return None;
    }
    // Decimal or binary places.
    let grids = [1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 0.5, 0.25, 0.125, 0.062_5];
    grids.into_iter().find_map(|grid| {
        let on_it = |value: f64| {
            ((value / grid).round() * grid - value).abs() <= 1e-6 * value.abs().max(1e-3 * grid)
        };
        if !scene.candidate.iter().all(|&held| on_it(held)) {
            return None;
        }
        let off = farthest(&|_| grid);
        let smaller = |(i, (held, right)): (usize, (&f64, &f64))| {
            held.abs() <= right.abs() + scene.tolerance(i, *right)
        };
        // A number farther than half a step from the right one was not rounded to it: a sign, for example, is ±1.
        let how = match off {
            _ if off <= 1.0 + 1e-6 && elements().all(smaller) => "cut",
            _ if off <= 0.5 + 1e-6 => "rounded",
            _ => return None,
        };
        explained(format!("every element is {how} to a multiple of {grid}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE 754-2019, 4.3.1, and the widths of the formats.
    #[test]
    fn numbers_are_rounded_and_cut_to_each_format() {
        let [half, bfloat16, tf32] = FORMATS;
        assert_eq!(shortened(1.0 + 1.0 / 2048.0, half, false), 1.0);
        assert_eq!(shortened(1.0 + 3.0 / 2048.0, half, false), 1.0 + 2.0 / 1024.0);
        assert_eq!(shortened(1.0 + 3.0 / 2048.0, half, true), 1.0 + 1.0 / 1024.0);
        assert_eq!(shortened(-1.996, bfloat16, true), -1.9921875);
        assert_eq!(shortened(-1.9999, bfloat16, false), -2.0);
        // Below 2^-14 half has no more than 2^-24 to step by; TF32 has the exponents of float32.
        assert_eq!(shortened(2.5 / 16_777_216.0, half, false), 2.0 / 16_777_216.0);
        assert_eq!(shortened(2.5 / 16_777_216.0, tf32, false), 2.5 / 16_777_216.0);
    }
}
