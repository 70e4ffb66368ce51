//! Reports as an HTML page: curves of one or several runs against batches and against seconds, the confusion matrix,
//! and, if the program itself made the run, the worst mistakes and the weights.

mod curve;

use std::io;
use std::path::Path;

use data::Images;
use host::Foreign;
use host::file;
use page::Page;
use serde::Serialize;

pub use curve::Curve;

use crate::report::{Report, write_file};
use crate::{Error, Parameters, Result, picture};

/// The maximum number of first-layer units whose weights are drawn.
const MAX_UNITS: usize = 128;

const PAGE: Page<'static> =
    Page { template: include_str!("report.html"), style: include_str!("report.css"), script: "" };

#[derive(Serialize)]
struct Content {
    headline: String,
    runs: Vec<Run>,
    charts: Vec<(String, &'static str)>,
    mistakes: Vec<CaptionedPicture>,
    weights: Vec<CaptionedPicture>,
    all_weights: usize,
}

/// The data of a run for the page's template.
#[derive(Serialize)]
struct Run {
    title: String,
    device: String,
    preset: String,
    batches: usize,
    seconds: String,
    rate: String,
    accuracy: String,
    /// The time of each phase: its name, its seconds, and its share in tenths, which is the length of its bar.
    phases: Vec<(&'static str, String, usize)>,
    /// The rows of the confusion matrix. A row has a label and, for each predicted digit, the count and the shade from
    /// 0 to 9.
    confusion: Vec<(usize, Vec<(usize, usize)>)>,
}

/// A picture as a `data:` URI, with its caption.
#[derive(Serialize)]
struct CaptionedPicture {
    source: String,
    text: String,
}

/// Writes the page of a run that this program made, with the report, the trained parameters, and the mistakes among the
/// `tested` images.
///
/// # Errors
/// If the file can't be written.
pub fn write_one(
    path: &Path,
    report: &Report,
    parameters: &Parameters,
    tested: &Images,
) -> Result<()> {
    let mistakes = report.mistakes.iter().filter(|mistake| mistake.image < tested.len());
    let mistakes = mistakes.map(|mistake| CaptionedPicture {
        source: picture::data_uri(tested.image(mistake.image), tested.width(), tested.height()),
        text: format!("{} taken for {}", mistake.label, mistake.predicted),
    });
    let curve: Curve = serde_json::to_value(report)
        .and_then(serde_json::from_value)
        .map_err(|error| Error::Write { path: path.into(), source: error.into() })?;
    let (weights, all_weights) = weights(parameters, tested);
    let mut content = content(std::slice::from_ref(&curve));
    content.mistakes = mistakes.collect();
    content.weights = weights;
    content.all_weights = all_weights;
    write(path, &content)
}

/// Writes one page with several reports, in the order of `curves`.
///
/// # Errors
/// If the file can't be written.
pub fn write_all(path: &Path, curves: &[Curve]) -> Result<()> {
    write(path, &content(curves))
}

/// Writes a picture of the accuracy of several reports against the seconds of training.
///
/// # Errors
/// If no report has an accuracy, or the file can't be written.
pub fn write_picture(path: &Path, curves: &[Curve]) -> Result<()> {
    let svg = curve::race(curves).svg(680, 360).map_err(Error::level)?;
    if svg.is_empty() {
        return Err(Error::Usage("these reports have no accuracies to draw".into()));
    }
    write_file(path, svg)
}

/// Reads a report that `train --json` of a level or of the gold standard wrote.
///
/// # Errors
/// If the file can't be read, or is not such a report.
pub fn read(path: &Path) -> Result<Curve> {
    let failed = |reason: String| Error::Read { path: path.into(), reason };
    let bytes = file::read_file(path, MAX_BYTES, tensor::cannot_be_json);
    let bytes = bytes.map_err(|error| failed(error.to_string()))?;
    if let Some(found) = Foreign::detect(&bytes) {
        return Err(failed(found.instead_of("the report of a training run", "")));
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| failed(format!("it is not the report of a training run: {error}")))
}

/// The maximum size of a report file in bytes. A million losses take less.
const MAX_BYTES: u64 = 1 << 28;

fn write(path: &Path, content: &Content) -> Result<()> {
    let page = PAGE.render(&content.headline, content, &());
    let failed = |error| Error::Write { path: path.into(), source: io::Error::other(error) };
    write_file(path, page.map_err(failed)?)
}

fn content(curves: &[Curve]) -> Content {
    let titles = curve::titles(curves);
    let headline = match (curves, &titles[..]) {
        ([one], [title]) => {
            format!("{title}: {:.2} % of the test images recognised", 100.0 * one.test_accuracy)
        }
        _ => format!("{} training runs compared", curves.len()),
    };
    Content {
        headline,
        charts: curve::charts(curves, &titles),
        runs: curves.iter().zip(titles).map(|(curve, title)| run(curve, title)).collect(),
        mistakes: Vec::new(),
        weights: Vec::new(),
        all_weights: 0,
    }
}

fn run(curve: &Curve, title: String) -> Run {
    let whole = curve.phases.as_ref().map_or(0.0, |p| p.load + p.step + p.wait + p.check + p.test);
    let phase = |name, seconds: f64| {
        // A bar has ten steps of length, which are enough to show the dominant phase.
        let tenths = (10.0 * seconds / whole.max(f64::MIN_POSITIVE)).round() as usize;
        (name, format!("{seconds:.3}"), tenths.min(10))
    };
    let phases = curve.phases.as_ref().map(|phases| {
        vec![
            phase("loading batches", phases.load),
            phase("steps, or enqueuing them on the device", phases.step),
            phase("waiting for the device", phases.wait),
            phase("checking for values that are not finite", phases.check),
            phase("testing", phases.test),
        ]
    });
    let confusion = curve.confusion.iter().enumerate().map(|(label, row)| {
        let all: usize = row.iter().sum();
        let dark = |&n: &usize| (n, if n == 0 { 0 } else { 1 + 8 * n / all.max(1) });
        (label, row.iter().map(dark).collect())
    });
    Run {
        title,
        device: curve.device.clone(),
        preset: curve.preset.clone(),
        batches: curve.batches,
        seconds: format!("{:.2}", curve.seconds),
        rate: format!("{:.0}", curve.samples_per_second),
        accuracy: format!("{:.2}", 100.0 * curve.test_accuracy),
        phases: phases.unwrap_or_default(),
        confusion: confusion.collect(),
    }
}

/// The weights of the first layer's units as pictures, and the number of units; there are no pictures if the first
/// layer's inputs aren't the pixels.
fn weights(parameters: &Parameters, images: &Images) -> (Vec<CaptionedPicture>, usize) {
    let (width, height) = (images.width(), images.height());
    let Some(first) = parameters.layers.first() else { return (Vec::new(), 0) };
    let inputs = width * height;
    if first.w.shape().get(1) != Some(&inputs) {
        return (Vec::new(), 0);
    }
    let rows = first.w.data().chunks_exact(inputs);
    let pictures = rows.enumerate().take(MAX_UNITS).map(|(unit, row)| CaptionedPicture {
        source: picture::values_uri(row, width, height),
        text: format!("unit {unit}"),
    });
    (pictures.collect(), first.w.shape()[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_shares_of_the_total_time_and_shades_are_shares_of_a_row() {
        let curve: Curve = serde_json::from_str(
            r#"{"level": "a", "device": "cpu", "preset": "p", "batches": 10, "seconds": 2.0,
            "samples_per_second": 5.0, "test_accuracy": 0.875, "losses": [], "accuracies": [],
            "phases": {"load": 1.0, "step": 5.0, "wait": 0.0, "check": 0.25, "test": 3.75},
            "confusion": [[7, 1], [0, 0]]}"#,
        )
        .unwrap();
        let shown = run(&curve, "a".into());
        let bars: Vec<_> =
            shown.phases.iter().map(|(_, seconds, tenths)| (&seconds[..], *tenths)).collect();
        assert_eq!(bars, [("1.000", 1), ("5.000", 5), ("0.000", 0), ("0.250", 0), ("3.750", 4)]);
        assert_eq!(
            shown.confusion,
            [(0, vec![(7, 1 + 8 * 7 / 8), (1, 1 + 8 / 8)]), (1, vec![(0, 0), (0, 0)])]
        );
        assert_eq!(
            (&shown.accuracy[..], &shown.seconds[..], &shown.rate[..]),
            ("87.50", "2.00", "5")
        );

        // Reports of other programs have no phases.
        let mut without = curve;
        without.phases = None;
        assert!(run(&without, "a".into()).phases.is_empty());
    }
}
