//! Wrong formulas of the loss. The loss is one number, which many formulas reproduce by chance, but a run has one
//! for each step. A formula has to reproduce those of all steps from the wrong one on; if none does, that of the wrong
//! step only.

mod formulas;

use tensor::{Dump, Loss, TensorName};

use super::index::{At, Operand};
use super::multiples::plain_factors;
use super::numbers::number;
use super::precision::ways;
use super::terms::{Subset, ranges};
use super::weights::of_weights;
use super::{BY_CHANCE, Pattern, Scene};
use crate::chain::operation::Axis;
use crate::chain::output::{loss, output};
use crate::chain::{Chain, count};
use crate::describe::joined;
use crate::finding::PatternKind;
use crate::numeric::log_sum_exp;
use formulas::{Formula, summands, wrong};

/// The tolerance of a prediction, as a multiple of the bound: a prediction is computed from the dump's own numbers,
/// and rounds differently.
const SLACK: f64 = 1.5;
/// Usual numbers by which labels are smoothed, the most usual first.
pub(super) const SMOOTHING: [f64; 7] = [0.1, 0.2, 0.05, 0.01, 0.02, 0.15, 0.3];

/// The ways to smooth labels by `e`: in words, and the new label as a number plus a multiple of the old one.
pub(super) fn spreads(e: f64, classes: f64) -> [(&'static str, f64, f64); 3] {
    let others = e / (classes - 1.0);
    [
        ("e/C for each class", e / classes, 1.0 - e),
        ("e/(C - 1) for each other class", others, 1.0 - e - others),
        ("e/2 for each class", 0.5 * e, 1.0 - e),
    ]
}

/// The usual relative error of an honest loss, far below its bound: formulas are first tried within it.
const USUAL: f64 = 2.7e-7;
/// The number of steps that are looked at: more would not change an explanation.
const MAX_STEPS: usize = 8;
/// Of more samples than this, not every range is tried.
const MAX_SAMPLES_FOR_RANGES: usize = 500;

/// The first step whose loss is wrong, or a step after it.
struct Step<'a> {
    chain: Chain<'a>,
    before: Option<&'a Dump>,
    held: f64,
    expected: f64,
    relative: f64,
}

impl Step<'_> {
    fn z(&self) -> &[f64] {
        self.chain.get(TensorName::Z(self.chain.layers())).unwrap_or_default()
    }

    fn y(&self) -> &[f64] {
        self.chain.get(TensorName::Y).unwrap_or_default()
    }

    fn loss(&self) -> Loss {
        self.chain.losses().first().copied().unwrap_or(Loss::CrossEntropy)
    }

    fn divisor(&self) -> f64 {
        let classes = if self.loss() == Loss::Bce { count(self.chain.outputs()) } else { 1.0 };
        count(self.chain.batch()) * classes
    }

    /// The term of each sample and class, from other logits and labels; their sum is the loss.
    fn terms(&self, z: &[f64], y: &[f64]) -> Vec<f64> {
        let (classes, divisor) = (self.chain.outputs(), self.divisor());
        let rows = z.chunks_exact(classes).zip(y.chunks_exact(classes));
        let terms = rows.flat_map(|(z, y)| {
            let log_sum = log_sum_exp(z);
            z.iter().zip(y).map(move |(&z, &y)| match self.loss() {
                Loss::CrossEntropy => y * (log_sum - z) / divisor,
                other => loss(other, &[z], &[y], 1) / divisor,
            })
        });
        terms.collect()
    }

    fn fits(&self, value: f64) -> bool {
        // The tolerance of an infinity would be infinite.
        value.is_finite()
            && (value - self.held).abs()
                <= SLACK * self.relative * value.abs().max(self.expected.abs())
    }

    /// How likely a number is to fit by chance, if another one is the simplest explanation.
    fn chance(&self, simplest: f64) -> f64 {
        let size = self.held.abs().max(self.expected.abs());
        (2.0 * SLACK * self.relative * size / (self.held - simplest).abs()).min(1.0)
    }
}

