//! Labels of pictures can be read on a phone.
//!
//! A picture shrinks with its page, and its labels with it, down to a least width that it has in its own style, or
//! that its figure has as `--least`. From there on it scrolls in its figure (`book/book.css`).

use std::path::Path;

use book_check::page::Page;
use book_check::{Problem, read, repository};

/// What a screen of 390 pixels leaves for a page.
const PAGE: f64 = 350.0;
/// A label's least size, in pixels.
const READABLE: f64 = 9.0;

/// The numbers that follow a word, such as the sizes behind `font-size="` or `font-size: `.
fn numbers<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = f64> + 't {
    text.split(word).skip(1).filter_map(|rest| {
        let rest = rest.trim_start_matches([':', '=', '"', ' ']);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        rest[..end].parse().ok()
    })
}

/// How large a picture's smallest label is on a phone, where its figure has this least width. `None` where it has
/// labels of a size that it doesn't say.
fn smallest(svg: &str, least: f64) -> Option<f64> {
    let root = &svg[svg.find("<svg")?..];
    let root = &root[..root.find('>')?];
    let width = numbers(root, " viewBox=\"0 0").next()?;
    let least = numbers(root, "min-width").next().unwrap_or(least);
    let drawn = numbers(root, " width").next().unwrap_or(PAGE).min(PAGE).max(least);
    let size = numbers(svg, "font-size").fold(f64::INFINITY, f64::min);
    let said = size.is_finite() || !svg.contains("<text");
    (said && !svg.contains("scale(")).then_some(size * drawn / width)
}

/// The picture that a line of a page shows.
fn shown(line: &str) -> Option<&str> {
    let included = line.trim().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
    let linked = || line.rsplit_once("](").filter(|_| line.starts_with("!["))?.1.strip_suffix(')');
    included.or_else(linked).filter(|path| path.ends_with(".svg"))
}

/// The pictures of a page whose labels are too small, or that stand in no figure; and how many it shows.
fn small(page: &Page, problems: &mut Vec<Problem>) -> usize {
    let mut figure = None;
    let mut count = 0;
    for (at, line) in page.text.lines().enumerate() {
        if line.starts_with("<figure") {
            figure = Some(numbers(line, "--least").next().unwrap_or(0.0));
        }
        if let Some(picture) = shown(line) {
            count += 1;
            let svg = read(&page.path.with_file_name(picture)).unwrap_or_default();
            let what = match figure.map(|least| smallest(&svg, least)) {
                None => Some("is in no figure, and can't scroll".to_owned()),
                Some(None) => Some("doesn't say how large its labels are".to_owned()),
                Some(Some(size)) => (size < READABLE).then(|| {
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
fn every_label_can_be_read_on_a_phone() {
    let mut problems = Vec::new();
    let count: usize =
        Page::all(&repository()).unwrap().iter().map(|page| small(page, &mut problems)).sum();
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    assert!(count > 40, "{count} pictures");
}

#[test]
fn a_picture_that_only_shrinks_is_found() {
    let picture = |root: &str| {
        format!(
            "<svg viewBox=\"0 0 700 90\" {root}><text font-size=\"12\">a</text><text font-size=\"11\">b</text></svg>"
        )
    };
    let size = |root: &str, least: f64| smallest(&picture(root), least).unwrap();
    assert!((size("width=\"700\"", 0.0) - 5.5).abs() < 1e-9);
    assert!(
        (size("width=\"700\" style=\"min-width:580px\"", 0.0) - 11.0 * 580.0 / 700.0).abs() < 1e-9
    );
    assert!((size("width=\"700\"", 600.0) - 11.0 * 600.0 / 700.0).abs() < 1e-9);
    assert_eq!(smallest("<svg viewBox=\"0 0 700 90\"><text>a</text></svg>", 0.0), None);

    let path = Path::new("page.md").to_path_buf();
    let text = "# A\n\n![b](c.svg)\n\n<figure>\n{{#include c.svg}}\n</figure>\n".to_owned();
    let mut problems = Vec::new();
    assert_eq!(small(&Page { path, name: "page.md".into(), text }, &mut problems), 2);
    assert_eq!(problems.len(), 2);
}

/// The rules that the least widths rely on.
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
