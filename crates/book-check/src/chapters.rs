//! Check that every page of a part opens with a picture and gives the reader work.

use crate::Problem;
use crate::page::Page;

/// Parts whose pages are exercises or references.
const PARTS_WITHOUT: [&str; 2] = ["Puzzles", "Appendix"];
/// Pages that list the pages of their chapter; the exercises are on the listed pages.
const OVERVIEWS: [&str; 5] =
    ["backpropagation.md", "level1.md", "gpu.md", "gpu/sanitizer.md", "autograd.md"];

/// Reports each page of `SUMMARY.md` that has no picture, and each page, except overviews, that has no work. Pictures
/// are figures, images and drawings in text; exercises and tasks are work; an interactive part counts as both.
#[must_use]
pub fn check(pages: &[Page]) -> Vec<Problem> {
    let find = |name: &str| pages.iter().find(|page| page.name == format!("book/src/{name}"));
    let Some(summary) = find("SUMMARY.md") else { return Vec::new() };
    let mut problems = Vec::new();
    for part in summary.text.split("\n# ").skip(1) {
        let (title, list) = part.split_once('\n').unwrap_or_default();
        if PARTS_WITHOUT.contains(&title) {
            continue;
        }
        let names = list.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')'));
        for (name, page) in names.filter_map(|name| Some((name, find(name)?))) {
            let has = |marks: &[&str]| marks.iter().any(|mark| page.text.contains(mark));
            if !has(&["<figure", "\n![", "```text", "data-four-levels"]) {
                problems.push(Problem::new(&page.name, "it has no picture"));
            }
            let has_work = has(&["\n## Exercises\n", "**Work.**", "data-four-levels"]);
            if !has_work && !OVERVIEWS.contains(&name) {
                problems.push(Problem::new(&page.name, "it has no work for the reader"));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_picture_or_work_is_found() {
        let page = |name: &str, text: &str| Page {
            path: name.into(),
            name: format!("book/src/{name}"),
            text: text.into(),
        };
        let pages = [
            page(
                "SUMMARY.md",
                "[I](i.md)\n\n# P\n\n- [a](a.md)\n  - [b](b.md)\n\n# Puzzles\n\n- [c](c.md)\n",
            ),
            page("a.md", "![x](y.svg)\n"),
            page("b.md", "\n![x](y.svg)\n\n## Exercises\n"),
            page("c.md", "x"),
        ];
        let found: Vec<String> = check(&pages).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["book/src/a.md: it has no picture", "book/src/a.md: it has no work for the reader"]
        );
    }
}
