//! Names of numbers that were fitted, such as `1/B`.

use tensor::TensorName;

use super::Scene;
use crate::chain::{Chain, count};
use crate::numeric::norm;

/// The largest relative distance of a fitted number from the one that it is named after.
const CLOSE: f64 = 2e-5;

fn is(value: f64, other: f64) -> bool {
    (value - other).abs() <= CLOSE * other.abs()
}

/// The number in words. A simple number is itself, even if a size is the same; any other number may have a name, which
/// is only an example.
pub(super) fn number(scene: &Scene<'_>, value: f64) -> String {
    let name = if is_simple(value) { None } else { name(scene, value) };
    let plain = fraction(value).unwrap_or_else(|| plain(value));
    name.map_or_else(|| plain.clone(), |name| format!("{plain} (for example {name})"))
}

/// A fraction of small whole numbers that needs more digits as a decimal.
fn fraction(value: f64) -> Option<String> {
    if plain(value).len() < 6 {
        return None;
    }
    if value.abs() > 1e-4 && is(1.0 / value, (1.0 / value).round()) {
        let sign = if value < 0.0 { "-" } else { "" };
        return Some(format!("{sign}1/{}", (1.0 / value.abs()).round()));
    }
    let below = (2..=12).map(f64::from).find(|below| is(value * below, (value * below).round()))?;
    let above = (value * below).round();
    (above != 0.0 && above.abs() < 100.0).then(|| format!("{above}/{below}"))
}

/// Whether a number needs no name, because it is a small whole number, a fraction of small whole numbers, a number with
/// two digits, or 1 over such a number.
fn is_simple(value: f64) -> bool {
    let decimal = |x: f64| format!("{x:.1e}").parse().is_ok_and(|short| is(x, short));
    decimal(value) || decimal(1.0 / value) || fraction(value).is_some() || {
        value.abs() < 20.0 && is(4.0 * value, (4.0 * value).round())
    }
}

/// The number with as few digits as distinguish it from its neighbours.
pub(crate) fn plain(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        // Zero without a sign.
        return format!("{}", value + 0.0);
    }
    // A whole number, or up to four digits.
    if value.abs() < 1e6 && is(value, value.round()) {
        return format!("{}", value.round());
    }
    for digits in 0..4 {
        let short = format!("{value:.digits$e}").parse().unwrap_or(value);
        if is(value, short) {
            return format!("{short}");
        }
    }
    if (1e-3..1e6).contains(&value.abs()) { format!("{value:.6}") } else { format!("{value:.4e}") }
}

/// The simplest number between two: zero, else the one with the fewest digits.
pub(crate) fn simplest_between(low: f64, high: f64) -> f64 {
    if low <= 0.0 && high >= 0.0 {
        return 0.0;
    }
    let middle = 0.5 * (low + high);
    if !middle.is_finite() {
        return if low.is_finite() { low } else { high };
    }
    let digits = (0..12).map(|digits| format!("{middle:.digits$e}").parse().unwrap_or(middle));
    let mut close = digits.filter(|short: &f64| low <= *short && *short <= high);
    close.next().unwrap_or(middle)
}

/// The largest relative distance of a fitted number from the value of a formula that it is named after, such as `lr/B`.
const VERY_CLOSE: f64 = 2e-6;

