//! Hypotheses: what an operation would compute from its own inputs if it were wrong in one
//! way.
//!
//! Each family of hypotheses is systematic: every subset of a sum's terms that loops and tiles cut
//! out, every tensor of the dump in place of an operand, every way to misread it. A hypothesis
//! predicts numbers, and is reported only if it reproduces all the wrong ones to within rounding.
//! The larger an error is relative to its bound, the less likely a number fits by chance. So the more
//! hypotheses a family has, the more wrong elements it must explain to be believed. Anything that no
//! hypothesis explains is reported as unexplained, with its location.

mod features;
mod fitted;
mod formula;
mod gates;
mod hidden;
mod index;
mod losses;
mod misread;
mod multiples;
mod named;
mod not_finite;
pub(crate) mod numbers;
mod optimisers;
mod outputs;
mod pixels;
mod precision;
mod solve;
mod terms;
mod weights;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use tensor::{Dtype, Dump, TensorName};

use crate::chain::Chain;
use crate::describe::place::{self, Part};
use crate::finding::{Finding, Pattern, PatternKind, Wrong};
use crate::judge::{is_usual, usual_errors};
use crate::numeric::largest_magnitude;

/// The number of wrong elements that a hypothesis is tried on first.
const PROBES: usize = 12;
/// The largest acceptable probability that any hypothesis of a family fits by chance.
const BY_CHANCE: f64 = 0.01;
/// The number of families of hypotheses that are likely to be tried on a few wrong elements.
const FAMILIES: f64 = 10.0;
/// The tolerance of a prediction, in bounds: its inputs are rounded, and its operations round differently.
const SLACK: f64 = 4.0;
/// The bound of the usual error of a sum, as a multiple of its standard deviation.
const USUAL: f64 = 4.0;

/// A tensor that is wrong by itself, with everything that may explain it.
pub(crate) struct Scene<'a> {
    name: TensorName,
    chain: &'a Chain<'a>,
    /// The step of the tensor, and the steps before and after it.
    dump: &'a Dump,
    before: Option<&'a Dump>,
    later: &'a [Dump],
    expected: &'a [f64],
    candidate: &'a [f64],
    bounds: Cow<'a, [f64]>,
    /// The distance of neighbouring numbers of the dump's format, relative to their size.
    unit: f64,
    shape: &'a [usize],
    /// The elements that are far outside their bounds.
    wrong: Vec<usize>,
    /// Some of the wrong elements, the farthest off first.
    probes: Vec<usize>,
    /// The least relative tolerance of a prediction, from the largest bound and the largest element.
    relative: f64,
    /// The least tolerance of every prediction: for images, a rounding of the largest pixel; otherwise 0.
    floor: f64,
    /// Whether a hypothesis may hold in only a part of the tensor.
    in_part: bool,
    /// Whether a hypothesis explained the wrong elements, but changed right ones, too: it may hold in a part.
    changes_right: Cell<bool>,
    /// The parts that hold all wrong elements.
    parts: OnceCell<Vec<Part>>,
    /// The usual errors of a sum.
    usual: Option<Vec<f64>>,
    /// The wrong tensor, if this one is hidden: an input of the wrong tensor that was never stored.
    seen: Option<hidden::WrongTensor<'a>>,
}

/// A possible mistake in words, and its prediction of each element; NaN if it predicts nothing there.
struct Hypothesis<'s> {
    text: String,
    predict: Box<dyn Fn(usize) -> f64 + 's>,
}

fn hypothesis<'s>(text: impl Into<String>, predict: impl Fn(usize) -> f64 + 's) -> Hypothesis<'s> {
    Hypothesis { text: text.into(), predict: Box::new(predict) }
}

/// A function of a number; its words may have a place for the number's name.
type Function = (&'static str, fn(f64) -> f64);

/// A tensor that may explain the wrong one: its name in words, its name, whether it is from the previous step, and its
/// values.
type Tensor<'a> = (String, TensorName, bool, &'a [f64]);

