//! Drawings: the blocks of plain text that draw boxes, lines and arrows with characters become figures in the built book.
//! The sources stay text, which an editor can change and a diff can show.

use std::fmt::Write as _;
use std::path::Path;

use crate::{Problem, edit_pages, escaped};

/// The tags around a block of plain text, as mdBook writes them.
const START: &str = "<pre><code class=\"language-text\">";
const END: &str = "</code></pre>";
/// Characters that only drawings have.
const STROKES: &str = "─│┌┐└┘├┤┬┴┼►◄▲▼╱╲█|↓";
/// Width and height of a character's cell in pixels, and size of the letters. Letters of the code's font are 0.6 times as
/// wide as they are high.
const CELL: (f32, f32) = (8.4, 20.0);
const LETTERS: f32 = 14.0;
/// The minimum width of a drawing on a phone, as a share of its full width, at which labels have 10 pixels. If there is
/// less room, the drawing scrolls.
const LEAST: f32 = 0.72;
/// The minimum number of letters in the longest word of a label that counts as words rather than code.
const WORD: usize = 4;

/// Replaces the drawings on all pages of a built book by figures.
///
/// # Errors
/// If a page can't be read or written.
pub fn draw(repository: &Path) -> Result<(), Problem> {
    edit_pages(repository, |_, html| Ok(html.contains(START).then(|| figures(html))))
}

/// The page with figures in place of its drawings. Other blocks of text are left as they are.
fn figures(html: &str) -> String {
    let mut parts = html.split(START);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (block, rest) = part.split_once(END).unwrap_or((part, ""));
        let text = unescaped(block);
        if text.contains("-->") || text.contains(|c| STROKES.contains(c)) {
            let _ = write!(out, "<figure class=\"drawing\">{}</figure>{rest}", svg(&text));
        } else {
            let _ = write!(out, "{START}{part}");
        }
    }
    out
}

fn unescaped(html: &str) -> String {
    let html = html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    html.replace("&#39;", "'").replace("&#x27;", "'").replace("&amp;", "&")
}

/// The content of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cell {
    /// A letter or a space.
    Letter,
    /// Strokes from the centre up, down, left and right, and the direction of an arrowhead.
    Strokes([bool; 4], Option<usize>),
    /// A part of a bar.
    Bar,
    /// A stroke from corner to corner; true if it rises to the right.
    Diagonal(bool),
}

const UP: usize = 0;
const DOWN: usize = 1;
const LEFT: usize = 2;
const RIGHT: usize = 3;

/// A drawing as characters, row by row.
struct Grid(Vec<Vec<char>>);

impl Grid {
    fn new(text: &str) -> Self {
        let margin = |line: &str| line.len() - line.trim_start().len();
        let lines = || text.lines().filter(|line| !line.trim().is_empty());
        let least = lines().map(margin).min().unwrap_or(0);
        Self(text.lines().map(|line| line.chars().skip(least).collect()).collect())
    }

    /// The character at an offset from a cell; a space outside of the drawing.
    fn at(&self, row: usize, column: usize, down: isize, right: isize) -> char {
        let row = row.checked_add_signed(down).and_then(|row| self.0.get(row));
        let column = column.checked_add_signed(right);
        row.zip(column).and_then(|(row, column)| row.get(column)).copied().unwrap_or(' ')
    }

