//! The weights of a sum's terms in words.

use super::super::Scene;
use super::super::numbers::{number, plain};

/// The largest number of weights, or of terms' numbers, that are listed one by one.
const LISTED: usize = 8;

/// The weights in words; `None` if each is 1.
pub(in super::super) fn of_weights(
    scene: &Scene<'_>,
    weights: &[f64],
    over: &str,
) -> Option<String> {
    let n = weights.len();
    let same = |a: f64, b: f64| (a - b).abs() <= 1e-3 * a.abs().max(b.abs()).max(0.1);
    let often = |value: f64| weights.iter().filter(|&&weight| same(weight, value)).count();
    // The weight of most terms. If two weights are equally frequent, 1 is preferred, then 0.
    let usual = weights
        .iter()
        .copied()
        .max_by_key(|&weight| (often(weight), same(weight, 1.0), same(weight, 0.0)))?;
    // Two weights, of which one is right: the terms with the wrong one are named, unless most are left out.
    let (right, wrong): (Vec<f64>, Vec<f64>) = weights.iter().partition(|&&w| same(w, 1.0));
    let one_is_wrong = wrong.iter().all(|&weight| same(weight, wrong[0]));
    let usual = if one_is_wrong && !right.is_empty() && !same(usual, 0.0) { 1.0 } else { usual };
    let others: Vec<usize> = (0..n).filter(|&k| !same(weights[k], usual)).collect();
    let Some(&first) = others.first() else {
        return (!same(usual, 1.0))
            .then(|| format!("each of the {n} {over} counts {} times", number(scene, usual)));
    };
    let value = weights[first];
    if !others.iter().all(|&k| same(weights[k], value)) {
        let each: Vec<String> = weights.iter().take(LISTED).map(|&weight| plain(weight)).collect();
        let more = if n > LISTED { ", and so on" } else { "" };
        let each = each.join(", ");
        return Some(format!("the {n} {over} are weighted: they count {each}{more} times"));
    }
    let (which, tail, many) = subset(&others, n, over);
    let (is, counts) = if many { ("are", "count") } else { ("is", "counts") };
    Some(if same(usual, 1.0) {
        match () {
            () if same(value, 0.0) => format!("{which} {is} left out{tail}"),
            () if same(value, 2.0) => format!("{which} {is} added twice{tail}"),
            () if same(value, -1.0) => format!("{which} {is} subtracted, not added{tail}"),
            () => format!("{which} {counts} {} times{tail}", number(scene, value)),
        }
    } else if same(usual, 0.0) {
        let times = match () {
            () if same(value, 1.0) => String::new(),
            () => format!(" {} times", number(scene, value)),
        };
        format!("only {which} {counts}{times}{tail}: the others are left out")
    } else {
        format!(
            "{which} {counts} {} times{tail} and the others {} times",
            number(scene, value),
            number(scene, usual)
        )
    })
}

/// Some of the terms in words: which, the words after the verb, and whether the verb is in the plural.
fn subset(found: &[usize], n: usize, over: &str) -> (String, String, bool) {
    let of = format!("of the {n} {over}");
    let (first, last, many) = (found[0], found[found.len() - 1], found.len());
    let run = last - first + 1 == many;
    let step = if many > 1 { found[1] - first } else { 0 };
    let regular = many > 2 && found.windows(2).all(|pair| pair[1] - pair[0] == step);
    if many == 1 {
        let which = match first {
            0 => format!("the first {of}"),
            _ if first + 1 == n => format!("the last {of}"),
            _ => format!("number {first} {of}"),
        };
        return (which, String::new(), false);
    }
    if run {
        return match first {
            0 => (format!("the first {many} {of}"), String::new(), true),
            _ if last + 1 == n => {
                (format!("the last {many} {of}"), format!(", from {first} on"), true)
            }
            _ => (format!("{many} {of}"), format!(", from {first} to {last}"), true),
        };
    }
    if regular && first < step && last + step >= n {
        return (format!("one in {step} {of}"), format!(", from {first} on"), false);
    }
    let periodic = (3..=64.min(n / 2)).find_map(|period| {
        let places: Vec<usize> = (0..period).filter(|k| found.contains(k)).collect();
        let right = (0..n).all(|k| found.contains(&k) == places.contains(&(k % period)));
        right.then_some((period, places))
    });
    let Some((period, places)) = periodic else {
        return (format!("{many} {of}"), format!(": numbers {}", listed(found)), true);
    };
    if places.len() + 1 == period {
        let stays = (0..period).find(|k| !places.contains(k)).unwrap_or(0);
        let tail = format!("; what stays begins with {stays}");
        return (format!("all {of} but one in {period}"), tail, true);
    }
    let run = places[places.len() - 1] - places[0] + 1 == places.len();
    let which = match places[0] {
        0 if run => format!("the first {}", places.len()),
        from if run && from + places.len() == period => format!("the last {}", places.len()),
        _ => format!("numbers {}", listed(&places)),
    };
    (format!("of each {period} {of} {which}"), String::new(), true)
}

fn listed(numbers: &[usize]) -> String {
    let each: Vec<String> = numbers.iter().take(LISTED).map(ToString::to_string).collect();
    each.join(", ") + if numbers.len() > LISTED { " and so on" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsets_are_named_by_the_rule_that_makes_them() {
        let words = |found: &[usize]| {
            let (which, tail, _) = subset(found, 8, "samples");
            which + " ." + &tail
        };
        assert_eq!(words(&[7]), "the last of the 8 samples .");
        assert_eq!(words(&[3]), "number 3 of the 8 samples .");
        assert_eq!(words(&[0, 1, 2]), "the first 3 of the 8 samples .");
        assert_eq!(words(&[5, 6, 7]), "the last 3 of the 8 samples ., from 5 on");
        assert_eq!(words(&[1, 3, 5, 7]), "one in 2 of the 8 samples ., from 1 on");
        assert_eq!(words(&[2, 3, 6, 7]), "of each 4 of the 8 samples the last 2 .");
        assert_eq!(
            words(&[0, 2, 3, 4, 6, 7]),
            "all of the 8 samples but one in 4 .; what stays begins with 1"
        );
        assert_eq!(words(&[0, 3, 4]), "3 of the 8 samples .: numbers 0, 3, 4");
    }
}
