//! Names of numbers that were fitted, such as `1/B`.

use tensor::TensorName;

use super::Scene;
use crate::chain::Chain;
use crate::numeric::norm;

/// The largest relative distance of a fitted number from the one that it is named after.
const CLOSE: f64 = 2e-5;

fn is(value: f64, other: f64) -> bool {
    (value - other).abs() <= CLOSE * other.abs()
}

/// The number, after its name if it has one: `1/B = 0.125`.
pub(super) fn number(scene: &Scene<'_>, value: f64) -> String {
    match name(scene, value) {
        Some(name) => format!("{name} = {}", plain(value)),
        None => plain(value),
    }
}

/// The number with as few digits as distinguish it from its neighbours.
pub(crate) fn plain(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
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

fn name(scene: &Scene<'_>, value: f64) -> Option<String> {
    use TensorName::{A, Loss, P, Z};
    use std::f64::consts::{LN_2, LOG2_E, LOG10_E};
    let rate = scene.chain.learning_rate();
    let constants = [
        (LN_2, "ln 2"),
        (LOG2_E, "1/ln 2"),
        (LOG10_E, "1/ln 10"),
        (rate, "lr"),
        (1.0 - rate, "1 - lr"),
        (1.0 / 255.0, "1/255"),
    ];
    let mut named: Vec<(f64, String)> =
        constants.into_iter().map(|(value, text)| (value, text.to_owned())).collect();
    let sizes = scene.sizes();
    for (n, text) in &sizes {
        let of_size = [
            (*n, "#"),
            (1.0 / n, "1/#"),
            (rate / n, "lr/#"),
            (rate * n, "lr·#"),
            (n.sqrt(), "the root of #"),
            (1.0 / n.sqrt(), "1 over the root of #"),
            (n - 1.0, "# - 1"),
            (1.0 / (n - 1.0), "1/(# - 1)"),
            (n / (n - 1.0), "#/(# - 1)"),
            ((n - 1.0) / n, "(# - 1)/#"),
        ];
        named.extend(of_size.map(|(value, words)| (value, words.replace('#', text))));
    }
    for (n, a) in &sizes {
        for (m, b) in sizes.iter().filter(|(m, _)| m != n) {
            named.push((n / m, format!("{a}/{b}")));
            named.push((1.0 / (n * m), format!("1/({a}·{b})")));
        }
    }
    // Small whole numbers and their halves are sizes, or one over a size, or need no name.
    // So do decimals of at most two digits, and one over them: 0.9 is momentum's before it is 1 - lr, and 1.25 is
    // dropout's 1/0.8 before it is C/B.
    let decimal = |x: f64| format!("{x:.1e}").parse().is_ok_and(|short| is(x, short));
    let short = value.abs() < 20.0 && is(2.0 * value, (2.0 * value).round())
        || decimal(value)
        || decimal(1.0 / value);
    let is_of_backward_pass = !matches!(scene.name, Z(_) | A(_) | P | Loss);
    let of_size = |text: &str| {
        sizes.iter().any(|(_, size)| text.strip_prefix("1/").unwrap_or(text) == size)
            || text == "lr" && is_of_backward_pass
    };
    let found = |sign: f64| {
        let mut all = named.iter().filter(|(_, text)| !short || of_size(text));
        all.find(|(other, _)| is(sign * value, *other)).map(|(_, text)| text.clone())
    };
    if (value.abs() - 1.0).abs() < CLOSE || is(value.abs(), 2.0) {
        return None;
    }
    found(1.0).or_else(|| found(-1.0).map(|text| format!("-{text}"))).or_else(|| {
        if short || !is_of_backward_pass {
            return None;
        }
        // A simple multiple of the learning rate.
        let of_rate = value / rate;
        let short: f64 = format!("{of_rate:.2e}").parse().ok()?;
        let own: f64 = format!("{value:.1e}").parse().ok()?;
        (is(of_rate, short) && !is(value, own)).then(|| format!("{}·lr", plain(short)))
    })
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
        let clips = 0.0 < factor && factor < 1.0 && !is(factor, short(factor));
        let clips = clips && is(factor * norm, most);
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