/// The name of a number as a formula of known constants and sizes; `None` if no formula is close to it.
fn name(scene: &Scene<'_>, value: f64) -> Option<String> {
    use std::f64::consts::{LN_2, LOG2_E, LOG10_E};
    let constants = [
        (LN_2, "ln 2"),
        (LOG2_E, "1/ln 2"),
        (LOG10_E, "1/ln 10"),
        (1.0 / 255.0, "1/255"),
        (255.0 / 256.0, "255/256"),
    ];
    let mut named: Vec<(f64, String, f64)> =
        constants.into_iter().map(|(value, text)| (value, text.to_owned(), CLOSE)).collect();
    let (sizes, rate) = (scene.sizes(), scene.chain.learning_rate());
    for (n, text) in &sizes {
        let of_size = [
            (*n, "#", CLOSE),
            (1.0 / n, "1/#", CLOSE),
            (n.sqrt(), "the root of #", VERY_CLOSE),
            (1.0 / n.sqrt(), "1 over the root of #", VERY_CLOSE),
            (1.0 / (n - 1.0), "1/(# - 1)", VERY_CLOSE),
            (n / (n - 1.0), "#/(# - 1)", VERY_CLOSE),
            ((n - 1.0) / n, "(# - 1)/#", VERY_CLOSE),
            (rate / n, "lr/#", VERY_CLOSE),
        ];
        named.extend(of_size.map(|(value, words, close)| (value, words.replace('#', text), close)));
        let others = sizes.iter().filter(|(m, _)| m != n);
        named.extend(others.map(|(m, other)| (n / m, format!("{text}/{other}"), VERY_CLOSE)));
    }
    // The batch rounded up or down to whole tiles.
    let batch = scene.chain.batch();
    for tile in [4, 8, 16, 32, 64, 128] {
        for whole in [batch / tile * tile, batch.div_ceil(tile) * tile] {
            let (n, whole_batch) = (count(batch), count(whole.max(1)));
            named.push((n / whole_batch, format!("B/{whole}"), VERY_CLOSE));
            named.push((whole_batch / n, format!("{whole}/B"), VERY_CLOSE));
        }
    }
    let found = |sign: f64| {
        named.iter().find(|(other, _, close)| (sign * value - other).abs() <= close * other.abs())
    };
    let positive = found(1.0).map(|(_, text, _)| text.clone());
    positive.or_else(|| found(-1.0).map(|(_, text, _)| format!("-{text}")))
}

/// The number with six decimals, or fewer digits if it is so small that they would hide it.
pub(super) fn decimal(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-5 { plain(value) } else { format!("{value:.6}") }
}

/// The words for a factor of a gradient, if it clips the norm of all gradients, or its own, to a short number; empty if
/// it doesn't.
pub(super) fn clipped_to(chain: &Chain<'_>, name: TensorName, own: &[f64], factor: f64) -> String {
    let names = chain.names().into_iter();
    let all = names.filter(|name| matches!(name, TensorName::Dw(_) | TensorName::Db(_)));
    let squares = all.map(|name| Some(chain.compute(name)?.iter().map(|x| x * x).sum::<f64>()));
    let global = squares.sum::<Option<f64>>().unwrap_or(f64::NAN).sqrt();
    let ways = [
        (global, "all gradients".to_owned(), "they are clipped by their global norm"),
        (norm(own), name.to_string(), "each gradient is clipped by its own norm"),
    ];
    let mut words = ways.into_iter().filter_map(|(norm, of, how)| {
        let short = |value: f64| -> f64 { format!("{value:.1e}").parse().unwrap_or(f64::NAN) };
        let most = short(factor * norm);
        // A short factor is the simpler explanation.
        let clips = 0.0 < factor && (factor < 1.0 || most == 1.0) && !is(factor, short(factor));
        let clips = clips && is(factor * norm, most);
        let how = if factor < 1.0 { how } else { "it is divided by that norm" };
        clips.then(|| format!(", {} over the norm of {of}, {norm:.6}: {how}", plain(most)))
    });
    words.next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_with_few_digits() {
        assert_eq!(plain(2.999_999), "3");
        assert_eq!(plain(0.010_000_01), "0.01");
        assert_eq!(plain(-0.125), "-0.125");
        assert_eq!(plain(0.123_456_7), "0.123457");
        assert_eq!(plain(1.234_567e-5), "1.2346e-5");
        assert_eq!(simplest_between(-0.1, 0.2), 0.0);
        assert_eq!(simplest_between(0.143, 0.221), 0.2);
        assert_eq!(simplest_between(0.493, 0.511), 0.5);
    }
}