    /// Whether the dash in this cell, or the row of dashes around it, touches a letter or digit, as in `--dir` and
    /// `64-bit`.
    fn is_word(&self, row: usize, column: usize) -> bool {
        [-1, 1].into_iter().any(|step| {
            let mut along = (1..).map(|far| self.at(row, column, 0, step * far));
            along.find(|&c| c != '-').is_some_and(char::is_alphanumeric)
        })
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        let near = |down, right| self.at(row, column, down, right);
        let (above, below, left, right) = (near(-1, 0), near(1, 0), near(0, -1), near(0, 1));
        let strokes = |directions: &[usize], head| {
            let mut arms = [false; 4];
            directions.iter().for_each(|&direction| arms[direction] = true);
            Cell::Strokes(arms, head)
        };
        // Whether a dash belongs to a line, which may be dashed, and not to a word or an option.
        let lies =
            |near: char, next: char| "-+".contains(near) || (near == ' ' && "-+".contains(next));
        let stands = |c: char| "|+│".contains(c);
        let alone = left == ' ' && right == ' ';
        match near(0, 0) {
            '─' => strokes(&[LEFT, RIGHT], None),
            '│' => strokes(&[UP, DOWN], None),
            '┌' => strokes(&[DOWN, RIGHT], None),
            '┐' => strokes(&[DOWN, LEFT], None),
            '└' => strokes(&[UP, RIGHT], None),
            '┘' => strokes(&[UP, LEFT], None),
            '├' => strokes(&[UP, DOWN, RIGHT], None),
            '┤' => strokes(&[UP, DOWN, LEFT], None),
            '┬' => strokes(&[DOWN, LEFT, RIGHT], None),
            '┴' => strokes(&[UP, LEFT, RIGHT], None),
            '┼' => strokes(&[UP, DOWN, LEFT, RIGHT], None),
            '►' => strokes(&[LEFT], Some(RIGHT)),
            '◄' => strokes(&[RIGHT], Some(LEFT)),
            '▲' | '^' if near(0, 0) == '▲' || alone => strokes(&[DOWN], Some(UP)),
            '▼' | '↓' => strokes(&[UP], Some(DOWN)),
            'v' if alone && stands(above) => strokes(&[UP], Some(DOWN)),
            '→' if right == '→' => strokes(&[LEFT, RIGHT], None),
            '→' if left == '→' => strokes(&[LEFT], Some(RIGHT)),
            '>' if left == '-' => strokes(&[LEFT], Some(RIGHT)),
            '<' if right == '-' => strokes(&[RIGHT], Some(LEFT)),
            '-' if self.is_word(row, column) => Cell::Letter,
            '-' if lies(left, near(0, -2)) || lies(right, near(0, 2)) || right == '>' => {
                strokes(&[LEFT, RIGHT], None)
            }
            '+' if left == '-' || right == '-' => {
                // A mark on a scale has a line neither above nor below.
                let marks = left == '-' && right == '-' && !stands(below);
                let arms = [stands(above) || marks, stands(below), left == '-', right == '-'];
                Cell::Strokes(arms, None)
            }
            '|' if alone || stands(above) || stands(below) || left == '#' || right == '#' => {
                strokes(&[UP, DOWN], None)
            }
            '#' | '█' => Cell::Bar,
            '╱' => Cell::Diagonal(true),
            '╲' => Cell::Diagonal(false),
            '/' if alone => Cell::Diagonal(true),
            '\\' if alone => Cell::Diagonal(false),
            _ => Cell::Letter,
        }
    }
}

/// A part of a row without strokes and without two spaces in a row.
struct Label {
    row: usize,
    column: usize,
    text: String,
    /// Whether strokes touch the label on both sides, so that it is centred between them.
    between: bool,
}

impl Label {
    /// Whether the label consists of words, rather than names and formulas.
    fn is_words(&self) -> bool {
        let letters = |word: &str| word.chars().filter(|c| c.is_alphabetic()).count();
        let is_plain = |word: &str| {
            let inner = word.trim_matches(|c: char| "(),.;:!?'\"…".contains(c));
            !inner.contains(|c: char| !c.is_alphanumeric() && !"-'/".contains(c))
        };
        let mut words = self.text.split(' ');
        words.clone().any(|word| letters(word) >= WORD) && words.all(is_plain)
    }
}