/// The simplest mistake that explains the wrong elements: in the operation that makes the tensor, or in
/// the one before it, which may be part of a fused kernel.
pub(crate) fn explain(wrong: &Wrong<'_>) -> Option<Pattern> {
    let mut scene = Scene::new(wrong, Cow::Borrowed(wrong.bounds));
    // In the first step, a dampened momentum is only a factor, which `named` would claim.
    let named = precision::flushed(&scene)
        .or_else(|| optimisers::with_momentum(&scene))
        .or_else(|| named::of_all_elements(&scene, wrong));
    if named.is_some() {
        return named;
    }
    // Errors just outside their bounds fit many hypotheses: only all of them together are evidence.
    let stands_out = !scene.wrong.is_empty() || scene.name == TensorName::Loss;
    let mut usual = usual_bounds(wrong).map(|bounds| Scene::new(wrong, bounds));
    let usual = usual.as_mut().filter(|usual| !usual.wrong.is_empty());
    let own = explained(usual.into_iter().chain(stands_out.then_some(&mut scene)).collect());
    let own = own.map(|own| Pattern { explains: own.explains.min(wrong.outside().len()), ..own });
    own.or_else(|| precision::of_all_errors(&scene)).or_else(|| {
        let hidden = hidden::Hidden::new(&scene)?;
        let mut inner = hidden.scene(&scene)?;
        let own = if inner.wrong.is_empty() { None } else { explained(vec![&mut inner]) };
        let found = own.or_else(|| precision::of_all_errors(&inner))?;
        let text = if hidden.is_written {
            format!("as if it were made of another {}: {}", hidden.name, found.text)
        } else {
            format!("in {}, which is not materialised: {}", hidden.name, found.text)
        };
        Some(Pattern { text, ..found })
    })
}

/// The bounds of a sum by its usual errors, which are far smaller than those of the worst case, and so confirm more.
fn usual_bounds<'a>(wrong: &Wrong<'a>) -> Option<Cow<'a, [f64]>> {
    let usual = wrong.usual_errors()?;
    Some(usual.iter().zip(wrong.bounds).map(|(usual, bound)| bound.min(USUAL * usual)).collect())
}

impl Wrong<'_> {
    /// The usual errors of a sum that is judged by itself.
    fn usual_errors(&self) -> Option<Vec<f64>> {
        let alone = self.finding.compared.is_none();
        alone.then(|| usual_errors(self.finding.context, self.name)).flatten()
    }
}

/// An explanation of errors within the bounds: operands with too few digits, in the operation that makes the tensor
/// or in the one before it.
pub(crate) fn errors(finding: &Finding<'_>) -> Option<String> {
    let wrong = Wrong::new(finding)?;
    let scene = Scene::new(&wrong, Cow::Borrowed(wrong.bounds));
    precision::shortened_throughout(&scene).or_else(|| {
        let hidden = hidden::Hidden::new(&scene)?;
        precision::shortened_throughout(&hidden.scene(&scene)?)
    })
}

/// The cause of elements that aren't finite.
pub(crate) fn not_finite(finding: &Finding<'_>) -> Option<String> {
    not_finite::cause(&Wrong::new(finding)?)
}

