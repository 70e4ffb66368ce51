//! Which terms of a sum share a weight.

use tensor::TensorName;

use super::super::Scene;
use super::super::formula::Sum;
use super::super::index::Operand;
use super::super::numbers::number;
use super::words::of_weights;

/// The group of term `k` of element `i`, and how to say the weights of all groups.
pub(super) struct Grouping<'a> {
    pub(super) groups: usize,
    pub(super) of: Box<dyn Fn(usize, usize) -> usize + 'a>,
    #[expect(clippy::type_complexity, reason = "a function of everything that the words need")]
    pub(super) words: Box<dyn Fn(&Scene<'_>, &Sum<'_>, &[f64]) -> Option<String> + 'a>,
}

impl Grouping<'_> {
    /// Each term has its own.
    pub(super) fn each(length: usize) -> Self {
        Self::by_number(length, |k| k)
    }

    /// Those that lie this many apart.
    pub(super) fn period(period: usize) -> Self {
        Self::by_number(period, move |k| k % period)
    }

    /// This many one after the other.
    pub(super) fn chunks(tile: usize, length: usize) -> Self {
        Self::by_number(length.div_ceil(tile), move |k| k / tile)
    }

    fn by_number(groups: usize, of: impl Fn(usize) -> usize + Copy + 'static) -> Self {
        Self {
            groups,
            of: Box::new(move |_, k| of(k)),
            words: Box::new(move |scene, sum, weights| {
                let each: Vec<f64> = (0..sum.length).map(|k| weights[of(k)]).collect();
                of_weights(scene, &each, sum.over)
            }),
        }
    }
}

/// Groups by where a term lies against its element, and by what it is made of.
pub(super) fn by_place<'a>(scene: &'a Scene<'a>, sum: &'a Sum<'a>) -> Vec<Grouping<'a>> {
    let columns = sum.columns;
    let one = sum.over.trim_end_matches('s');
    let mut all = Vec::new();
    // Two groups and what those of the first are called.
    let mut two = |called: String, is: Box<dyn Fn(usize, usize) -> bool + 'a>| {
        all.push(Grouping {
            groups: 2,
            of: Box::new(move |i, k| usize::from(!is(i, k))),
            words: Box::new(move |scene, _, weights| sides(scene, &called, weights)),
        });
    };
    if let [Some(left), right, _] = sum.names {
        let of_left = move |i: usize, k: usize| sum.factor(&sum.left, i, k);
        let of_right = move |i: usize, k: usize| sum.factor(&sum.right, i, k);
        two(format!("terms in which {left} is below 0"), Box::new(move |i, k| of_left(i, k) < 0.0));
        if let Some(right) = right {
            two(
                format!("terms in which {right} is below 0"),
                Box::new(move |i, k| of_right(i, k) < 0.0),
            );
            two(
                "terms that are below 0".into(),
                Box::new(move |i, k| of_left(i, k) * of_right(i, k) < 0.0),
            );
        }
        // Where another tensor of an operand's shape lets it pass.
        for (text, _, _, values) in scene.tensors() {
            for (view, name) in [(&sum.left, Some(left)), (&sum.right, right)] {
                if name.is_none_or(|name| name.to_string() == text)
                    || values.len() != view.values.len()
                {
                    continue;
                }
                let other = Operand { values, ..view.clone() };
                two(
                    format!("terms in which {text} is not above 0"),
                    Box::new(move |i, k| sum.factor(&other, i, k) <= 0.0),
                );
            }
        }
    }
    let by_row = sum.names[1].is_some();
    for (of, what) in [(true, "row"), (false, "column")] {
        if of && !by_row {
            continue;
        }
        let at = move |i: usize| if of { i / columns } else { i % columns };
        two(format!("the {one} with the number of the {what}"), Box::new(move |i, k| k == at(i)));
        two(format!("{}s before the number of the {what}", one), Box::new(move |i, k| k < at(i)));
        two(format!("{}s behind the number of the {what}", one), Box::new(move |i, k| k > at(i)));
        two(
            format!("{}s that make an even number with the {what}", one),
            Box::new(move |i, k| (k + at(i)).is_multiple_of(2)),
        );
    }
    // The class that is the sample's.
    let last = scene.chain.layers();
    if let Some(y) = scene.chain.get(TensorName::Y) {
        let classes = scene.chain.outputs();
        let is = move |sample: usize, class: usize| y.get(sample * classes + class) == Some(&1.0);
        match scene.name {
            TensorName::Da(l) if l + 1 == last => {
                two("the sample's own class".into(), Box::new(move |i, k| is(i / columns, k)));
            }
            TensorName::Dw(l) if l == last => {
                two("samples of the row's class".into(), Box::new(move |i, k| is(k, i / columns)));
            }
            TensorName::Db(l) if l == last => {
                two("samples of the element's class".into(), Box::new(move |i, k| is(k, i)));
            }
            _ => {}
        }
    }
    all
}

/// What some terms count, and the others.
fn sides(scene: &Scene<'_>, called: &str, weights: &[f64]) -> Option<String> {
    let &[own, others] = weights else { return None };
    let same = |a: f64, b: f64| (a - b).abs() < 1e-3;
    let verb = |weight: f64| match () {
        () if same(weight, 0.0) => "left out".into(),
        () if same(weight, 2.0) => "added twice".into(),
        () if same(weight, -1.0) => "subtracted, not added".into(),
        () => format!("counted {} times", number(scene, weight)),
    };
    match (same(own, 1.0), same(others, 1.0)) {
        (true, true) => None,
        (false, true) => Some(format!("{called}: {}", verb(own))),
        (true, false) => Some(format!("all but {called}: {}", verb(others))),
        (false, false) => Some(format!("{called}: {}; the others: {}", verb(own), verb(others))),
    }
}
