//! A histogram of the elements' errors as multiples of their bounds.

use std::fmt::Write as _;

use super::evidence::Exhibit;

/// The number of powers of two on each side of the bound; larger errors are in the last bar.
const POWERS: i32 = 10;
const BAR: f64 = 22.0;
const HEIGHT: f64 = 110.0;

/// The bars: exactly right, each power of two up to the bound, each beyond it, not finite.
struct Bars {
    exact: usize,
    powers: Vec<usize>,
    not_finite: usize,
}

fn count(exhibit: &Exhibit<'_>) -> Option<Bars> {
    let mut bars = Bars { exact: 0, powers: vec![0; 2 * POWERS as usize], not_finite: 0 };
    for i in 0..exhibit.elements() {
        let ratio = exhibit.ratio(i)?;
        if ratio == 0.0 {
            bars.exact += 1;
        } else if ratio.is_nan() {
            bars.not_finite += 1;
        } else {
            // (2⁻¹, 2⁰] is the last bar within the bound.
            let power = ratio.log2().ceil().clamp(f64::from(1 - POWERS), f64::from(POWERS));
            bars.powers[(power as i32 + POWERS - 1) as usize] += 1;
        }
    }
    Some(bars)
}

/// The histogram as SVG, with logarithmic heights; `None` if one side is missing.
pub(crate) fn svg(exhibit: &Exhibit<'_>) -> Option<String> {
    let bars = count(exhibit)?;
    let mut all = vec![(bars.exact, "0".to_owned(), false, "exactly right".to_owned())];
    for (at, &n) in bars.powers.iter().enumerate() {
        let power = at as i32 + 1 - POWERS;
        let (label, title) = match power {
            p if p == 1 - POWERS => (format!("2^{p}"), format!("at most 2^{p} of the bound")),
            p if p == POWERS => {
                (format!("&gt;2^{}", p - 1), format!("more than 2^{} times the bound", p - 1))
            }
            p => (format!("2^{p}"), format!("from 2^{} to 2^{p} of the bound", p - 1)),
        };
        all.push((n, label, power > 0, title));
    }
    all.push((bars.not_finite, "NaN".into(), true, "not finite, or without a bound".into()));
    let most = all.iter().map(|bar| bar.0).max().unwrap_or(0).max(1);
    let (width, top) = (BAR * all.len() as f64 + 8.0, 16.0);
    let mut svg = format!(
        "<svg role=\"img\" class=\"histogram\" viewBox=\"0 0 {width} {}\" width=\"{width}\" \
         aria-label=\"elements by their error as a multiple of its bound\">",
        top + HEIGHT + 34.0
    );
    for (at, (n, label, outside, title)) in all.iter().enumerate() {
        let x = 4.0 + BAR * at as f64;
        let height = HEIGHT * ((*n as f64 + 1.0).ln() / (most as f64 + 1.0).ln());
        let class = if *outside { "outside" } else { "inside" };
        // Writing to a string can't fail.
        let _ = write!(
            svg,
            "<g><title>{n} {title}</title><rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
             height=\"{height:.1}\"/>",
            x + 1.0,
            top + HEIGHT - height,
            BAR - 2.0
        );
        if *n > 0 {
            let _ = write!(
                svg,
                "<text class=\"count\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + BAR / 2.0,
                top + HEIGHT - height - 3.0,
                short(*n)
            );
        }
        let shown = at + 1 == all.len() || at % 5 == 0 && at + 2 < all.len();
        if shown {
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                x + BAR / 2.0,
                top + HEIGHT + 14.0
            );
        }
        svg.push_str("</g>");
    }
    let bound = 4.0 + BAR * f64::from(POWERS + 1);
    let _ = write!(
        svg,
        "<line class=\"bound\" x1=\"{bound}\" x2=\"{bound}\" y1=\"2\" y2=\"{:.1}\"/>\
         <text x=\"{bound}\" y=\"{:.1}\">allowed</text></svg>",
        top + HEIGHT + 18.0,
        top + HEIGHT + 30.0
    );
    Some(svg)
}

/// A count in the width of a bar.
fn short(n: usize) -> String {
    match n {
        0..1000 => n.to_string(),
        1000..1_000_000 => format!("{}k", n / 1000),
        _ => format!("{}M", n / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_is_in_one_bar() {
        let expected = [0.0; 6];
        let candidate = [0.0, 1.0, 1.01, 0.5, 1e9, f64::NAN];
        let allowed = [1.0; 6];
        let exhibit = Exhibit {
            shape: &[6],
            expected: Some(&expected),
            candidate: Some(&candidate),
            allowed: Some(&allowed),
        };
        let bars = count(&exhibit).unwrap();
        assert_eq!((bars.exact, bars.not_finite), (1, 1));
        let last = 2 * POWERS as usize - 1;
        let inside = POWERS as usize - 1;
        // At the bound, and half of it; just above; far above.
        assert_eq!(bars.powers[inside], 1);
        assert_eq!(bars.powers[inside - 1], 1);
        assert_eq!((bars.powers[inside + 1], bars.powers[last]), (1, 1));
        assert_eq!(bars.powers.iter().sum::<usize>(), 4);
    }
}
