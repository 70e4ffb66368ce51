//! Wrong formulas of the loss. The loss is one number, which many formulas reproduce by chance, but a run has one
//! for each step. A formula has to reproduce those of all steps from the wrong one on; if none does, that of the wrong
//! step only.

mod summands;

use tensor::{Dump, Loss, TensorName};

use super::index::{At, Map, Operand};
use super::numbers::{number, plain};
use super::outputs::wrong_losses;
use super::precision::ways;
use super::terms::{Subset, ranges};
use super::weights::of_weights;
use super::{BY_CHANCE, Pattern, Scene};
use crate::chain::operation::Axis;
use crate::chain::output::{loss, output};
use crate::chain::{Chain, count};
use crate::finding::PatternKind;
use crate::numeric::log_sum_exp;

/// The tolerance of a prediction, in bounds: it uses the dump's own numbers, and rounds differently.
const SLACK: f64 = 1.5;
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

/// A prediction of a step's loss.
type Prediction<'a> = Box<dyn Fn(&Step<'_>) -> f64 + 'a>;

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

    /// How likely a number is to fit by chance.
    fn chance(&self) -> f64 {
        let size = self.held.abs().max(self.expected.abs());
        (2.0 * SLACK * self.relative * size / (self.held - self.expected).abs()).min(1.0)
    }
}

