//! The drawing of a roofline as SVG.

use plotters::prelude::*;

use super::labels::{self, Area, CHARACTER, LINE};
use super::{Mark, Point};
use crate::card::Card;

const SIZE: (u32, u32) = (800, 520);
const FONT: (&str, i32) = ("sans-serif", 13);
/// The colours, from the palette of Okabe and Ito, of the two roofs and of the marks that belong to one of them. Marks
/// of both are grey.
const SINGLE_COLOUR: RGBColor = RGBColor(0, 114, 178);
const TF32_COLOUR: RGBColor = RGBColor(213, 94, 0);
const BOTH_COLOUR: RGBColor = RGBColor(90, 90, 90);

type Axes = Cartesian2d<LogCoord<f64>, LogCoord<f64>>;
type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Axes>;
type Drawn<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Draws a card's roofline with two marks for each kernel: a filled one for its position without caches, and
/// an empty one, whose name is in parentheses, for its position with perfect caches.
///
/// # Errors
/// The drawing library's error.
pub fn svg(card: Card, points: &[Point]) -> Result<String, String> {
    let mut svg = String::new();
    draw(&mut svg, card, points).map_err(|error| error.to_string())?;
    Ok(svg)
}

fn draw(svg: &mut String, card: Card, points: &[Point]) -> Drawn {
    let speeds = card.speeds();
    let marks = || {
        points
            .iter()
            .flat_map(|point| [point.without_caches(card), point.with_perfect_caches(card)])
    };
    let corners = [speeds.single, speeds.tf32].map(|speed| speed / speeds.memory);
    let (left, right) = decades(marks().map(|mark| mark.intensity).chain(corners));
    let heights = marks().map(|mark| mark.rate);
    let (low, high) = decades(heights.chain([speeds.single, speeds.tf32, speeds.memory * left]));
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!("Operations at most on an {}; counted, not timed", card.name());
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d((left..right).log_scale(), (low..high).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("floating-point operations for each byte of memory")
        .y_desc("TFLOP/s")
        .x_label_formatter(&|value| power(*value))
        .y_label_formatter(&|value| power(1e-12 * value))
        .label_style(FONT)
        .draw()?;
    // If both roofs have the same height, one name is above the line and the other below it.
    let same = speeds.single >= speeds.tf32;
    let mut taken = vec![memory(&root, &chart, left, speeds.memory)?];
    for (speed, what, colour, below) in [
        (speeds.tf32, "tensor cores, TF32", TF32_COLOUR, false),
        (speeds.single, "single precision", SINGLE_COLOUR, same),
    ] {
        let line = [(left, left * speeds.memory), (speed / speeds.memory, speed), (right, speed)];
        chart.draw_series([PathElement::new(line, colour.stroke_width(2))])?;
        let (x, y) = chart.backend_coord(&(right, speed));
        let y = if below { y + 3 } else { y - LINE - 3 };
        let name = format!("{what}: {} TFLOP/s", figure(1e-12 * speed));
        let x = x - CHARACTER * name.chars().count() as i32;
        taken.push(text(&root, &name, (x, y), colour)?);
    }
    let at = |mark: Mark| chart.backend_coord(&coordinates(mark));
    let filled =
        points.iter().map(|point| (at(point.without_caches(card)), point.name.clone(), true));
    let empty = points
        .iter()
        .map(|point| (at(point.with_perfect_caches(card)), format!("({})", point.name), false));
    let marks: Vec<((i32, i32), String, bool)> = filled.chain(empty).collect();
    let named: Vec<((i32, i32), &str)> =
        marks.iter().map(|(at, name, _)| (*at, name.as_str())).collect();
    let (x, y) = chart.plotting_area().get_pixel_range();
    let places = labels::places(&named, taken, (x.start, y.start, x.end, y.end));
    for ((point, (at, name, filled)), place) in points.iter().cycle().zip(&marks).zip(places) {
        let colour = match (point.single, point.tensor) {
            (_, 0) => SINGLE_COLOUR,
            (0, _) => TF32_COLOUR,
            _ => BOTH_COLOUR,
        };
        let end = labels::corner(*at, place, name);
        root.draw(&PathElement::new([*at, end], BLACK.mix(0.3)))?;
        root.draw(&Circle::new(*at, 4, if *filled { colour } else { WHITE }.filled()))?;
        if !filled {
            root.draw(&Circle::new(*at, 4, colour.stroke_width(1)))?;
        }
        text(&root, name, place, BLACK)?;
    }
    root.present()?;
    drop(chart);
    drop(root);
    Ok(())
}

/// Draws the name of the sloping line above its lower end, and returns the area of the text.
fn memory(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    chart: &Chart<'_>,
    left: f64,
    speed: f64,
) -> Drawn<Area> {
    let words = format!("memory: {} TB/s", figure(1e-12 * speed));
    let width = CHARACTER * words.chars().count() as i32;
    // Computes how far the sloping line rises over the width of the name, in pixels.
    let (begin, further) = (
        chart.backend_coord(&(left, left * speed)),
        chart.backend_coord(&(10.0 * left, 10.0 * left * speed)),
    );
    let rise = (begin.1 - further.1) * width / (further.0 - begin.0).max(1);
    text(root, &words, (begin.0 + 4, begin.1 - rise - LINE - 4), BLACK)
}

fn text(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    words: &str,
    at: (i32, i32),
    colour: RGBColor,
) -> Drawn<Area> {
    root.draw(&Text::new(words.to_owned(), at, FONT.into_font().color(&colour)))?;
    Ok((at.0, at.1, at.0 + CHARACTER * words.chars().count() as i32, at.1 + LINE))
}

/// The range of powers of ten that contains all values.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite() && *value > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    (10_f64.powf(low.log10().floor()), 10_f64.powf(high.log10().ceil()))
}

