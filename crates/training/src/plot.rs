//! Pictures of a run: the curve of its losses and accuracies, and sheets of digits.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use data::Images;
use host::file;
use plotters::prelude::*;

use crate::report::{Report, write_file};
use crate::{Error, Result, picture};

/// The file names of the pictures: the curve, training images, test images.
pub const FILES: [&str; 3] = ["curve.svg", "training.svg", "predictions.svg"];

/// The colour of a wrong prediction.
const WRONG: &str = "#c0392b";

/// Creates the folder for the pictures, and checks that files can be written there.
///
/// # Errors
/// If it can't be created or written to.
pub fn prepare(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                io::Error::other("it is not a folder: name one for the pictures")
            }
            _ => error,
        })
        .and_then(|()| file::check_writable(&folder.join(FILES[0])))
        .map_err(|source| Error::Write { path: folder.into(), source })
}

/// Draws losses (left axis) and test accuracies (right axis) over the batches, as SVG.
///
/// # Errors
/// If the file can't be written.
pub fn curve(path: &Path, report: &Report) -> Result<()> {
    let mut svg = String::new();
    draw_curve(&mut svg, report).map_err(|error| Error::Write {
        path: path.into(),
        source: io::Error::other(error.to_string()),
    })?;
    write_file(path, svg)
}

fn draw_curve(svg: &mut String, report: &Report) -> Result<(), Box<dyn std::error::Error>> {
    let at = |batch: usize| batch as f64;
    let losses: Vec<(f64, f64)> =
        report.losses.iter().map(|point| (at(point.batch), f64::from(point.loss))).collect();
    let accuracies: Vec<(f64, f64)> =
        report.accuracies.iter().map(|point| (at(point.batches), 100.0 * point.accuracy)).collect();
    let last = at(report.batches.max(1));
    let top = 1.05 * losses.iter().map(|point| point.1).fold(f64::MIN_POSITIVE, f64::max);

    let root = SVGBackend::with_string(svg, (800, 450)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!("{} on {}: {}", report.level, report.device, report.preset);
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(55)
        .right_y_label_area_size(55)
        .build_cartesian_2d(0.0..last, 0.0..top)?
        .set_secondary_coord(0.0..last, 0.0..100.0);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("batch")
        .y_desc("loss")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .draw()?;
    chart.configure_secondary_axes().y_desc("test accuracy in %").draw()?;
    chart
        .draw_series(LineSeries::new(losses, BLUE.stroke_width(2)))?
        .label("loss")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], BLUE.stroke_width(2)));
    chart.draw_secondary_series(LineSeries::new(accuracies.clone(), RED.stroke_width(2)))?;
    chart
        .draw_secondary_series(accuracies.into_iter().map(|at| Circle::new(at, 4, RED.filled())))?
        .label(format!("test accuracy, {:.2} % in the end", 100.0 * report.test_accuracy))
        .legend(|(x, y)| Circle::new((x + 10, y), 4, RED.filled()));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    root.present()?;
    Ok(())
}

