//! Line charts as SVG. Lines differ in dashes and marks as well as in colour.

#[cfg(not(target_family = "wasm"))]
use plotters::prelude::*;

/// The colours of Okabe and Ito, without yellow, which is faint on white.
#[cfg(not(target_family = "wasm"))]
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
];
/// Dash patterns: pixels drawn and left out. The first line is solid.
#[cfg(not(target_family = "wasm"))]
const DASHES: [(i32, i32); 4] = [(1, 0), (8, 4), (2, 3), (12, 3)];

/// One line of a chart.
#[derive(Clone, Debug)]
pub struct Line {
    /// The line's name in the legend.
    pub name: String,
    /// The line's points, from left to right; points that aren't finite are left out.
    pub points: Vec<(f64, f64)>,
}

/// Lines over one pair of axes.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Label of the horizontal axis.
    pub x: String,
    /// Label of the vertical axis.
    pub y: String,
    /// The lines of the chart.
    pub lines: Vec<Line>,
    /// The range of the vertical axis; by default that of the data.
    pub range: Option<(f64, f64)>,
    /// Whether the horizontal axis is logarithmic, which leaves out points that aren't above 0.
    pub logarithmic: bool,
}

impl Chart {
    /// The chart as an element of a page; empty if no line has a point.
    ///
    /// # Errors
    /// The drawing library's error.
    pub fn svg(&self, width: u32, height: u32) -> Result<String, String> {
        let mut svg = String::new();
        self.draw(&mut svg, (width, height)).map_err(|error| error.to_string())?;
        // The page sets the size.
        let size = format!("<svg width=\"{width}\" height=\"{height}\" ");
        Ok(svg.replacen(&size, "<svg role=\"img\" ", 1))
    }

    /// The points that can be drawn, in coordinates of the chart.
    #[cfg(not(target_family = "wasm"))]
    fn visible_points(&self, line: &Line) -> Vec<(f64, f64)> {
        let x = |x: f64| if self.logarithmic { x.log10() } else { x };
        let points = line.points.iter().map(|point| (x(point.0), point.1));
        points.filter(|point| point.0.is_finite() && point.1.is_finite()).collect()
    }

    /// In a browser the drawing library needs generated JavaScript, and no page there asks for a chart.
    #[cfg(target_family = "wasm")]
    fn draw(&self, _: &mut String, _: (u32, u32)) -> Result<(), Box<dyn std::error::Error>> {
        Err("charts are not drawn in a browser".into())
    }

    #[cfg(not(target_family = "wasm"))]
    fn draw(&self, svg: &mut String, size: (u32, u32)) -> Result<(), Box<dyn std::error::Error>> {
        let lines: Vec<Vec<(f64, f64)>> =
            self.lines.iter().map(|line| self.visible_points(line)).collect();
        let ends = |axis: fn(&(f64, f64)) -> f64| {
            let all = lines.iter().flatten().map(axis);
            all.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
        };
        let ((left, right), (low, high)) = (ends(|p| p.0), ends(|p| p.1));
        if left > right {
            return Ok(());
        }
        let widened = |(a, b): (f64, f64)| if a < b { (a, b) } else { (a - 0.5, b + 0.5) };
        let (left, right) = widened((left, right));
        let (low, high) = self.range.unwrap_or_else(|| {
            let (low, high) = widened((low.min(0.0), high));
            (low, high + 0.05 * (high - low))
        });
        let root = SVGBackend::with_string(svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(left..right, low..high)?;
        let power = |x: &f64| {
            let value = 10_f64.powf(*x);
            // Two significant digits.
            let digits = (1.0 - x.floor()).clamp(0.0, 9.0) as usize;
            format!("{value:.digits$}")
        };
        let mut mesh = chart.configure_mesh();
        mesh.light_line_style(TRANSPARENT)
            .x_desc(&self.x)
            .y_desc(&self.y)
            .label_style(("sans-serif", 13));
        if self.logarithmic {
            mesh.x_label_formatter(&power);
        }
        mesh.draw()?;
        for (n, (line, points)) in self.lines.iter().zip(&lines).enumerate() {
            let style = COLOURS[n % COLOURS.len()].stroke_width(2);
            let (drawn, gap) = DASHES[n % DASHES.len()];
            let dashed =
                move |points: Vec<(f64, f64)>| DashedLineSeries::new(points, drawn, gap, style);
            let series = if gap == 0 {
                chart.draw_series(LineSeries::new(points.clone(), style))?
            } else {
                chart.draw_series(dashed(points.clone()))?
            };
            series.label(&line.name).legend(move |(x, y)| {
                let mark: Vec<(i32, i32)> = vec![(x, y), (x + 22, y)];
                PathElement::new(mark, style)
            });
            // If there are few points, they are marked, with a different shape for each line.
            if points.len() <= 40 {
                let at = points.iter().copied();
                match n % 3 {
                    0 => chart.draw_series(at.map(|p| Circle::new(p, 3, style.filled())))?,
                    1 => {
                        chart.draw_series(at.map(|p| TriangleMarker::new(p, 5, style.filled())))?
                    }
                    _ => chart.draw_series(at.map(|p| Cross::new(p, 4, style)))?,
                };
            }
        }
        // The legend goes where the lines are not. With a fixed range, they are accuracies, which rise; otherwise they
        // are losses, which fall.
        let corner = if self.range.is_some() {
            SeriesLabelPosition::LowerRight
        } else {
            SeriesLabelPosition::UpperRight
        };
        chart
            .configure_series_labels()
            .position(corner)
            .label_font(("sans-serif", 13))
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        root.present()?;
        drop(chart);
        drop(root);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(name: &str, points: Vec<(f64, f64)>) -> Chart {
        let lines = vec![Line { name: name.into(), points }];
        Chart { x: "batch".into(), y: "loss".into(), lines, range: None, logarithmic: false }
    }

    #[test]
    fn names_are_escaped() {
        let svg = chart("<script>&", vec![(0.0, 1.0), (1.0, 2.0)]).svg(400, 200).unwrap();
        assert!(!svg.contains("<script>") && svg.contains("&lt;script&gt;&amp;"), "{svg}");
        assert!(svg.starts_with("<svg role=\"img\" viewBox=\"0 0 400 200\""), "{}", &svg[..90]);
    }

    #[test]
    fn a_logarithmic_axis_is_labelled_with_values() {
        let points = vec![(0.0, 1.0), (0.01, 1.0), (0.1, 2.0), (10.0, 3.0)];
        let svg = Chart { logarithmic: true, ..chart("a", points) }.svg(620, 320).unwrap();
        for label in [">\n0.010\n<", ">\n0.10\n<", ">\n1.0\n<", ">\n10\n<"] {
            assert!(svg.contains(label), "{label:?} {svg}");
        }
        // The point at 0 has no place on a logarithmic axis, so it is left out.
        assert_eq!(svg.matches("<circle").count(), 3);
    }

    #[test]
    fn single_points_are_drawn_and_non_finite_ones_left_out() {
        assert!(chart("a", vec![(3.0, 1.0)]).svg(400, 200).unwrap().contains("<circle"));
        let holes = chart("a", vec![(0.0, f64::NAN), (1.0, f64::INFINITY), (2.0, 0.5), (3.0, 0.4)]);
        assert!(!holes.svg(400, 200).unwrap().contains("NaN"));
        assert_eq!(chart("a", vec![(0.0, f64::NAN)]).svg(400, 200).unwrap(), "");
    }
}
