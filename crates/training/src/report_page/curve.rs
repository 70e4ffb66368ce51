//! The curves of a report: how they are read from a file, and drawn.

use page::{Chart, Line};
use serde::Deserialize;

use crate::train::{AccuracyAt, Phases, TimeAt};

/// The parts of a report that a page shows. A report of the gold standard in Python has no times, so each of
/// its batches is assumed to take equally long.
#[derive(Clone, Debug, Deserialize)]
pub struct Curve {
    /// The program, such as `level1-cpu`.
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
    /// Samples trained in a second.
    pub samples_per_second: f64,
    /// The final test accuracy, a fraction.
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
    /// The training time of the first `batches` batches in seconds.
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

/// A title for each run: its level if that is unique, otherwise the level with the preset, then with the
/// device, and as the last resort with the run's number.
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

/// Charts of loss and accuracy, each against batches and against seconds: SVG and caption.
pub(super) fn charts(curves: &[Curve], titles: &[String]) -> Vec<(String, &'static str)> {
    type Points = fn(&Curve) -> Vec<(f64, f64)>;
    let loss_by_batch: Points =
        |one| one.losses.iter().map(|at| ((at.batch + 1) as f64, at.loss)).collect();
    let loss_by_time: Points =
        |one| one.losses.iter().map(|at| (one.seconds_at(at.batch + 1), at.loss)).collect();
    let accuracy_by_batch: Points =
        |one| one.accuracies.iter().map(|at| (at.batches as f64, 100.0 * at.accuracy)).collect();
    let accuracy_by_time: Points = |one| {
        let point = |at: &AccuracyAt| (one.seconds_at(at.batches), 100.0 * at.accuracy);
        one.accuracies.iter().map(point).collect()
    };
    [
        ("batches", "loss", loss_by_batch, None, "Loss against batches"),
        ("seconds of training", "loss", loss_by_time, None, "Loss against seconds"),
        (
            "batches",
            "test accuracy in %",
            accuracy_by_batch,
            Some(100.0),
            "Accuracy against batches",
        ),
        (
            "seconds of training",
            "test accuracy in %",
            accuracy_by_time,
            Some(100.0),
            "Accuracy against seconds",
        ),
    ]
    .into_iter()
    .map(|(x, y, points, top, caption)| {
        let lines = curves.iter().zip(titles);
        let lines = lines.map(|(one, name)| Line { name: name.clone(), points: points(one) });
        let chart = Chart {
            x: x.into(),
            y: y.into(),
            lines: lines.collect(),
            range: top.map(|top| (0.0, top)),
            logarithmic: false,
        };
        (chart.svg(620, 320).unwrap_or_default(), caption)
    })
    .collect()
}

/// A chart of the accuracy against seconds. The axis is logarithmic, because programs differ by large factors.
pub(super) fn race(curves: &[Curve]) -> Chart {
    let lines = curves.iter().zip(titles(curves)).map(|(one, name)| {
        let point = |at: &AccuracyAt| (one.seconds_at(at.batches), 100.0 * at.accuracy);
        Line { name, points: one.accuracies.iter().map(point).collect() }
    });
    Chart {
        x: "seconds of training".into(),
        y: "test accuracy in %".into(),
        lines: lines.collect(),
        range: Some((0.0, 100.0)),
        logarithmic: true,
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