pub(super) fn formulas(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.name != TensorName::Loss || scene.in_part {
        return None;
    }
    let mut steps = steps(scene)?;
    let explained = |steps: &[Step<'_>]| {
        let search = Search { steps, scene };
        search
            .known()
            .or_else(|| search.factor())
            .or_else(|| search.counted())
            .or_else(|| search.with_usual_numbers())
            .or_else(|| search.parts())
            .or_else(|| search.read_elsewhere())
            .or_else(|| search.combined())
    };
    let either = |steps: &[Step<'_>]| {
        explained(steps).or_else(|| explained(&steps[..1]).filter(|_| steps.len() > 1))
    };
    let bounds: Vec<f64> = steps.iter().map(|step| step.relative).collect();
    steps.iter_mut().for_each(|step| step.relative = step.relative.min(USUAL));
    either(&steps).or_else(|| {
        steps.iter_mut().zip(bounds).for_each(|(step, bound)| step.relative = bound);
        either(&steps)
    })
}

/// The wrong step and those after it.
fn steps<'a>(scene: &Scene<'a>) -> Option<Vec<Step<'a>>> {
    let relative = (scene.bounds[0] / scene.expected[0].abs().max(f64::MIN_POSITIVE)).min(1e-3);
    let mut before = scene.before;
    let mut found = Vec::new();
    for dump in std::iter::once(scene.dump).chain(scene.later).take(MAX_STEPS) {
        let loss = dump.header.loss.or(scene.chain.losses().first().copied());
        let Some(chain) = Chain::new(dump, loss) else { break };
        let held = dump.get(TensorName::Loss).and_then(|loss| loss.data.first().copied())?;
        let expected = *chain.compute(TensorName::Loss)?.first()?;
        if !held.is_finite() || !expected.is_finite() {
            break;
        }
        found.push(Step { chain, before, held, expected, relative: relative + 1e-7 });
        before = Some(dump);
    }
    (!found.is_empty()).then_some(found)
}

/// The search for a formula that reproduces the losses of these steps.
struct Search<'a> {
    steps: &'a [Step<'a>],
    scene: &'a Scene<'a>,
}

