//! The curves of a report: how they are read from a file, and drawn.

use page::{Chart, Line};
use serde::Deserialize;

use crate::train::{AccuracyAt, Phases, TimeAt};

/// The parts of a report that a page uses. A report of the gold standard in Python has no times, so each of its batches
/// is assumed to take equally long.
#[derive(Clone, Debug, Deserialize)]
pub struct Curve {
    /// The program that made the report, such as `level1-cpu`.
    pub level: String,
    /// The device.
    pub device: String,
    /// The preset.
    #[serde(deserialize_with = "tensor::deserialize_preset_name")]
    pub preset: String,
    /// Batches trained.
    pub batches: usize,
    /// Seconds of training.
    pub seconds: f64,
    /// The number of samples trained per second.
    pub samples_per_second: f64,
    /// The final test accuracy as a fraction.
    pub test_accuracy: f64,
    losses: Vec<LossAt>,
    accuracies: Vec<AccuracyAt>,
    #[serde(default)]
    times: Vec<TimeAt>,
    #[serde(default)]
    pub(super) phases: Option<Phases>,
    #[serde(default)]
    pub(super) confusion: Vec<Vec<usize>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct LossAt {
    batch: usize,
    loss: f64,
}

impl Curve {
    /// The time in seconds that training the first `batches` batches took.
    fn seconds_at(&self, batches: usize) -> f64 {
        let known = self.times.iter().find(|time| time.batches >= batches);
        let evenly = || self.seconds * batches as f64 / self.batches.max(1) as f64;
        match known {
            Some(time) if time.batches == batches => time.seconds,
            Some(time) => time.seconds * batches as f64 / time.batches.max(1) as f64,
            None => evenly(),
        }
    }
}

/// A title for each run: the level if that is unique; otherwise the level with the preset, or also with the device, or
/// also with the run's number.
pub(super) fn titles(curves: &[Curve]) -> Vec<String> {
    let ways: [fn(&Curve) -> String; 3] = [
        |one| one.level.clone(),
        |one| format!("{}, {}", one.level, one.preset),
        |one| format!("{}, {}, {}", one.level, one.preset, one.device),
    ];
    let single = |one: &Curve, way: fn(&Curve) -> String| {
        let mine = way(one);
        (curves.iter().filter(|other| way(other) == mine).count() == 1).then_some(mine)
    };
    let numbered = |n: usize, one: &Curve| format!("{}, {} ({})", one.level, one.preset, n + 1);
    curves
        .iter()
        .enumerate()
        .map(|(n, one)| {
            ways.iter().find_map(|way| single(one, *way)).unwrap_or_else(|| numbered(n, one))
        })
        .collect()
}

/// Charts of the loss and the accuracy, each against batches and against seconds. A chart is an SVG and its caption.
pub(super) fn charts(curves: &[Curve], titles: &[String]) -> Vec<(String, &'static str)> {
    [
        ("Loss against batches", BATCHES, false),
        ("Loss against seconds", SECONDS, false),
        ("Accuracy against batches", BATCHES, true),
        ("Accuracy against seconds", SECONDS, true),
    ]
    .map(|(caption, x, of_accuracy)| {
        let chart = chart(curves, titles, x, of_accuracy);
        (chart.svg(620, 320).unwrap_or_default(), caption)
    })
    .into()
}

/// A chart of the accuracy against seconds. The axis is logarithmic, because programs differ by large factors.
pub(super) fn race(curves: &[Curve]) -> Chart {
    Chart { logarithmic: true, ..chart(curves, &titles(curves), SECONDS, true) }
}

/// A horizontal axis: its label, and a function that returns its value for a run after a number of batches.
type Axis = (&'static str, fn(&Curve, usize) -> f64);

const BATCHES: Axis = ("batches", |_, batches| batches as f64);
const SECONDS: Axis = ("seconds of training", Curve::seconds_at);

/// A chart of the loss or of the accuracy.
fn chart(curves: &[Curve], titles: &[String], (x, at): Axis, of_accuracy: bool) -> Chart {
    let line = |(curve, name): (&Curve, &String)| {
        let points = if of_accuracy {
            let point = |p: &AccuracyAt| (at(curve, p.batches), 100.0 * p.accuracy);
            curve.accuracies.iter().map(point).collect()
        } else {
            curve.losses.iter().map(|p| (at(curve, p.batch + 1), p.loss)).collect()
        };
        Line { name: name.clone(), points }
    };
    Chart {
        x: x.into(),
        y: if of_accuracy { "test accuracy in %" } else { "loss" }.into(),
        lines: curves.iter().zip(titles).map(line).collect(),
        range: of_accuracy.then_some((0.0, 100.0)),
        logarithmic: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(level: &str, preset: &str, times: &str) -> Curve {
        let text = format!(
            r#"{{"level": "{level}", "device": "cpu", "preset": "{preset}", "batches": 10,
            "seconds": 2.0, "samples_per_second": 5.0, "test_accuracy": 0.5,
            "losses": [{{"batch": 0, "loss": 2.5}}, {{"batch": 9, "loss": 1.5}}],
            "accuracies": [{{"batches": 10, "accuracy": 0.5}}]{times}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn batches_without_times_take_equally_long() {
        assert_eq!(curve("a", "b", "").seconds_at(5), 1.0);
        let timed = curve(
            "a",
            "b",
            r#", "times": [{"batches": 1, "seconds": 0.5}, {"batches": 10, "seconds": 2.0}]"#,
        );
        assert_eq!((timed.seconds_at(1), timed.seconds_at(10)), (0.5, 2.0));
        assert_eq!(timed.seconds_at(5), 1.0);
    }

    #[test]
    fn titles_are_unique() {
        let curves = [
            curve("a", "p", ""),
            curve("b", "p", ""),
            curve("b", "q", ""),
            curve("c", "p", ""),
            curve("c", "p", ""),
        ];
        assert_eq!(titles(&curves), ["a", "b, p", "b, q", "c, p (4)", "c, p (5)"]);
        let charts = charts(&curves, &titles(&curves));
        assert_eq!(charts.len(), 4);
        for (svg, caption) in charts {
            assert!(svg.contains("b, q"), "{caption}");
        }
    }
}