/// The labels of a drawing, row by row.
fn labels(grid: &Grid, cells: &[Vec<Cell>]) -> Vec<Label> {
    let mut labels = Vec::new();
    for (row, line) in cells.iter().enumerate() {
        let is_letter = |column: usize| {
            line.get(column) == Some(&Cell::Letter) && grid.at(row, column, 0, 0) != ' '
        };
        let draws = |column: Option<usize>| {
            let cell = column.and_then(|column| line.get(column));
            matches!(cell, Some(Cell::Strokes([_, _, left, right], _)) if *left || *right)
        };
        let mut column = 0;
        while column < line.len() {
            if !is_letter(column) {
                column += 1;
                continue;
            }
            let mut end = column + 1;
            while is_letter(end) || (line.get(end) == Some(&Cell::Letter) && is_letter(end + 1)) {
                end += 1;
            }
            let text = (column..end).map(|at| grid.at(row, at, 0, 0)).collect();
            let before = draws(column.checked_sub(1)) || draws(column.checked_sub(2));
            let between = before && (draws(Some(end)) || draws(Some(end + 1)));
            labels.push(Label { row, column, text, between });
            column = end;
        }
    }
    labels
}

/// A drawing as an SVG, whose colours come from the page's style sheet.
fn svg(text: &str) -> String {
    let grid = Grid::new(text.trim_end());
    let row = |row: usize| (0..grid.0[row].len()).map(|column| grid.cell(row, column)).collect();
    let cells: Vec<Vec<Cell>> = (0..grid.0.len()).map(row).collect();
    let labels = labels(&grid, &cells);
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    let (width, height) = ((columns as f32 * CELL.0).ceil(), cells.len() as f32 * CELL.1);
    let said: Vec<&str> = labels.iter().map(|label| label.text.as_str()).collect();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" style=\"min-width:{:.0}px\" font-size=\"{LETTERS}\" role=\"img\" aria-label=\"{}\">",
        width * LEAST,
        escaped(&said.join(", "))
    );
    let (lines, heads, bars) = strokes(&cells);
    let _ =
        write!(out, "<path class=\"lines\" d=\"{lines}\"/><path class=\"heads\" d=\"{heads}\"/>");
    out += &bars;
    for label in &labels {
        let y = label.row as f32 * CELL.1 + CELL.1 / 2.0 + LETTERS * 0.35;
        let x = label.column as f32 * CELL.0;
        let middle = x + label.text.chars().count() as f32 * CELL.0 / 2.0;
        let place = match (label.is_words(), label.between) {
            (true, true) => format!("class=\"words\" text-anchor=\"middle\" x=\"{middle:.1}\""),
            (true, false) => format!("class=\"words\" x=\"{x:.1}\""),
            (false, _) => format!("x=\"{x:.1}\""),
        };
        let _ = write!(out, "<text {place} y=\"{y:.1}\">{}</text>", escaped(&label.text));
    }
    out + "</svg>"
}