/// The first family that explains one of these scenes of a tensor.
fn explained(mut scenes: Vec<&mut Scene<'_>>) -> Option<Pattern> {
    // ANCHOR: families
    type Family = fn(&Scene<'_>) -> Option<Pattern>;
    // Mistakes with a name; those that are searched and solved for; and families that can be made to fit
    // even if a mistake in a part of the tensor would be the simpler explanation.
    let plain: [Family; 7] = [
        multiples::not_written,
        multiples::factor,
        multiples::step_alone,
        multiples::bias,
        outputs::exchanged,
        features::exchanged,
        fitted::altered,
    ];
    let named: [Family; 6] = [
        pixels::misread,
        misread::exchanged,
        optimisers::by_roots_of_squares,
        multiples::plus_other,
        terms::subsets,
        outputs::rows,
    ];
    let solved: [Family; 8] = [
        |scene| misread::in_any_way(scene, false),
        gates::opened,
        precision::rounded,
        fitted::one_number,
        misread::altered,
        weights::of_terms,
        |scene| misread::in_any_way(scene, true),
        features::combined,
    ];
    let last: [Family; 2] = [fitted::of_rows_and_columns, gates::drawn];
    // ANCHOR_END: families
    let all: [(&[Family], bool); 8] = [
        (&[losses::formulas], false),
        (&plain, false),
        (&named, false),
        (&plain, true),
        (&solved, false),
        (&named, true),
        (&solved, true),
        (&last, false),
    ];
    all.into_iter().find_map(|(families, in_part)| {
        scenes.iter_mut().find_map(|scene| {
            scene.in_part = in_part;
            let found = families.iter().find_map(|family| family(scene));
            scene.in_part = false;
            found
        })
    })
}

impl<'a> Scene<'a> {
    fn new(wrong: &'a Wrong<'a>, bounds: Cow<'a, [f64]>) -> Self {
        let Wrong { name, shape, expected, candidate, finding, chain, .. } = *wrong;
        let dump = finding.context.candidate;
        let unit = match dump.header.dtype {
            Dtype::F64 => f64::EPSILON,
            Dtype::F32 | Dtype::Tf32 | Dtype::Bf16 => f64::from(f32::EPSILON),
        };
        let bound = largest_magnitude(&bounds) / largest_magnitude(expected).max(f64::MIN_POSITIVE);
        let mut scene = Self {
            name,
            chain,
            dump,
            before: finding.before,
            later: finding.later,
            expected,
            candidate,
            bounds,
            unit,
            shape,
            wrong: Vec::new(),
            probes: Vec::new(),
            relative: SLACK * bound.min(1e-2) + unit,
            floor: if name == TensorName::X {
                SLACK * unit * largest_magnitude(candidate)
            } else {
                0.0
            },
            in_part: false,
            changes_right: Cell::new(false),
            parts: OnceCell::new(),
            usual: wrong.usual_errors(),
            seen: None,
        };
        let all = 0..candidate.len();
        let stands_out = |&i: &usize| {
            let error = (scene.candidate[i] - scene.expected[i]).abs();
            error > 4.0 * scene.tolerance(i, scene.expected[i])
        };
        let wrong: Vec<usize> = all.filter(stands_out).collect();
        // The element that is the farthest off, and then elements from all over the tensor.
        let farthest = wrong.iter().copied().max_by(|&a, &b| {
            let off = |i: usize| (scene.candidate[i] - scene.expected[i]).abs();
            off(a).total_cmp(&off(b))
        });
        let step = wrong.len().div_ceil(PROBES).max(1);
        scene.probes = farthest.into_iter().chain(wrong.iter().copied().step_by(step)).collect();
        scene.probes.dedup();
        scene.wrong = wrong;
        scene
    }

    /// A copy of this scene, in which the bound of element `i` is at least `least(i)`.
    fn with_room(&self, least: impl Fn(usize) -> f64) -> Scene<'_> {
        let bounds = self.bounds.iter().enumerate().map(|(i, bound)| bound.max(least(i)));
        Scene { bounds: bounds.collect(), ..self.again() }
    }

    /// A copy of this scene for a separate search.
    fn again(&self) -> Scene<'_> {
        Scene {
            bounds: self.bounds.to_vec().into(),
            wrong: self.wrong.clone(),
            probes: self.probes.clone(),
            changes_right: Cell::new(false),
            parts: OnceCell::new(),
            usual: None,
            seen: self.seen.clone(),
            ..*self
        }
    }

    /// The tolerance of a prediction: the operation's own bound, scaled to the predicted number.
    fn tolerance(&self, i: usize, predicted: f64) -> f64 {
        (SLACK * self.bounds[i]).max(self.relative * predicted.abs()).max(self.floor)
    }

    fn fits(&self, i: usize, predicted: f64) -> bool {
        let (made, predicted) = match &self.seen {
            Some(seen) => (seen.candidate[i], seen.made_of(i, predicted)),
            None => (self.candidate[i], predicted),
        };
        // The tolerance of an infinity would be infinite.
        predicted.is_finite() && (made - predicted).abs() <= self.tolerance(i, predicted)
    }

    /// The element of the wrong tensor as the dump holds it, and its right value.
    fn held(&self, i: usize) -> (f64, f64) {
        let seen = self.seen.as_ref().map(|seen| (seen.candidate[i], seen.expected[i]));
        seen.unwrap_or((self.candidate[i], self.expected[i]))
    }

    // ANCHOR: tells
    /// Whether any of `hypotheses` alternatives would hardly ever fit all probes by chance.
    fn tells(&self, hypotheses: usize) -> bool {
        self.tells_after(hypotheses, 0)
    }

    /// Like [`tells`](Self::tells), if `numbers` numbers were fitted to the probes: as many of these, the most informative
    /// ones, no longer count.
    fn tells_after(&self, hypotheses: usize, numbers: usize) -> bool {
        let chance = |&i: &usize| {
            let (held, expected) = self.held(i);
            (2.0 * self.tolerance(i, held) / (held - expected).abs()).min(1.0)
        };
        let mut probes = self.probes.clone();
        probes.sort_unstable();
        probes.dedup();
        let mut chances: Vec<f64> = probes.iter().map(chance).collect();
        chances.sort_by(f64::total_cmp);
        // One or two numbers are little evidence, and all families are tried on them; few are tried on a loss.
        let few = probes.len() < 3 && self.name != TensorName::Loss;
        let families = if few { FAMILIES } else { 1.0 };
        let alternatives = families * hypotheses as f64;
        alternatives * chances.iter().skip(numbers).product::<f64>() < BY_CHANCE
    }
    // ANCHOR_END: tells

    /// The first hypothesis of a family that explains the wrong elements.
    fn first<'h>(&self, family: impl IntoIterator<Item = Hypothesis<'h>>) -> Option<Pattern> {
        let family: Vec<Hypothesis<'_>> = family.into_iter().collect();
        self.first_as(&family, false, |_| 0.0, |text, _| text.into())
    }

    /// The first hypothesis of a family that explains the wrong elements if `base` is added to it; if `scaled`, times a
    /// factor that is fitted.
    fn first_as(
        &self,
        family: &[Hypothesis<'_>],
        scaled: bool,
        base: impl Fn(usize) -> f64,
        words: impl Fn(&str, f64) -> String,
    ) -> Option<Pattern> {
        if !self.tells_after(family.len(), scaled.into()) {
            return None;
        }
        let factor = (!scaled).then_some(1.0);
        family.iter().find_map(|one| {
            let made = |i: usize| (base(i), (one.predict)(i));
            self.try_made(factor, made, |factor| words(&one.text, factor))
        })
    }

    /// Tries the sum of a number and a factor times another number. Without a factor, the first finite probe determines
    /// it; then a factor of 1 or 0 is no hypothesis of this kind.
    fn try_made(
        &self,
        factor: Option<f64>,
        made: impl Fn(usize) -> (f64, f64),
        words: impl FnOnce(f64) -> String,
    ) -> Option<Pattern> {
        let times = |factor: f64, (base, rest): (f64, f64)| base + factor * rest;
        if let Some(factor) = factor {
            return self.try_numbers(|i| times(factor, made(i)), || words(factor));
        }
        let &first = self.probes.iter().find(|&&i| self.candidate[i].is_finite())?;
        let at_first = made(first);
        let factor = (self.candidate[first] - at_first.0) / at_first.1;
        // A penalty of a loss may be tiny.
        let least = if self.name == TensorName::Loss { 1e-9 } else { 1e-4 };
        if !factor.is_finite() || factor.abs() < least || (factor - 1.0).abs() < 1e-6 {
            return None;
        }
        let scaled = |i: usize| times(factor, if i == first { at_first } else { made(i) });
        self.try_numbers(scaled, || words(factor))
    }

    /// Tries a prediction, and puts it in words if it fits.
    fn try_numbers(
        &self,
        predict: impl Fn(usize) -> f64,
        words: impl FnOnce() -> String,
    ) -> Option<Pattern> {
        // The number of these elements that the prediction explains; `None` if it contradicts one.
        let explained = |elements: &[usize]| -> Option<usize> {
            let mut explains = 0;
            for &i in elements {
                let predicted = predict(i);
                if self.fits(i, predicted) {
                    explains += 1;
                } else if !predicted.is_nan() {
                    return None;
                }
            }
            Some(explains)
        };
        if 2 * explained(&self.probes)? < self.probes.len() {
            return None;
        }
        let explains = explained(&self.wrong)?;
        if 2 * explains <= self.wrong.len() {
            return None;
        }
        // Within the bounds of the worst case, a different mistake may predict nearly the same numbers.
        let element = |&i: &usize| {
            let (made, usual) = (predict(i), self.usual.as_ref()?[i]);
            made.is_finite().then_some([self.candidate[i], made, self.expected[i], usual])
        };
        if !is_usual(self.wrong.iter().filter_map(element)) {
            return None;
        }
        // A prediction that changes right elements, too, may hold in a part of the tensor, and then in all of it.
        let mut parts: Vec<&Part> =
            if self.in_part { self.parts().iter().collect() } else { Vec::new() };
        let mut elsewhere = false;
        let mut wrong = self.wrong.iter().peekable();
        for i in 0..self.candidate.len() {
            if wrong.next_if(|&&at| at == i).is_some() {
                continue;
            }
            let predicted = predict(i);
            if !predicted.is_nan() && !self.fits(i, predicted) {
                elsewhere = true;
                self.changes_right.set(true);
                parts.retain(|part| !part.holds(i));
                if parts.is_empty() {
                    return None;
                }
            }
        }
        let words = words();
        let text = match parts.first().filter(|_| elsewhere) {
            // Elements that a value singles out were written.
            Some(part) if part.is_by_value() => {
                format!("{}, {part}", words.replace("it is 0: it was not written", "it is 0"))
            }
            Some(part) => format!("{words}, {part}"),
            None => words,
        };
        Some(Pattern { kind: PatternKind::Explained, text, explains })
    }

    /// The parts that hold all wrong elements.
    fn parts(&self) -> &[Part] {
        self.parts.get_or_init(|| {
            place::parts(self.chain, self.name, self.expected, &self.wrong, self.shape)
        })
    }

    fn rows_and_columns(&self) -> (usize, usize) {
        match *self.shape {
            [rows, columns] => (rows, columns),
            [columns] => (1, columns),
            _ => (1, 1),
        }
    }

    /// The number of probes other than this one, which confirm a number that it determines.
    fn other_probes(&self, first: usize) -> usize {
        self.probes.iter().filter(|&&i| i != first).count()
    }

    /// At most `most` finite wrong elements, from all over the tensor.
    fn known_wrong(&self, most: usize) -> Vec<usize> {
        let known = self.wrong.iter().copied().filter(|&i| self.candidate[i].is_finite());
        let known: Vec<usize> = known.collect();
        known.iter().copied().step_by(known.len().div_ceil(most).max(1)).collect()
    }

    /// The weight of an element's equation in least squares: one over its tolerance.
    fn weight(&self, i: usize, predicted: f64) -> f64 {
        1.0 / self.tolerance(i, predicted).max(f64::MIN_POSITIVE)
    }

    /// Every tensor of this step and of the one before. Tensors that were computed from the wrong one explain nothing,
    /// and are left out.
    fn tensors(&self) -> Vec<Tensor<'_>> {
        let mut all = Vec::new();
        let made_of_it = self.chain.made_of(self.name);
        for name in self.chain.names() {
            if let Some(values) = self.chain.get(name).filter(|_| !made_of_it.contains(&name)) {
                all.push((name.to_string(), name, false, values));
            }
        }
        for tensor in self.before.iter().flat_map(|before| &before.tensors) {
            let text = format!("{} of the step before", tensor.name);
            all.push((text, tensor.name, true, &tensor.data[..]));
        }
        all
    }

    /// The sizes that factors may consist of, with their names.
    fn sizes(&self) -> Vec<(f64, String)> {
        let mut sizes = vec![
            (self.chain.ranks(), "ranks".to_owned()),
            (self.chain.batch(), "B".into()),
            (self.chain.outputs(), "C".into()),
        ];
        let layers = self.chain.sizes();
        sizes.extend(layers.iter().enumerate().map(|(l, &n)| (n, format!("n{l}"))));
        let mut different: Vec<(f64, String)> = Vec::new();
        for (n, text) in sizes.into_iter().filter(|(n, _)| *n > 1) {
            let n = n as f64;
            if different.iter().all(|(other, _)| *other != n) {
                different.push((n, text));
            }
        }
        different
    }
}
