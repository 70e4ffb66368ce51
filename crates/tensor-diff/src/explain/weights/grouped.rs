//! Groups of a sum's terms that share a weight.

use tensor::TensorName;

use super::super::Scene;
use super::super::formula::Formula;
use super::super::numbers::number;
use super::words::of_weights;

/// The group of term `k` of element `i`.
pub(super) struct Grouping<'a> {
    pub(super) groups: usize,
    pub(super) of: Box<dyn Fn(usize, usize) -> usize + 'a>,
    /// The words for the first of two groups; `None` if a term's number determines its group.
    first: Option<String>,
}

impl<'a> Grouping<'a> {
    pub(super) fn by_number(groups: usize, of: impl Fn(usize) -> usize + 'a) -> Self {
        Self { groups, of: Box::new(move |_, k| of(k)), first: None }
    }

    /// The weights of all groups in words.
    pub(super) fn words(
        &self,
        scene: &Scene<'_>,
        sum: &Formula<'_>,
        weights: &[f64],
    ) -> Option<String> {
        let Some(first) = &self.first else {
            let each: Vec<f64> = (0..sum.length).map(|k| weights[(self.of)(0, k)]).collect();
            return of_weights(scene, &each, sum.over);
        };
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
            (false, true) => Some(format!("{first}: {}", verb(own))),
            (true, false) => Some(format!("all but {first}: {}", verb(others))),
            (false, false) => Some(format!("{first}: {}; the others: {}", verb(own), verb(others))),
        }
    }
}

/// Whether term `k` of element `i` is in the first of two groups.
type IsFirst<'a> = Box<dyn Fn(usize, usize) -> bool + 'a>;

/// Two groups, by a term's index compared with its element's, or by its factors.
pub(super) fn by_place<'a>(scene: &'a Scene<'a>, sum: &'a Formula<'a>) -> Vec<Grouping<'a>> {
    let columns = sum.columns;
    let one = sum.over.trim_end_matches('s');
    let mut all: Vec<(String, IsFirst<'a>)> = Vec::new();
    let operands = &sum.operands[..if sum.is_product() { 2 } else { 1 }];
    for (place, operand) in operands.iter().enumerate() {
        let below = format!("terms in which {} is below 0", operand.name);
        all.push((below, Box::new(move |i, k| sum.pair(i, k)[place] < 0.0)));
    }
    if sum.is_product() {
        all.push(("terms that are below 0".into(), Box::new(|i, k| sum.term(i, k) < 0.0)));
    }
    // A mask from another tensor of an operand's shape.
    for (text, _, _, values) in scene.tensors() {
        for (place, operand) in operands.iter().enumerate() {
            if operand.name != text && values.len() == operand.values.len() {
                let masked = move |i, k| sum.factor(place, values, i, k) <= 0.0;
                all.push((format!("terms in which {text} is not above 0"), Box::new(masked)));
            }
        }
    }
    for what in ["row", "column"].into_iter().skip(usize::from(!sum.is_product())) {
        let at = move |i: usize| if what == "row" { i / columns } else { i % columns };
        let number = format!("the number of the {what}");
        all.push((format!("the {one} with {number}"), Box::new(move |i, k| k == at(i))));
        all.push((format!("{one}s before {number}"), Box::new(move |i, k| k < at(i))));
        all.push((format!("{one}s after {number}"), Box::new(move |i, k| k > at(i))));
        let even = move |i: usize, k: usize| (k + at(i)).is_multiple_of(2);
        all.push((format!("{one}s that make an even number with the {what}"), Box::new(even)));
    }
    let last = scene.chain.layers();
    if let Some(y) = scene.chain.get(TensorName::Y) {
        let classes = scene.chain.outputs();
        let is = move |sample: usize, class: usize| y.get(sample * classes + class) == Some(&1.0);
        let by_class: Option<(&str, IsFirst<'a>)> = match scene.name {
            TensorName::Da(l) if l + 1 == last => {
                Some(("the sample's own class", Box::new(move |i, k| is(i / columns, k))))
            }
            TensorName::Dw(l) if l == last => {
                Some(("samples of the row's class", Box::new(move |i, k| is(k, i / columns))))
            }
            TensorName::Db(l) if l == last => {
                Some(("samples of the element's class", Box::new(move |i, k| is(k, i))))
            }
            _ => None,
        };
        all.extend(by_class.map(|(text, is)| (text.to_owned(), is)));
    }
    let grouping = |(text, is_first): (String, IsFirst<'a>)| Grouping {
        groups: 2,
        of: Box::new(move |i, k| usize::from(!is_first(i, k))),
        first: Some(text),
    };
    all.into_iter().map(grouping).collect()
}