pub(super) fn formulas(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.name != TensorName::Loss || scene.in_part {
        return None;
    }
    let steps = steps(scene)?;
    let explained = |steps: &[Step<'_>]| {
        let search = Search { steps, scene };
        search
            .known()
            .or_else(|| search.with_usual_numbers())
            .or_else(|| search.parts())
            .or_else(|| search.read_elsewhere())
            .or_else(|| search.combined())
    };
    explained(&steps).or_else(|| explained(&steps[..1]).filter(|_| steps.len() > 1))
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
        let mut chances: Vec<f64> = self.steps.iter().map(Step::chance).collect();
        chances.sort_by(f64::total_cmp);
        members as f64 * chances.iter().skip(free).product::<f64>() < BY_CHANCE
            && self.steps.len() > free
    }

    /// Whether these are the losses, by the index of a step.
    fn fits(&self, made: impl Fn(usize) -> f64) -> bool {
        self.steps.iter().enumerate().all(|(at, step)| step.fits(made(at)))
    }

    fn explained(&self, text: String) -> Option<Pattern> {
        let text = match self.steps.len() {
            1 => text,
            steps => format!("{text}, as the losses of {steps} steps show"),
        };
        Some(Pattern { kind: PatternKind::Explained, text, explains: 1 })
    }

    /// The formula with a step left out or exchanged.
    fn known(&self) -> Option<Pattern> {
        let values =
            |step: &Step<'_>| wrong_losses(step.loss(), step.z(), step.y(), step.chain.outputs());
        let all: Vec<Vec<(String, f64)>> = self.steps.iter().map(values).collect();
        let members = all[0].len();
        for scaled in [false, true] {
            if !self.tells(members, usize::from(scaled)) {
                continue;
            }
            for (index, (text, first)) in all[0].iter().enumerate() {
                let factor = if scaled { self.steps[0].held / first } else { 1.0 };
                if self.fits(|at| factor * all[at][index].1) {
                    let times = format!("{text}, {} times", number(self.scene, factor));
                    return self.explained(if scaled { times } else { text.clone() });
                }
            }
        }
        None
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
        type Named<'f> = (String, Prediction<'f>);
        // The sum over samples and classes of a function of p and y.
        let of_p = |text: String, of: Box<dyn Fn(f64, f64) -> f64>| -> Named<'_> {
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
            let others = e / (classes - 1.0);
            let spread = [
                ("e/C for each class", e / classes, 1.0 - e),
                ("e/(C - 1) for each other class", others, 1.0 - e - others),
                ("e/2 for each class", 0.5 * e, 1.0 - e),
            ];
            spread.map(|(how, other, own)| {
                let text = format!("the labels are smoothed by e = {e} only in the loss: {how}");
                of_p(text, Box::new(move |p, y| entropy(p, other + own * y, &f64::ln)))
            })
        };
        let least = || (1..=16).map(|exponent| 10_f64.powi(-exponent));
        let added = least().map(|e| {
            let text = format!("{e:e} is added to p inside the logarithm");
            of_p(text, Box::new(move |p, y| entropy(p, y, &|p| (p + e).ln())))
        });
        let clamped = least().map(|e| {
            let text = format!("p is at least {e:e} inside the logarithm");
            of_p(text, Box::new(move |p, y| entropy(p, y, &|p| p.max(e).ln())))
        });
        let last = self.steps[0].chain.layers();
        // Rounded or cut to half and to bfloat16.
        let shortened = ways().into_iter().take(4).map(|(how, short)| -> Named<'_> {
            let prediction = move |step: &Step<'_>| {
                let z: Vec<f64> = step.z().iter().map(|&z| short(z)).collect();
                step.terms(&z, step.y()).iter().sum()
            };
            (format!("z{last} is {how}"), Box::new(prediction))
        });
        // A smaller family needs fewer losses to tell its members apart.
        let families: [Vec<Named<'_>>; 5] = [
            smoothed(0.1).into(),
            added.collect(),
            [0.2, 0.05, 0.01, 0.02, 0.15, 0.3].into_iter().flat_map(smoothed).collect(),
            clamped.collect(),
            shortened.collect(),
        ];
        let mut families = families.into_iter().filter(|family| self.tells(family.len(), 0));
        let fits = |(_, prediction): &Named<'_>| self.fits(|at| prediction(&self.steps[at]));
        let (text, _) = families.find_map(|family| family.into_iter().find(fits))?;
        self.explained(text)
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
            let ranges = ranges.map(|(from, to)| Subset::Range(from, to)).collect();
            let mut families = Subset::families(n).into_iter().chain([ranges]);
            families.find_map(|subsets| self.weighted(&subsets, &all, over))
        })
    }

    /// A subset of the terms with a weight that is usual, or with any weight.
    fn weighted(&self, subsets: &[Subset], all: &[Vec<f64>], over: &str) -> Option<Pattern> {
        let n = all[0].len();
        for weight in [Some(0.0), Some(2.0), Some(-1.0), None] {
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
                    && self.fits(|at| self.steps[at].expected + (weight - 1.0) * part(at))
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
            let own = Operand { name: name.to_string(), values, rows, columns, by };
            let maps = own.maps();
            let read = |step: &Step<'_>, map: Map| -> f64 {
                let values = step.chain.get(name).unwrap_or_default();
                let of_step = Operand { rows: step.chain.batch(), ..own.clone() };
                let at = |i: usize| At { row: i / columns, column: i % columns, term: 0 };
                let read = (0..of_step.rows * columns).map(|i| of_step.read(values, map, at(i)));
                with(step, name, &read.collect::<Vec<f64>>())
            };
            let ways = maps.len();
            let mut maps = maps.into_iter().filter(|_| self.tells(ways, 0));
            let misread = maps.find(|&map| self.fits(|at| read(&self.steps[at], map)));
            let words = misread.map(|map| {
                own.words(map, &|axis| match axis {
                    Axis::Row => "the sample",
                    Axis::Column => "the class",
                    _ => "the term",
                })
            });
            let words = words.or_else(|| {
                let others = first.chain.names().into_iter().flat_map(|n| [(n, false), (n, true)]);
                let mut others = others.filter(|&(other, earlier)| {
                    (other != name || earlier) && rows * columns > 1 && self.tells(ways, 0)
                });
                let (other, earlier) = others.find(|&(other, earlier)| {
                    self.fits(|at| {
                        let step = &self.steps[at];
                        let values = if earlier {
                            step.before.and_then(|dump| dump.get(other)).map(|one| &one.data[..])
                        } else {
                            step.chain.get(other)
                        };
                        let values = values.and_then(|v| v.get(..step.chain.batch() * columns));
                        values.map_or(f64::NAN, |values| with(step, name, values))
                    })
                })?;
                let when = if earlier { " of the step before" } else { "" };
                Some(format!("{other}{when} is read in place of {name}"))
            });
            self.explained(words?)
        })
    }

    /// A multiple of another number, alone or added to the right value; or the sum of multiples of two numbers.
    fn combined(&self) -> Option<Pattern> {
        let summands = summands::summands(self.steps[0].chain.layers());
        let value = |prediction: &Prediction<'_>| -> Vec<f64> {
            self.steps.iter().map(prediction).collect()
        };
        let all: Vec<Vec<f64>> = summands.iter().map(|(_, of)| value(of)).collect();
        let held = |at: usize| self.steps[at].held;
        for (plus, free) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
            if !self.tells(summands.len(), free) {
                continue;
            }
            for ((text, _), values) in summands.iter().zip(&all).skip(usize::from(plus)) {
                let start = |at: usize| if plus { self.steps[at].expected } else { 0.0 };
                let factor = if free == 0 { 1.0 } else { (held(0) - start(0)) / values[0] };
                if factor.is_finite()
                    && factor.abs() >= 1e-9
                    && self.fits(|at| start(at) + factor * values[at])
                {
                    let times = format!("{} times ", number(self.scene, factor));
                    let times = if factor == 1.0 { String::new() } else { times };
                    let what = if plus { "what it should be plus " } else { "" };
                    return self.explained(format!("it is {what}{times}{text}"));
                }
            }
        }
        if !self.tells(summands.len() * summands.len() / 2, 2) {
            return None;
        }
        let mut pairs = (0..summands.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        pairs.find_map(|(a, b)| {
            let (u, v) = (&all[a], &all[b]);
            let determinant = u[0] * v[1] - u[1] * v[0];
            let alpha = (held(0) * v[1] - held(1) * v[0]) / determinant;
            let beta = (u[0] * held(1) - u[1] * held(0)) / determinant;
            let both = [alpha, beta].iter().all(|x| x.is_finite() && x.abs() > 1e-6);
            let found = both && self.fits(|at| alpha * u[at] + beta * v[at]);
            let words = || {
                let (alpha, beta) = (number(self.scene, alpha), plain(beta));
                format!("it is {alpha} times {} + {beta} times {}", summands[a].0, summands[b].0)
            };
            found.then(words).and_then(|text| self.explained(text))
        })
    }
}