impl Search<'_> {
    /// Whether one of `members` formulas would hardly ever reproduce all losses by chance, if `free` of them were
    /// used up to find its numbers.
    fn tells(&self, members: usize, free: usize) -> bool {
        self.tells_more_than(members, free, 0.0)
    }

    /// Like [`tells`](Self::tells), of errors that all but equal this number: what every nearly constant formula
    /// reproduces shows nothing of it.
    fn tells_more_than(&self, members: usize, free: usize, constant: f64) -> bool {
        let chance = |step: &Step<'_>| step.chance(step.expected + constant);
        let mut chances: Vec<f64> = self.steps.iter().map(chance).collect();
        chances.sort_by(f64::total_cmp);
        members as f64 * chances.iter().skip(free).product::<f64>() < BY_CHANCE
            && self.steps.len() > free
    }

    /// Whether these are the losses.
    fn fits(&self, made: impl Fn(&Step<'_>) -> f64) -> bool {
        self.steps.iter().all(|step| step.fits(made(step)))
    }

    fn explained(&self, text: String) -> Option<Pattern> {
        let text = match self.steps.len() {
            1 => text,
            steps => format!("{text}, as the losses of {steps} steps show"),
        };
        Some(Pattern { kind: PatternKind::Explained, text, explains: 1 })
    }

    /// The first formula of a family that reproduces the losses: by itself or, with `plus`, added to the right value; if
    /// `scaled`, times a factor that the first loss determines.
    fn first(
        &self,
        family: &[Formula<'_>],
        [plus, scaled]: [bool; 2],
        words: impl Fn(&str, f64) -> String,
    ) -> Option<Pattern> {
        if !self.tells(family.len(), scaled.into()) {
            return None;
        }
        let base = |step: &Step<'_>| if plus { step.expected } else { 0.0 };
        family.iter().find_map(|(text, of)| {
            let first = &self.steps[0];
            let factor = if scaled { (first.held - base(first)) / of(first) } else { 1.0 };
            let found = factor.is_finite()
                && factor.abs() >= 1e-9
                && self.fits(|step| base(step) + factor * of(step));
            if found { self.explained(words(text, factor)) } else { None }
        })
    }

    /// The formula with a step left out or exchanged.
    fn known(&self) -> Option<Pattern> {
        let family = wrong(self.steps[0].loss());
        let plain = self.first(&family, [false, false], |text, _| text.into());
        let times = |text: &str, factor| format!("{text}, {} times", number(self.scene, factor));
        plain.or_else(|| self.first(&family, [false, true], times))
    }

    /// A factor that is known; any other number may be anything.
    fn factor(&self) -> Option<Pattern> {
        let right = |step: &Step<'_>| step.expected;
        let family = plain_factors().into_iter().map(|factor| -> Formula<'_> {
            let text = format!("it is {} times what it should be", number(self.scene, factor));
            (text, Box::new(move |step| factor * right(step)))
        });
        self.first(&family.collect::<Vec<_>>(), [false; 2], |text, _| text.into())
    }

    /// A weight of the classes that a sample has, or of those that it hasn't.
    fn counted(&self) -> Option<Pattern> {
        let weights = [2.0, 3.0, 4.0, 5.0, 9.0, 10.0, 0.5, 0.25, 0.1];
        let ways =
            weights.into_iter().flat_map(|k| [(k, "y = 1", [1.0, k]), (k, "y = 0", [k, 1.0])]);
        let family = ways.map(|(k, text, [zero, one])| -> Formula<'_> {
            let weighted = move |step: &Step<'_>| {
                let terms = step.terms(step.z(), step.y());
                let each = terms.iter().zip(step.y());
                each.map(|(term, y)| term * (zero + (one - zero) * y)).sum()
            };
            (format!("the terms of {text} count {k} times"), Box::new(weighted))
        });
        self.first(&family.collect::<Vec<_>>(), [false; 2], |text, _| text.into())
    }

    /// Smoothed labels, an epsilon that keeps the logarithm finite, or logits with fewer digits, each in the usual
    /// sizes.
    fn with_usual_numbers(&self) -> Option<Pattern> {
        let classes = count(self.steps[0].chain.outputs());
        let loss = self.steps[0].loss();
        let bce = match loss {
            Loss::CrossEntropy => false,
            Loss::Bce => true,
            Loss::SquaredError => return None,
        };
        // The sum over samples and classes of a function of p and y.
        let of_p = |text: String, of: Box<dyn Fn(f64, f64) -> f64>| -> Formula<'_> {
            let prediction = move |step: &Step<'_>| {
                let p = output(loss, step.z(), step.chain.outputs());
                p.iter().zip(step.y()).map(|(&p, &y)| of(p, y)).sum::<f64>() / step.divisor()
            };
            (text, Box::new(prediction))
        };
        let entropy = move |p: f64, q: f64, log: &dyn Fn(f64) -> f64| {
            let term = |weight: f64, p: f64| if weight == 0.0 { 0.0 } else { -weight * log(p) };
            term(q, p) + if bce { term(1.0 - q, 1.0 - p) } else { 0.0 }
        };
        let smoothed = |e: f64| {
            spreads(e, classes).map(|(how, other, own)| {
                let text = format!("the labels are smoothed by e = {e} only in the loss: {how}");
                of_p(text, Box::new(move |p, y| entropy(p, other + own * y, &f64::ln)))
            })
        };
        // The ways to keep p away from 0, and 1 - p as well, which in single precision isn't 1 less the clamped p.
        let kept = (1..=16).map(|exponent| 10_f64.powi(-exponent)).flat_map(|e| {
            let added = format!("{e:e} is added to p inside the logarithm");
            let least = format!("p is at least {e:e} inside the logarithm");
            let both = format!("p is kept between {e:e} and 1 - {e:e} inside the logarithm");
            let single = move |p: f64, y: f64| {
                let p = (p as f32).clamp(e as f32, 1.0 - e as f32);
                let other = if bce { (1.0 - y) * -f64::from(1.0 - p).ln() } else { 0.0 };
                -y * f64::from(p).ln() + if y == 1.0 { 0.0 } else { other }
            };
            [
                of_p(added, Box::new(move |p, y| entropy(p, y, &|p| (p + e).ln()))),
                of_p(least, Box::new(move |p, y| entropy(p, y, &|p| p.max(e).ln()))),
                of_p(both, Box::new(single)),
            ]
        });
        let last = self.steps[0].chain.layers();
        // Rounded or cut to half and to bfloat16.
        let shortened = ways().into_iter().take(4).map(|(how, short)| -> Formula<'_> {
            let prediction = move |step: &Step<'_>| {
                let z: Vec<f64> = step.z().iter().map(|&z| short(z)).collect();
                step.terms(&z, step.y()).iter().sum()
            };
            (format!("z{last} is {how}"), Box::new(prediction))
        });
        // A smaller family needs fewer losses to tell its members apart.
        let families: [Vec<Formula<'_>>; 5] = [
            smoothed(SMOOTHING[0]).into(),
            kept.collect(),
            SMOOTHING[1..3].iter().copied().flat_map(smoothed).collect(),
            SMOOTHING[3..].iter().copied().flat_map(smoothed).collect(),
            shortened.collect(),
        ];
        // Ways that make the same losses are one explanation.
        families.iter().find_map(|family| {
            let found = self.first(family, [false; 2], |text, _| text.into())?;
            let alike = family.iter().filter(|(_, of)| self.fits(of)).map(|(text, _)| text);
            self.explained(joined(alike.take(3), "or")).or(Some(found))
        })
    }

    /// Some samples, or some classes, that are left out or have another weight.
    fn parts(&self) -> Option<Pattern> {
        ["samples", "classes"].into_iter().find_map(|over| {
            let sums = |step: &Step<'_>| -> Vec<f64> {
                let terms = step.terms(step.z(), step.y());
                let classes = step.chain.outputs();
                match over {
                    "samples" => terms.chunks_exact(classes).map(|row| row.iter().sum()).collect(),
                    _ => {
                        (0..classes).map(|c| terms.iter().skip(c).step_by(classes).sum()).collect()
                    }
                }
            };
            let all: Vec<Vec<f64>> = self.steps.iter().map(sums).collect();
            let n = all[0].len();
            if n < 2 {
                return None;
            }
            let ranges = ranges(n, n <= MAX_SAMPLES_FOR_RANGES);
            let ranges = ranges.map(Subset::range).collect();
            let mut families = Subset::families(n).into_iter().chain([ranges]);
            let found = families.find_map(|subsets| self.weighted(&subsets, &all, over));
            found.or_else(|| if over == "samples" { self.mean_of_some(&all) } else { None })
        })
    }

    /// The mean over only the first samples, or over the last.
    fn mean_of_some(&self, all: &[Vec<f64>]) -> Option<Pattern> {
        let n = all[0].len();
        let ends = (1..n).flat_map(|cut| [(0, cut), (cut, n)]);
        let family = ends.map(|(from, to)| -> Formula<'_> {
            let which = if from == 0 { "first" } else { "last" };
            let text = format!("it is the mean over the {which} {} of the {n} samples", to - from);
            let sum: f64 = all[0][from..to].iter().sum();
            (text, Box::new(move |_| sum * count(n) / count(to - from)))
        });
        let alone = Search { steps: &self.steps[..1], scene: self.scene };
        alone.first(&family.collect::<Vec<_>>(), [false; 2], |text, _| text.into())
    }

    /// A subset of the terms with a weight that is usual, or with any weight.
    fn weighted(&self, subsets: &[Subset], all: &[Vec<f64>], over: &str) -> Option<Pattern> {
        let n = all[0].len();
        let usual = [0.0, 2.0, -1.0, 0.5, 3.0, 4.0, 5.0, 10.0].map(Some);
        for weight in usual.into_iter().chain([None]) {
            if !self.tells(subsets.len(), usize::from(weight.is_none())) {
                continue;
            }
            // Other steps may have more or fewer samples.
            for (subset, from_end) in subsets.iter().flat_map(|one| [(one, false), (one, true)]) {
                let part = |at: usize| {
                    let length = all[at].len();
                    subset.at_length(n, length, from_end).sum(length, |k| all[at][k])
                };
                let first = part(0);
                let fitted = 1.0 + (self.steps[0].held - self.steps[0].expected) / first;
                let weight = weight.unwrap_or(fitted);
                if weight.is_finite()
                    && first != 0.0
                    && self
                        .steps
                        .iter()
                        .enumerate()
                        .all(|(at, step)| step.fits(step.expected + (weight - 1.0) * part(at)))
                {
                    return self.explained(of_weights(
                        self.scene,
                        &subset.weights(n, weight),
                        over,
                    )?);
                }
            }
        }
        None
    }

    /// Logits or labels that are misread, or another tensor in their place.
    fn read_elsewhere(&self) -> Option<Pattern> {
        let first = &self.steps[0];
        let names = [TensorName::Z(first.chain.layers()), TensorName::Y];
        let (rows, columns) = (first.chain.batch(), first.chain.outputs());
        let with = |step: &Step<'_>, name: TensorName, values: &[f64]| -> f64 {
            let (z, y) =
                if name == TensorName::Y { (step.z(), values) } else { (values, step.y()) };
            step.terms(z, y).iter().sum()
        };
        names.into_iter().find_map(|name| {
            let values = first.chain.get(name)?;
            let by = [Axis::Row, Axis::Column];
            let own = &Operand { name: name.to_string(), values, rows, columns, by };
            let axes = |axis| match axis {
                Axis::Row => "the sample",
                Axis::Column => "the class",
                _ => "the term",
            };
            let misread = own.maps().into_iter().map(|map| -> Formula<'_> {
                let of = move |step: &Step<'_>| {
                    let values = step.chain.get(name).unwrap_or_default();
                    let of_step = Operand { rows: step.chain.batch(), ..own.clone() };
                    let at = |i: usize| At { row: i / columns, column: i % columns, term: 0 };
                    let all = 0..of_step.rows * columns;
                    let read: Vec<f64> = all.map(|i| of_step.read(values, map, at(i))).collect();
                    with(step, name, &read)
                };
                (own.words(map, &axes), Box::new(of))
            });
            let others = first.chain.names().into_iter().flat_map(|n| [(n, false), (n, true)]);
            let others =
                others.filter(|&(other, earlier)| (other != name || earlier) && rows * columns > 1);
            let others = others.map(|(other, earlier)| -> Formula<'_> {
                let of = move |step: &Step<'_>| {
                    let before = || Some(&step.before?.get(other)?.data[..]);
                    let values = if earlier { before() } else { step.chain.get(other) };
                    let values = values.and_then(|v| v.get(..step.chain.batch() * columns));
                    values.map_or(f64::NAN, |values| with(step, name, values))
                };
                let when = if earlier { " of the step before" } else { "" };
                (format!("{other}{when} is read in place of {name}"), Box::new(of))
            });
            let [misread, others]: [Vec<Formula<'_>>; 2] = [misread.collect(), others.collect()];
            let words = |text: &str, _| text.to_owned();
            let tells = self.tells(misread.len(), 0);
            let found = self.first(&misread, [false; 2], words);
            found.or_else(|| self.first(&others, [false; 2], words).filter(|_| tells))
        })
    }

    /// A multiple of another number, alone or added to the right value.
    fn combined(&self) -> Option<Pattern> {
        let summands = summands(self.steps[0].chain.layers());
        let ways = [[false, false], [false, true], [true, false], [true, true]];
        let more = self.steps[0].held - self.steps[0].expected;
        let constant = self.fits(|step| step.expected + more);
        // Otherwise a penalty, which hardly changes, fits as well as many another number.
        let told = constant || self.tells_more_than(summands.len(), 1, more);
        ways.into_iter().find_map(|[plus, scaled]| {
            self.first(&summands[usize::from(plus)..], [plus, scaled], |text, factor| {
                let times = format!("{} times ", number(self.scene, factor));
                let times = if factor == 1.0 { "" } else { &times };
                let what = if plus { "what it should be plus " } else { "" };
                let unsure = plus && scaled && !told;
                let or =
                    if unsure { ", or a number that is nearly the same in each step" } else { "" };
                format!("it is {what}{times}{text}{or}")
            })
        })
    }
}