/// The paths of the lines and of the arrowheads, and the bars. Strokes that touch become one line.
fn strokes(cells: &[Vec<Cell>]) -> (String, String, String) {
    let (mut lines, mut heads, mut bars) = (String::new(), String::new(), String::new());
    let arm = |row: usize, column: usize, arm: usize| {
        let cell = cells.get(row).and_then(|line| line.get(column));
        matches!(cell, Some(Cell::Strokes(arms, _)) if arms[arm])
    };
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    let (w, h) = CELL;
    for (row, line) in cells.iter().enumerate() {
        let y = (row as f32 + 0.5) * h;
        let half = |at: usize| arm(row, at / 2, if at.is_multiple_of(2) { LEFT } else { RIGHT });
        for (from, to) in stretches(2 * columns, half) {
            let _ = write!(lines, "M{:.1} {y}H{:.1}", from as f32 * w / 2.0, to as f32 * w / 2.0);
        }
        for (from, to) in stretches(line.len(), |at| line[at] == Cell::Bar) {
            let (x, width, y) = (from as f32 * w, (to - from) as f32 * w, row as f32 * h + 4.0);
            let _ = write!(
                bars,
                "<rect class=\"bars\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\" rx=\"2\"/>",
                h - 8.0
            );
        }
        for (column, cell) in line.iter().enumerate() {
            let (x, y) = (column as f32 * w, row as f32 * h);
            let (middle, centre) = (x + w / 2.0, y + h / 2.0);
            match cell {
                Cell::Diagonal(rises) => {
                    let (from, to) = if *rises { (y + h, y) } else { (y, y + h) };
                    let _ = write!(lines, "M{x:.1} {from}L{:.1} {to}", x + w);
                }
                Cell::Strokes(_, Some(UP)) => {
                    let _ = write!(heads, "M{middle:.1} {}l-4.5 8h9z", centre - 6.0);
                }
                Cell::Strokes(_, Some(DOWN)) => {
                    let _ = write!(heads, "M{middle:.1} {}l-4.5 -8h9z", centre + 6.0);
                }
                Cell::Strokes(_, Some(LEFT)) => {
                    let _ = write!(heads, "M{x:.1} {centre}l8 -4.5v9z");
                }
                Cell::Strokes(_, Some(_)) => {
                    let _ = write!(heads, "M{:.1} {centre}l-8 -4.5v9z", x + w);
                }
                _ => {}
            }
        }
    }
    for column in 0..columns {
        let x = (column as f32 + 0.5) * w;
        let half = |at: usize| arm(at / 2, column, if at.is_multiple_of(2) { UP } else { DOWN });
        for (from, to) in stretches(2 * cells.len(), half) {
            let _ = write!(lines, "M{x:.1} {}V{}", from as f32 * h / 2.0, to as f32 * h / 2.0);
        }
    }
    (lines, heads, bars)
}

/// The ranges of consecutive positions below `count` that fit: the first position of each, and the position after its
/// last.
fn stretches(count: usize, fits: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut from = None;
    for at in 0..=count {
        match (at < count && fits(at), from) {
            (true, None) => from = Some(at),
            (false, Some(begun)) => {
                found.push((begun, at));
                from = None;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_becomes_a_figure_and_other_text_stays() {
        let other = format!("{START}a text\nof words{END}");
        let page = format!("<p>a</p>{START}x ──► y &lt; 1{END}<p>b</p>{other}<p>c</p>");
        let out = figures(&page);
        assert!(out.starts_with("<p>a</p><figure class=\"drawing\"><svg "), "{out}");
        assert!(out.contains("aria-label=\"x, y &lt; 1\""), "{out}");
        assert!(out.ends_with(&format!("</svg></figure><p>b</p>{other}<p>c</p>")), "{out}");
        assert_eq!(figures(&out), out);
    }

    #[test]
    fn lines_join_and_end_in_arrows() {
        let out = svg("a ──┬─► long name ──►\n    └──► b[1]\n");
        assert!(out.contains("<path class=\"lines\" d=\"M16.8 10H54.6"), "{out}");
        assert!(out.contains("M37.8 10V30"), "{out}");
        assert_eq!(out.matches("l-8 -4.5v9z").count(), 3, "{out}");
        assert!(out.contains("<text class=\"words\" text-anchor=\"middle\""), "{out}");
        assert!(out.contains("<text x=\"75.6\" y=\"34.9\">b[1]</text>"), "{out}");
    }

    #[test]
    fn drawings_in_ascii_are_understood() {
        let grid = Grid::new("ab  -->  c - d\n |\n +--  |x|\n |#|\n v  64-bit --x");
        let strokes = |row, column| matches!(grid.cell(row, column), Cell::Strokes(..));
        for (row, column) in [(0, 4), (0, 6), (1, 1), (2, 1), (2, 2), (4, 1), (3, 1), (3, 3)] {
            assert!(strokes(row, column), "{row}, {column}");
        }
        for (row, column) in [(0, 11), (2, 6), (2, 8), (4, 6), (4, 11), (4, 12)] {
            assert_eq!(grid.cell(row, column), Cell::Letter, "{row}, {column}");
        }
        assert_eq!(grid.cell(3, 2), Cell::Bar);
    }
}
