//! Tables of aligned columns, and the colours of their cells.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(super) const CAUTION: Style = AnsiColor::Yellow.on_default();

/// A cell and its colour.
pub(super) type Cell = (String, Style);

/// A cell without colour.
pub(super) fn plain(text: impl Into<String>) -> Cell {
    (text.into(), Style::new())
}

/// The cells of a heading.
pub(super) fn headings(texts: impl IntoIterator<Item = impl Into<String>>) -> Vec<Cell> {
    texts.into_iter().map(|text| (text.into(), Style::new().bold())).collect()
}

/// Writes lines of equally many cells, each column as wide as its widest cell. `is_number` lists the columns that are
/// aligned to the right. Padding is never coloured, and nothing follows the last cell.
pub(super) fn write_columns(
    out: &mut dyn Write,
    lines: &[Vec<Cell>],
    is_number: &dyn Fn(usize) -> bool,
) -> io::Result<()> {
    let columns = lines.first().map_or(0, Vec::len);
    let length = |cell: &Cell| cell.0.chars().count();
    let width = |at: usize| lines.iter().map(|line| length(&line[at])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for line in lines {
        for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let ((text, style), padding) = (cell, width - length(cell));
            if at + 1 == columns {
                writeln!(out, "{style}{text}{style:#}")?;
            } else if is_number(at) {
                write!(out, "{:padding$}{style}{text}{style:#}  ", "")?;
            } else {
                write!(out, "{style}{text}{style:#}{:padding$}  ", "")?;
            }
        }
    }
    Ok(())
}
