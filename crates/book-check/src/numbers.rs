//! Check that numbers in prose next to a session's output occur in that output, so that they can't become outdated.

use std::collections::BTreeSet;
use std::path::Path;

use regex_lite::Regex;

use crate::page::Page;
use crate::{Problem, read};

/// The file that lists numbers which no session of their page contains, each with the reason.
const NUMBERS_FILE: &str = "book/numbers.txt";

/// Checks the paragraphs before and after each included output: a number of three or more digits, or with a decimal
/// point, has to occur in a file that the page includes, or in `book/numbers.txt`: as a line `page number # reason`.
/// Formulas, code and links are not checked. A line of `book/numbers.txt` whose number doesn't need an exception is a
/// problem too.
///
/// # Errors
/// If the list can't be read.
pub fn check(repository: &Path, pages: &[Page]) -> Result<Vec<Problem>, Problem> {
    let mut problems = Vec::new();
    let mut excused: BTreeSet<(String, String)> = BTreeSet::new();
    for (index, line) in read(&repository.join(NUMBERS_FILE))?.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().take(3).collect();
        let [page, number, "#"] = words[..] else {
            let place = format!("{NUMBERS_FILE}:{}", index + 1);
            problems.push(Problem::new(place, "a line is `page number # reason`"));
            continue;
        };
        excused.insert((format!("book/src/{page}"), number.to_owned()));
    }
    for page in pages {
        for (line, number) in strange_numbers(page) {
            if !excused.remove(&(page.name.clone(), number.clone())) {
                let what = format!(
                    "{number} is in no file that this page includes: take it from the output, leave it out, or list it \
                     in {NUMBERS_FILE} with a reason"
                );
                problems.push(Problem::new(page.place(line), what));
            }
        }
    }
    for (page, number) in excused {
        problems.push(Problem::new(
            NUMBERS_FILE,
            format!("{page} has no {number} that needs an excuse"),
        ));
    }
    Ok(problems)
}

/// The numbers next to outputs that occur in no included file, without duplicates, each with its line.
fn strange_numbers(page: &Page) -> Vec<(usize, String)> {
    let include = Regex::new(r"\{\{#include ([^}:]+)").expect("the expression is valid");
    let folder = page.path.parent().unwrap_or(&page.path);
    let shown: String = include
        .captures_iter(&page.text)
        .filter_map(|found| read(&folder.join(&found[1])).ok())
        .collect();
    let known: BTreeSet<String> =
        numbers(&shown).iter().map(|number| number.replace(',', "")).collect();
    let left_out =
        Regex::new(r"(?s)\$[^$]*\$|`[^`]*`|\]\([^)]*\)").expect("the expression is valid");
    let paragraphs: Vec<&str> = page.text.split("\n\n").collect();
    let is_output = |at: usize| {
        paragraphs
            .get(at)
            .is_some_and(|text| text.contains("#include") && text.contains("outputs/"))
    };
    let mut line = 1;
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, paragraph) in paragraphs.iter().enumerate() {
        let is_prose = !paragraph.starts_with(['`', '<', '|', '#', '{']);
        if is_prose && (at > 0 && is_output(at - 1) || is_output(at + 1)) {
            for number in numbers(&left_out.replace_all(paragraph, "")) {
                let plain = number.replace(',', "");
                let counts = plain.contains('.') || plain.len() > 2;
                if counts && !known.contains(&plain) && seen.insert(plain) {
                    found.push((line, number));
                }
            }
        }
        line += paragraph.matches('\n').count() + 2;
    }
    found
}

/// The numbers in a text, as they are written. Digits inside a name, such as `H100`, don't count.
fn numbers(text: &str) -> Vec<String> {
    let number = Regex::new(r"\b[0-9][0-9,]*(\.[0-9]+)?").expect("the expression is valid");
    let all = number.find_iter(text);
    all.map(|found| found.as_str().trim_end_matches(',').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_beside_an_output_has_to_be_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let outputs = folder.path().join("outputs");
        std::fs::create_dir(&outputs).unwrap();
        std::fs::write(outputs.join("a.txt"), "$ run\n39 of 1082 in 2.5 s\n").unwrap();
        let text = "# T\n\n40 of 1,082 on an H100, $x_{123}$, `4567`.\n\n```console\n{{#include outputs/a.txt}}\n```\n\n\
            In 2.6 s\nand 1,083, see [b](c1234.md).\n\nFar away: 999.\n";
        let path = folder.path().join("page.md");
        let page = Page { path, name: "page.md".into(), text: text.into() };
        let found = strange_numbers(&page);
        assert_eq!(found, [(9, "2.6".to_owned()), (9, "1,083".to_owned())]);
    }
}
