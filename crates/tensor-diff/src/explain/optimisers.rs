//! Updates by an optimiser other than gradient descent: momentum, and optimisers that divide by the root of squared
//! gradients. Their first step is little evidence, so the next step, if the dump has one, has to fit as well.

use super::numbers::plain;
use super::solve::least_squares;
use super::{Pattern, Scene, hypothesis};
use crate::chain::operation::updated_from;
use tensor::Dump;

/// An optimiser that keeps means of the gradients and of their squares: its name, the decay rates of both means, the
/// weight of a new square, and whether both means have a bias correction, because they begin at 0.
#[derive(Clone, Copy)]
struct Optimiser(&'static str, [f64; 2], f64, bool);

const OPTIMISERS: [Optimiser; 7] = [
    Optimiser("Adam", [0.9, 0.999], 0.001, true),
    Optimiser("Adam with 0.9 and 0.99", [0.9, 0.99], 0.01, true),
    Optimiser("Adagrad", [0.0, 1.0], 1.0, false),
    Optimiser("RMSprop with a decay of 0.9", [0.0, 0.9], 0.1, false),
    Optimiser("RMSprop with a decay of 0.99", [0.0, 0.99], 0.01, false),
    Optimiser("RMSprop with a decay of 0.999", [0.0, 0.999], 0.001, false),
    Optimiser("Adam without its bias correction", [0.9, 0.999], 0.001, false),
];

/// The relative error of a step that rounded decay rates cause.
const LOST: f64 = 1e-5;
/// The number of elements that determine a learning rate and a weight decay.
const EQUATIONS: usize = 60;
/// Usual epsilons, which keep a quotient finite. The first stands for an optimiser without an epsilon.
const EPSILONS: [f64; 9] = [0.0, 1e-8, 1e-7, 1e-10, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2];

impl Optimiser {
    /// The direction of the last step, from the gradients of one element in all steps.
    fn direction(self, gradients: &[f64], epsilon: f64) -> f64 {
        let Self(_, [first, second], new_square, corrected) = self;
        let (mut mean, mut squares) = (0.0, 0.0);
        for gradient in gradients {
            mean = first * mean + (1.0 - first) * gradient;
            squares = second * squares + new_square * gradient * gradient;
        }
        if mean == 0.0 {
            return 0.0;
        }
        if corrected {
            let steps = gradients.len() as i32;
            mean /= 1.0 - first.powi(steps);
            squares /= 1.0 - second.powi(steps);
        }
        mean / (squares.sqrt() + epsilon)
    }
}

/// The parameter and its gradient in this step; and in the next one, if there is one, with the updated parameter.
struct Steps<'a> {
    gradient: String,
    now: [&'a [f64]; 2],
    next: Option<[&'a [f64]; 3]>,
}

impl<'a> Steps<'a> {
    fn new(scene: &Scene<'a>) -> Option<Self> {
        let (parameter, gradient) = updated_from(scene.name)?;
        let now = [scene.chain.get(parameter)?, scene.chain.get(gradient)?];
        let next = scene.later.first().and_then(|next: &'a Dump| {
            let get = |name| {
                let values = &next.get(name)?.data[..];
                (values.len() == scene.candidate.len()).then_some(values)
            };
            Some([get(parameter)?, get(gradient)?, get(scene.name)?])
        });
        let whole = !scene.in_part && scene.seen.is_none() && scene.tells_after(100, 1);
        whole.then(|| Self { gradient: gradient.to_string(), now, next })
    }

    /// Whether the rule also explains the next step, from the parameter and the gradients of both; `None` if there is no next step.
    fn confirms(&self, scene: &Scene<'_>, step: impl Fn(f64, f64, f64) -> f64) -> Option<bool> {
        let [w, dw, made] = self.next?;
        let fits = |i: usize| {
            let off = (w[i] - step(w[i], self.now[1][i], dw[i]) - made[i]).abs();
            off <= scene.tolerance(i, made[i])
        };
        let elements = made.len();
        // Means rounded to f32 may be further off in a few elements whose gradients almost cancel.
        Some(20 * (0..elements).filter(|&i| fits(i)).count() >= 19 * elements)
    }
}

/// The learning rate that a rule implies for the farthest element: the step's own rate or a short number if one is
/// near.
fn rate_of(scene: &Scene<'_>, steps: &Steps<'_>, direction: impl Fn(f64) -> f64) -> Option<f64> {
    let [w, dw] = steps.now;
    let &first = scene.probes.iter().find(|&&i| scene.candidate[i].is_finite())?;
    near_short(scene, (w[first] - scene.candidate[first]) / direction(dw[first]))
}

/// The step's own learning rate or a short number, if one is near a rate.
fn near_short(scene: &Scene<'_>, rate: f64) -> Option<f64> {
    let own = scene.chain.learning_rate();
    let short: f64 = plain(rate).parse().ok()?;
    let near = |other: &f64| (rate - other).abs() <= 1e-3 * other.abs();
    let rate = [own, short].into_iter().find(near).unwrap_or(rate);
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

/// The learning rate and the weight decay next to it, by which most of a parameter's elements moved.
fn rate_and_decay(
    scene: &Scene<'_>,
    steps: &Steps<'_>,
    direction: impl Fn(f64) -> f64,
) -> Option<(f64, f64)> {
    let [w, dw] = steps.now;
    let known = scene.known_wrong(EQUATIONS).into_iter();
    let equations = known.map(|i| vec![direction(dw[i]), w[i], w[i] - scene.candidate[i]]);
    let found = least_squares(&equations.collect::<Vec<_>>())?;
    let rate = near_short(scene, found[0])?;
    let decay: f64 = format!("{:.1e}", found[1] / rate).parse().ok()?;
    (decay > 0.0).then_some((rate, decay))
}

/// Momentum whose first step is a multiple of gradient descent's: dampened, or Nesterov's.
pub(super) fn with_momentum(scene: &Scene<'_>) -> Option<Pattern> {
    let steps = &Steps::new(scene)?;
    let [w, dw] = steps.now;
    let rate = scene.chain.learning_rate();
    let factor = rate_of(scene, steps, |gradient| gradient)? / rate;
    let (kept, how) = match factor {
        _ if (factor - 1.0).abs() < 1e-4 => return None,
        ..1.0 => (1.0 - factor, "dampened: a gradient counts what the momentum leaves"),
        1.0..2.0 => (factor - 1.0, "Nesterov's"),
        _ => return None,
    };
    let kept: f64 = format!("{kept:.4}").parse().unwrap_or(kept);
    let step = |before: f64, now: f64| match factor {
        ..1.0 => rate * (1.0 - kept) * (kept * before + now),
        _ => rate * (now + kept * (kept * before + now)),
    };
    if steps.confirms(scene, |_, before, now| step(before, now)) != Some(true) {
        return None;
    }
    let text = format!("momentum of {kept}, {how}, as two steps show");
    scene.first([hypothesis(text, move |i| w[i] - step(0.0, dw[i]))])
}

/// Updates by a gradient over the root of the mean of its squares.
pub(super) fn by_roots_of_squares(scene: &Scene<'_>) -> Option<Pattern> {
    let steps = &Steps::new(scene)?;
    let [w, dw] = steps.now;
    // In single precision, 1 - 0.999 has fewer correct digits, so the whole step has a larger error.
    let scene = &scene.with_room(|i| LOST * (w[i] - scene.candidate[i]).abs());
    let own = scene.chain.learning_rate();
    let explained = |names: &str, optimiser: Optimiser, epsilon: f64, (rate, decay), how: &str| {
        let mut text = format!("{} is divided by the root of its squares: {names}", steps.gradient);
        if epsilon != 0.0 {
            text += &format!(" (with an epsilon of {epsilon:e})");
        }
        if rate != own {
            text += &format!(" and a learning rate of {}", plain(rate));
        }
        if decay != 0.0 {
            let decay = plain(decay);
            text += &format!(", and a weight decay of {decay} next to it, as in AdamW");
        }
        let made = |i: usize| w[i] - rate * (optimiser.direction(&[dw[i]], epsilon) + decay * w[i]);
        scene.try_numbers(made, || text + how)
    };
    let mut found: Vec<(Optimiser, f64, f64)> = Vec::new();
    for epsilon in EPSILONS {
        for optimiser in OPTIMISERS {
            let direction = |gradient: f64| optimiser.direction(&[gradient], epsilon);
            let plainly = rate_of(scene, steps, direction).map(|rate| (rate, 0.0));
            let decayed = || rate_and_decay(scene, steps, direction);
            let two_steps =
                |rates| explained(optimiser.0, optimiser, epsilon, rates, ", as two steps show");
            let mut tried = plainly.into_iter().chain(std::iter::once_with(decayed).flatten());
            let Some((pattern, (rate, decay))) =
                tried.find_map(|rates| Some((two_steps(rates)?, rates)))
            else {
                continue;
            };
            let second = |w: f64, before, now| {
                rate * (optimiser.direction(&[before, now], epsilon) + decay * w)
            };
            match steps.confirms(scene, second) {
                Some(true) => return Some(pattern),
                None if decay == 0.0 => found.push((optimiser, rate, epsilon)),
                _ => {}
            }
        }
    }
    // Without a next step, the step's own learning rate is the simplest explanation.
    let (optimiser, rate, epsilon) =
        *found.iter().find(|(_, rate, _)| *rate == own).or(found.first())?;
    // If no epsilon shows, the sign of the gradient explains the update equally well.
    if epsilon == 0.0 && rate == own {
        return None;
    }
    let same = found.iter().filter(|(_, other, with)| (*other, *with) == (rate, epsilon));
    let names: Vec<&str> = same.map(|(one, ..)| one.0).collect();
    explained(&names.join(", or "), optimiser, epsilon, (rate, 0.0), ", in its first step")
}
