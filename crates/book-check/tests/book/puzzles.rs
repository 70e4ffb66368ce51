//! Tests that every puzzle has a complete page in the book.

use std::collections::BTreeSet;

use book_check::{files, read, repository};
use puzzles::{Language, puzzles};

#[test]
fn every_puzzle_has_a_complete_page() {
    let repository = repository();
    let folder = repository.join("book/src/puzzles");
    let summary = read(&repository.join("book/src/SUMMARY.md")).unwrap();
    let overview = read(&repository.join("book/src/puzzles.md")).unwrap();
    let mut problems = Vec::new();
    let mut named = BTreeSet::new();
    let mut before = 0;
    for puzzle in puzzles() {
        let name = puzzle.name;
        named.insert(format!("{name}.md"));
        let page = read(&folder.join(format!("{name}.md"))).unwrap_or_default();
        let mut parts = vec!["task.md".to_owned(), "hints.md".to_owned()];
        parts.extend(puzzle.picture.map(|_| "picture.svg".to_owned()));
        for source in puzzle.sources {
            let end = source.language.extension();
            parts.extend([format!("frame.{end}"), format!("solution.{end}")]);
        }
        let own = name.replace('-', "_");
        for part in parts {
            if !page.contains(&format!("crates/puzzles/src/list/{own}/{part}}}}}")) {
                problems.push(format!("the page of {name} does not show {part}"));
            }
        }
        // The entry in `SUMMARY.md` has the puzzle's title, and follows the previous puzzle's
        // entry.
        let entry = format!("- [{}](puzzles/{name}.md)", puzzle.title());
        match summary.find(&entry) {
            Some(at) if at > before => before = at,
            _ => problems.push(format!("SUMMARY.md has no `{entry}` at its place")),
        }
        if !overview.contains(&format!("(puzzles/{name}.md)")) {
            problems.push(format!("the table of puzzles.md lacks {name}"));
        }
    }
    for page in files(&folder, &["md"]) {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        if !named.contains(&name) {
            problems.push(format!("no puzzle belongs to the page {name}"));
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// The overview counts the puzzles: in CUDA C, in PTX, and together.
#[test]
fn the_overview_states_the_right_counts() {
    const WORDS: [(&str, usize); 3] =
        [("thirty-four", 34), ("Twenty-seven", 27), ("sixty-one", 61)];
    let overview = read(&repository().join("book/src/puzzles.md")).unwrap();
    let in_ptx = puzzles().iter().filter(|puzzle| puzzle.source(Language::Ptx).is_some()).count();
    let counts = [puzzles().len(), in_ptx, puzzles().len() + in_ptx];
    for ((word, stated), actual) in WORDS.into_iter().zip(counts) {
        assert!(overview.contains(word) && stated == actual, "{word}: there are {actual}");
    }
}

/// The paragraph "Work" of a chapter lists its exercises. Each puzzle is named in one of these
/// paragraphs.
#[test]
fn every_puzzle_is_an_exercise_of_a_chapter() {
    let folder = repository().join("book/src");
    let chapters = files(&folder, &["md"]);
    let outside = |path: &std::path::Path| !path.starts_with(folder.join("puzzles"));
    let work: String = chapters
        .iter()
        .filter(|path| outside(path))
        .map(|path| read(path).unwrap())
        .filter_map(|text| text.split_once("**Work.**").map(|(_, work)| work.to_owned()))
        .collect();
    let unused: Vec<&str> = puzzles()
        .iter()
        .map(|puzzle| puzzle.name)
        .filter(|name| !work.contains(&format!("puzzles/{name}.md)")))
        .collect();
    assert!(unused.is_empty(), "no chapter ends with {unused:?}");
}

/// No part of the book is without exercises.
#[test]
fn every_part_has_work_to_do() {
    let folder = repository().join("book/src");
    let summary = read(&folder.join("SUMMARY.md")).unwrap();
    let mut parts = summary.split("\n# ").skip(1).peekable();
    assert!(parts.peek().is_some());
    for part in parts {
        let (title, list) = part.split_once('\n').unwrap();
        // This part consists of exercises, so it needs no separate list of them.
        if title == "Puzzles" {
            continue;
        }
        let mut pages = list.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')'));
        let has_work = |page: &str| read(&folder.join(page)).unwrap().contains("**Work.**");
        assert!(pages.any(has_work), "no page of the part {title} has work");
    }
}
