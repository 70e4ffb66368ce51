//! Test that labels of pictures can be read on a phone.
//!
//! A picture shrinks with its page, labels included, down to its minimum width: `min-width` in its own style, or `--least`
//! of its figure. On a narrower page it scrolls in its figure (`book/book.css`).

use std::path::Path;

use book_check::page::Page;
use book_check::{Problem, read, repository};

use crate::assert_none;

/// Width of a page's text, in pixels, on a screen that is 390 pixels wide.
const PAGE_WIDTH: f64 = 350.0;
/// Minimum size of a label, in pixels.
const MIN_LABEL: f64 = 9.0;

/// The numbers that directly follow each occurrence of a word, such as the sizes after `font-size="`.
fn numbers<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = f64> + 't {
    text.split(word).skip(1).filter_map(|rest| {
        let rest = rest.trim_start_matches([':', '=', '"', ' ']);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        rest[..end].parse().ok()
    })
}

/// Size in pixels of a picture's smallest label on a phone, if the picture is shrunk to the minimum width `least`.
/// `None` if the picture doesn't state the size of its labels.
fn smallest_label(svg: &str, least: f64) -> Option<f64> {
    let root = &svg[svg.find("<svg")?..];
    let root = &root[..root.find('>')?];
    let width = numbers(root, " viewBox=\"0 0").next()?;
    let least = numbers(root, "min-width").next().unwrap_or(least);
    let drawn = numbers(root, " width").next().unwrap_or(PAGE_WIDTH).min(PAGE_WIDTH).max(least);
    let size = numbers(svg, "font-size").fold(f64::INFINITY, f64::min);
    let is_stated = size.is_finite() || !svg.contains("<text");
    (is_stated && !svg.contains("scale(")).then_some(size * drawn / width)
}

/// The path of the picture that a line of a page shows.
fn shown_picture(line: &str) -> Option<&str> {
    let included = line.trim().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
    let linked = || line.rsplit_once("](").filter(|_| line.starts_with("!["))?.1.strip_suffix(')');
    included.or_else(linked).filter(|path| path.ends_with(".svg"))
}

/// Adds a problem for each picture of a page that has too small labels or is in no figure; returns the number of pictures.
fn check_pictures(page: &Page, problems: &mut Vec<Problem>) -> usize {
    let mut figure = None;
    let mut count = 0;
    for (at, line) in page.text.lines().enumerate() {
        if line.starts_with("<figure") {
            figure = Some(numbers(line, "--least").next().unwrap_or(0.0));
        }
        if let Some(picture) = shown_picture(line) {
            count += 1;
            let svg = read(&page.path.with_file_name(picture)).unwrap_or_default();
            let what = match figure.map(|least| smallest_label(&svg, least)) {
                None => {
                    Some("is in no figure, so it can't scroll: put it into <figure>".to_owned())
                }
                Some(None) => {
                    Some("doesn't state the size of its labels: set font-size".to_owned())
                }
                Some(Some(size)) => (size < MIN_LABEL).then(|| {
                    format!(
                        "has labels of {size:.1} pixels on a phone: give it a larger `min-width`"
                    )
                }),
            };
            let place = page.place(at + 1);
            problems.extend(what.map(|what| Problem::new(place, format!("{picture} {what}"))));
        }
        if line.starts_with("</figure>") {
            figure = None;
        }
    }
    count
}

#[test]
fn every_label_is_readable_on_a_phone() {
    let mut problems = Vec::new();
    let count: usize = Page::all(&repository())
        .unwrap()
        .iter()
        .map(|page| check_pictures(page, &mut problems))
        .sum();
    assert_none(problems);
    assert!(count > 40, "{count} pictures");
}

#[test]
fn a_picture_that_shrinks_too_far_is_found() {
    let picture = |root: &str| {
        format!(
            "<svg viewBox=\"0 0 700 90\" {root}><text font-size=\"12\">a</text><text font-size=\"11\">b</text></svg>"
        )
    };
    let size = |root: &str, least: f64| smallest_label(&picture(root), least).unwrap();
    assert!((size("width=\"700\"", 0.0) - 5.5).abs() < 1e-9);
    assert!(
        (size("width=\"700\" style=\"min-width:580px\"", 0.0) - 11.0 * 580.0 / 700.0).abs() < 1e-9
    );
    assert!((size("width=\"700\"", 600.0) - 11.0 * 600.0 / 700.0).abs() < 1e-9);
    assert_eq!(smallest_label("<svg viewBox=\"0 0 700 90\"><text>a</text></svg>", 0.0), None);

    let path = Path::new("page.md").to_path_buf();
    let text = "# A\n\n![b](c.svg)\n\n<figure>\n{{#include c.svg}}\n</figure>\n".to_owned();
    let mut problems = Vec::new();
    assert_eq!(check_pictures(&Page { path, name: "page.md".into(), text }, &mut problems), 2);
    assert_eq!(problems.len(), 2);
}

/// The minimum widths rely on these rules of the style sheet.
#[test]
fn a_figure_scrolls() {
    let css = read(&repository().join("book/book.css")).unwrap();
    let rule = |selector: &str| {
        let rest = css.split_once(&format!("\n{selector} {{")).unwrap().1;
        rest.split_once('}').unwrap().0.to_owned()
    };
    assert!(rule("figure").contains("overflow-x: auto;"));
    assert!(rule("figure img").contains("min-width: var(--least, 0);"));
}
