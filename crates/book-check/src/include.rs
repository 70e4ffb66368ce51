//! Check of includes: regions of compiled and tested files that the pages show.
//!
//! Two comments mark a region in a file, `ANCHOR: name` and `ANCHOR_END: name`; a page names the file and the anchor.

use std::path::{Path, PathBuf};

use crate::page::{Page, PieceKind};
use crate::{Problem, files, name_in, read};

/// One directive `{{#include path:anchor}}` of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Include {
    /// The line of the page, counted from 1.
    pub line: usize,
    /// The file, relative to the page's folder.
    pub file: String,
    /// The anchor, or `None` for the whole file.
    pub anchor: Option<String>,
}

/// The language of blocks that hold drawings made of characters.
const DRAWING_LANGUAGES: [&str; 1] = ["text"];

/// The includes of a page, and every other directive as a problem.
#[must_use]
pub fn includes(page: &Page) -> (Vec<Include>, Vec<Problem>) {
    let (mut includes, mut problems) = (Vec::new(), Vec::new());
    for (index, text) in page.text.lines().enumerate() {
        let line = index + 1;
        let mut rest = text;
        while let Some(start) = rest.find("{{#") {
            rest = &rest[start + 3..];
            let directive = rest.split("}}").next().unwrap_or_default();
            let Some(target) = directive.strip_prefix("include ") else {
                let what = format!("{{{{#{directive}}}}} is not an include; no other is used here");
                problems.push(Problem::new(page.place(line), what));
                continue;
            };
            let (file, anchor) = match target.trim().split_once(':') {
                Some((file, anchor)) => (file, Some(anchor.to_owned())),
                None => (target.trim(), None),
            };
            includes.push(Include { line, file: file.to_owned(), anchor });
        }
    }
    (includes, problems)
}

/// The anchor comment in a line: whether it begins the anchor (rather than ends it), and the anchor's name. `None` if
/// the line has anything but a comment.
fn marker(line: &str) -> Option<(bool, &str)> {
    let comment = line.trim_start();
    let comment = ["//", "#", "--"].iter().find_map(|sign| comment.strip_prefix(sign))?.trim();
    let (start, name) = match comment.strip_prefix("ANCHOR_END:") {
        Some(name) => (false, name),
        None => (true, comment.strip_prefix("ANCHOR:")?),
    };
    Some((start, name.trim()))
}

/// The names of the anchors of a file, and the problems: an anchor that is opened twice, never closed, closed without
/// being open, or empty.
#[must_use]
pub fn anchors(name: &str, source: &str) -> (Vec<String>, Vec<Problem>) {
    let (mut names, mut problems): (Vec<String>, Vec<Problem>) = (Vec::new(), Vec::new());
    let mut open: Vec<(&str, usize, bool)> = Vec::new();
    for (index, text) in source.lines().enumerate() {
        let line = index + 1;
        let mut problem =
            |what: String| problems.push(Problem::new(format!("{name}:{line}"), what));
        match marker(text) {
            Some((true, anchor)) => {
                if names.iter().any(|other| other == anchor) {
                    problem(format!("the anchor {anchor} comes twice"));
                }
                names.push(anchor.to_owned());
                open.push((anchor, line, false));
            }
            Some((false, anchor)) => match open.iter().position(|(other, ..)| *other == anchor) {
                None => problem(format!("the anchor {anchor} ends without having begun")),
                Some(position) => {
                    if !open.remove(position).2 {
                        problem(format!("the anchor {anchor} is empty"));
                    }
                }
            },
            None if !text.trim().is_empty() => open.iter_mut().for_each(|anchor| anchor.2 = true),
            None => {}
        }
    }
    for (anchor, line, _) in open {
        let what = format!("the anchor {anchor} has no ANCHOR_END");
        problems.push(Problem::new(format!("{name}:{line}"), what));
    }
    (names, problems)
}

/// Checks that each include of the book shows exactly one region , which is not empty; that each anchor of the code is
/// shown on a page; and that pages have no code other than includes.
///
/// # Errors
/// If a file of the repository can't be read.
pub fn check(repository: &Path, pages: &[Page]) -> Result<Vec<Problem>, Problem> {
    let mut problems = Vec::new();
    let mut shown: Vec<(PathBuf, String)> = Vec::new();
    for page in pages {
        let (includes, others) = includes(page);
        problems.extend(others);
        problems.extend(code_that_is_no_include(page));
        for include in includes {
            let place = page.place(include.line);
            let path = page.path.parent().unwrap_or(&page.path).join(&include.file);
            let Ok(source) = read(&path) else {
                problems.push(Problem::new(place, format!("there is no file {}", include.file)));
                continue;
            };
            let (names, _) = anchors(&include.file, &source);
            match include.anchor {
                Some(anchor) if names.contains(&anchor) => {
                    let path = path.canonicalize().unwrap_or(path);
                    shown.push((path, anchor));
                }
                Some(anchor) => {
                    let what = format!("{} has no anchor {anchor}", include.file);
                    problems.push(Problem::new(place, what));
                }
                None if source.trim().is_empty() => {
                    problems.push(Problem::new(place, format!("{} is empty", include.file)));
                }
                None if !names.is_empty() => {
                    let what = format!("{} has anchors: include one of them", include.file);
                    problems.push(Problem::new(place, what));
                }
                None => {}
            }
        }
    }
    for path in files(repository, &["rs", "py", "cu", "ptx", "toml", "sh"]) {
        let name = name_in(repository, &path);
        let (names, wrong) = anchors(&name, &read(&path)?);
        problems.extend(wrong);
        let path = path.canonicalize().unwrap_or(path);
        for anchor in names {
            if !shown.contains(&(path.clone(), anchor.clone())) {
                let what = format!("no page of the book shows the anchor {anchor}");
                problems.push(Problem::new(&name, what));
            }
        }
    }
    Ok(problems)
}