/// Formats a power of ten without an exponent.
fn power(value: f64) -> String {
    let digits = (-value.log10()).round().max(0.0) as usize;
    format!("{value:.digits$}")
}

/// Formats a figure of a data sheet, with up to three digits after the point.
fn figure(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

const fn coordinates(mark: Mark) -> (f64, f64) {
    (mark.intensity, mark.rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(name: &str, single: u64, tensor: u64, asked: u64, least: u64) -> Point {
        let flops = 2 * (single + tensor);
        Point { name: name.into(), flops, single, tensor, asked, least }
    }

    #[test]
    fn the_roofs_and_the_marks_are_drawn() {
        let points =
            [point("slow", 1_000, 0, 100_000, 1_000), point("<fast>", 0, 1_000_000, 64, 32)];
        let svg = svg(Card::H100, &points).unwrap();
        for words in [
            "Operations at most on an NVIDIA H100 SXM5; counted, not timed",
            "single precision: 67 TFLOP/s",
            "tensor cores, TF32: 494.5 TFLOP/s",
            "memory: 3.35 TB/s",
        ] {
            assert_eq!(svg.matches(words).count(), 1, "{words}: {svg}");
        }
        assert!(svg.contains("(slow)") && svg.contains("(&lt;fast&gt;)"), "{svg}");
        // Each kernel has a filled mark (one circle) and an empty one (a white circle and its rim).
        assert_eq!(svg.matches("<circle").count(), 2 * 3);
        assert!(!svg.contains("NaN") && !svg.contains(" ms") && !svg.contains("seconds"), "{svg}");
    }

    #[test]
    fn a_mark_is_at_its_coordinates() {
        // The kernel has 1 FLOP per byte, and its rate is 3.35 TFLOP/s. Both axes go from 1 to 1,000.
        let points = [point("a", 500, 0, 1_000, 1_000)];
        let svg = svg(Card::H100, &points).unwrap();
        let circle = svg.lines().find(|line| line.starts_with("<circle")).unwrap();
        let number = |name: &str| -> f64 {
            let rest = &circle[circle.find(&format!(" {name}=\"")).unwrap() + name.len() + 3..];
            rest[..rest.find('"').unwrap()].parse().unwrap()
        };
        // plotters uses 12 pixels for margins, 64 and 40 for labels; the rest of 800 by 520 is for the axes.
        assert!((number("cx") - 76.0).abs() <= 1.0, "{circle}");
        let (top, bottom) = (520.0 - 12.0 - 40.0, 3.35_f64.log10() / 3.0);
        let height = top - number("cy");
        let whole = height / bottom;
        assert!((400.0..450.0).contains(&whole), "{circle}");
    }

    #[test]
    fn without_points_only_the_roof_is_drawn() {
        for card in [Card::H100, Card::A100, Card::Rtx4090] {
            let svg = svg(card, &[]).unwrap();
            assert!(svg.contains(card.name()) && !svg.contains("<circle"));
        }
    }

    #[test]
    fn figures_are_those_of_the_data_sheets() {
        assert_eq!([67.0, 494.5, 2.039, 19.5].map(figure), ["67", "494.5", "2.039", "19.5"]);
        assert_eq!([0.01, 0.1, 1.0, 1000.0].map(power), ["0.01", "0.1", "1", "1000"]);
    }
}