/// Draws the first images of a set, each with its prediction, and with the true digit if that
/// differs. For a sheet of training images, pass the labels as predictions.
///
/// # Errors
/// If the file can't be written.
pub fn sheet(path: &Path, images: &Images, predictions: &[u8]) -> Result<()> {
    const COLUMNS: usize = 10;
    const CELL: (usize, usize) = (64, 84);
    let count = predictions.len().min(images.len());
    let (width, height) = (COLUMNS * CELL.0, count.div_ceil(COLUMNS) * CELL.1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"14\" \
         text-anchor=\"middle\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (i, &predicted) in predictions.iter().enumerate().take(count) {
        let (x, y) = (i % COLUMNS * CELL.0, i / COLUMNS * CELL.1);
        let png = picture::data_uri(images.image(i), images.width(), images.height());
        let label = images.labels()[i];
        let (text, fill) = if predicted == label {
            (predicted.to_string(), "black")
        } else {
            (format!("{predicted} (is {label})"), WRONG)
        };
        let _ = writeln!(
            svg,
            "<image x=\"{}\" y=\"{}\" width=\"56\" height=\"56\" style=\"image-rendering:pixelated\" \
             href=\"{png}\"/><text x=\"{}\" y=\"{}\" fill=\"{fill}\">{text}</text>",
            x + 4,
            y + 4,
            x + CELL.0 / 2,
            y + 76
        );
    }
    svg.push_str("</svg>\n");
    write_file(path, svg)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use data::{Counts, Digits, Source};

    use super::*;
    use crate::Preset;
    use crate::train::{Accuracy, AccuracyAt, LossAt, Outcome};

    fn digits() -> Digits {
        let counts = Counts { train: 12, test: 1 };
        data::load(Source::Digits, None, counts, &mut |_| {}).unwrap()
    }

    /// A report with three losses and two tests.
    fn report() -> Report {
        let losses = [(0, 2.0), (4, 1.0), (9, 0.5)];
        let accuracies = [(5, 0.25), (10, 0.5)];
        let run = Outcome {
            losses: losses.map(|(batch, loss)| LossAt { batch, loss }).into(),
            accuracies: accuracies
                .map(|(batches, accuracy)| AccuracyAt { batches, accuracy })
                .into(),
            accuracy: Accuracy { correct: 1, total: 2 },
            batches: 10,
            training_time: Duration::from_secs(1),
            ..Outcome::default()
        };
        let preset = Preset::find("small").unwrap();
        Report::new("some-level", "some <device>", &preset, &digits(), &run)
    }

    #[test]
    fn a_curve_shows_each_loss_and_each_test() {
        let folder = tempfile::tempdir().unwrap();
        prepare(&folder.path().join("a/b")).unwrap();
        let path = folder.path().join("a/b").join(FILES[0]);
        curve(&path, &report()).unwrap();
        let svg = fs::read_to_string(&path).unwrap();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
        for part in ["some-level on some &lt;device&gt;: small", "accuracy, 50.00 % in the end"] {
            assert!(svg.contains(part), "{part} is not in {svg}");
        }
        // There is a circle for each test, and one in the legend.
        assert_eq!(svg.matches("<circle ").count(), 3);
        let points =
            |line: &str| line.split("points=\"").nth(1)?.split('"').next().map(str::to_owned);
        let lines: Vec<String> =
            svg.lines().filter(|l| l.contains("<polyline")).filter_map(points).collect();
        // The curves of the losses fall: in SVG, the second coordinate grows downwards.
        let of_losses = lines.iter().filter(|line| line.split_whitespace().count() == 3);
        let heights: Vec<Vec<f64>> = of_losses
            .map(|line| {
                let height = |point: &str| point.split(',').nth(1).unwrap().parse().unwrap();
                line.split_whitespace().map(height).collect()
            })
            .collect();
        assert!(heights.iter().any(|h| h[0] < h[1] && h[1] < h[2]), "{lines:?}");
    }

    #[test]
    fn a_sheet_shows_predictions_and_true_digits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sheet.svg");
        let digits = digits();
        let mut predictions: Vec<u8> = digits.train.labels()[..11].to_vec();
        let wrong = (predictions[10] + 1) % 10;
        let label = std::mem::replace(&mut predictions[10], wrong);
        sheet(&path, &digits.train, &predictions).unwrap();
        let svg = fs::read_to_string(&path).unwrap();
        assert_eq!(svg.matches("<image ").count(), 11);
        assert_eq!(svg.matches(WRONG).count(), 1);
        assert!(svg.contains(&format!(">{wrong} (is {label})</text>")), "{svg}");
        // The first ten images are in a row, and the eleventh is below the first.
        assert!(svg.contains("width=\"640\" height=\"168\""), "{svg}");
        assert!(svg.contains("<image x=\"4\" y=\"88\""), "{svg}");
    }
}