/// Blocks of code or output that were typed into the page. Only drawings (`text`) and commands (`sh`, see
/// [`commands`](crate::commands)) may be typed.
fn code_that_is_no_include(page: &Page) -> Vec<Problem> {
    let mut problems = Vec::new();
    for piece in page.pieces() {
        let PieceKind::Block(language) = &piece.kind else { continue };
        let mut lines = piece.text.lines().filter(|line| !line.trim().is_empty()).peekable();
        let empty = lines.peek().is_none();
        let included = lines.all(|line| line.starts_with("{{#include ") && line.ends_with("}}"));
        let what = if empty {
            "this block is empty"
        } else if language == "console" {
            if piece.text.starts_with("{{#include ") && piece.text.contains("outputs/") && included
            {
                continue;
            }
            "an output is an include of a file of book/outputs"
        } else if DRAWING_LANGUAGES.contains(&language.as_str()) {
            if !piece.text.lines().any(|line| line.starts_with("$ ")) {
                continue;
            }
            "a drawing doesn't pretend to be a terminal: use an output, or a block of sh"
        } else if language == "sh" || (included && !language.is_empty()) {
            continue;
        } else if language.is_empty() {
            "this block names no language"
        } else {
            "code in the book is an include of code that is compiled and tested"
        };
        problems.push(Problem::new(page.place(piece.line), what));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_paired() {
        let (names, problems) = anchors(
            "a.rs",
            "// ANCHOR: a\nlet x;\n# ANCHOR: b\n1\n// ANCHOR_END: a\n# ANCHOR_END: b\n",
        );
        assert_eq!(names, ["a", "b"]);
        assert_eq!(problems, []);
    }

    #[test]
    fn every_problem_of_an_anchor_is_found() {
        let cases = [
            ("// ANCHOR: a\nx\n", "a.rs:1: the anchor a has no ANCHOR_END"),
            ("x\n// ANCHOR_END: a\n", "a.rs:2: the anchor a ends without having begun"),
            ("// ANCHOR: a\n\n// ANCHOR_END: a\n", "a.rs:3: the anchor a is empty"),
            (
                "// ANCHOR: a\nx\n// ANCHOR_END: a\n// ANCHOR: a\ny\n// ANCHOR_END: a\n",
                "a.rs:4: the anchor a comes twice",
            ),
        ];
        for (source, expected) in cases {
            let problems: Vec<String> =
                anchors("a.rs", source).1.iter().map(ToString::to_string).collect();
            assert_eq!(problems, [expected]);
        }
    }

    fn page(text: &str) -> Page {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page.md");
        Page { path, name: "page.md".into(), text: text.into() }
    }

    #[test]
    fn an_include_that_shows_nothing_is_found() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nothing-here");
        let cases = [
            ("```rust\n{{#include gone.rs:a}}\n```", "there is no file gone.rs"),
            ("```rust\n{{#include lib.rs:gone}}\n```", "lib.rs has no anchor gone"),
            ("{{#playground lib.rs}}", "{{#playground lib.rs}} is not an include"),
            ("```rust\nlet x = 1;\n```", "code in the book is an include"),
            ("```\nx\n```", "this block names no language"),
            ("```rust\n```", "this block is empty"),
            ("```console\n$ ls\n```", "an output is an include"),
            ("```console\n{{#include lib.rs}}\n```", "an output is an include"),
            ("```text\n$ ls\n```", "a drawing doesn't pretend"),
        ];
        for (text, expected) in cases {
            let problems = check(&folder, &[page(text)]).unwrap();
            assert!(
                problems.len() == 1 && problems[0].what.starts_with(expected),
                "{text}: {problems:?}"
            );
        }
        let good = "```text\n+--+\n```\n\n```rust\n{{#include lib.rs}}\n```\n\n```sh\nls\n```";
        assert_eq!(check(&folder, &[page(good)]).unwrap(), []);
    }

    #[test]
    fn an_anchor_that_no_page_shows_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::write(folder.join("a.rs"), "// ANCHOR: a\nx\n// ANCHOR_END: a\n").unwrap();
        let unseen = check(folder, &[]).unwrap();
        let mut page = page("```rust\n{{#include a.rs:a}}\n```");
        page.path = folder.join("page.md");
        let seen = check(folder, &[page]).unwrap();
        assert_eq!(unseen, [Problem::new("a.rs", "no page of the book shows the anchor a")]);
        assert_eq!(seen, []);
    }
}
