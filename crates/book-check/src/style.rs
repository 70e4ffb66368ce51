//! Style: constructions that CONTRIBUTING.md rules out, in prose, comments and messages of the whole repository.
//!
//! The folder `style` of this crate has the table of constructions, the list of justified uses, and the number of
//! findings on each page of the book. These numbers may only fall; everywhere else there are no findings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex_lite::Regex;

use crate::{Problem, files, read};

/// Files of this folder have a baseline.
const BOOK: &str = "book/src/";
const BASELINE: &str = "crates/book-check/style/baseline.txt";
const ALLOWED: &str = "crates/book-check/style/allowed.txt";
const CONSTRUCTIONS: &str = include_str!("../style/constructions.txt");
/// Files with prose or comments, by the end of their names.
const EXTENSIONS: [&str; 18] = [
    "rs", "md", "py", "sh", "mjs", "js", "cu", "cuh", "ptx", "toml", "yml", "css", "html", "jinja",
    "h", "c", "cpp", "yaml",
];
/// Files of other authors, and outputs, whose wording the programs decide.
const SKIPPED: [&str; 2] = ["book/outputs/", "book/html/"];
const SCRIPT_WITHOUT_EXTENSION: &str = "crates/emulated-gpu/emulate";

/// A construction: a row of the table.
struct Construction {
    name: String,
    pattern: Regex,
    unless: Option<Regex>,
    instead: String,
    /// A sentence in which the pattern is found, and one in which it isn't.
    examples: [String; 2],
}

/// The rows of the table. Its fields are lines `key: value`; an empty line ends a row.
fn constructions() -> Result<Vec<Construction>, Problem> {
    let rows = CONSTRUCTIONS.split("\n\n").filter(|row| row.starts_with("name: "));
    let row = |row: &str| {
        let field = |key: &str| {
            let value = row.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
            value.map(str::to_owned)
        };
        let regex = |text: String| {
            Regex::new(&format!("(?i){text}"))
                .map_err(|error| Problem::new("constructions.txt", format!("{error}: {text}")))
        };
        let needed = |key: &str| {
            field(key).ok_or_else(|| Problem::new("constructions.txt", format!("no {key}: {row}")))
        };
        Ok(Construction {
            name: needed("name")?,
            pattern: regex(needed("pattern")?)?,
            unless: field("unless").map(regex).transpose()?,
            instead: needed("instead")?,
            examples: [needed("found")?, needed("passes")?],
        })
    };
    rows.map(row).collect()
}

impl Construction {
    /// Whether a line has this construction. The next line of the same paragraph decides about questions and
    /// other exceptions that go on there.
    fn is_in(&self, line: &str, next: &str) -> bool {
        let mut text = if next.is_empty() { line.to_owned() } else { format!("{line} {next}") };
        if !self.pattern.is_match(&text) {
            return false;
        }
        if let Some(unless) = &self.unless {
            let blanks = |found: &regex_lite::Captures| "_".repeat(found[0].len());
            text = unless.replace_all(&text, blanks).into_owned();
        }
        self.pattern.find(&text).is_some_and(|found| found.end() <= line.len())
    }
}

/// Text without the code between backticks.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 0 { part } else { "x" }).collect()
}

/// The parts of a line between double quotes that have several words.
fn literals(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some((_, inside)) = rest.split_once('"') {
        let mut escaped = false;
        let end = inside.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some(end) = end else {
            found.push(inside);
            break;
        };
        found.push(&inside[..end]);
        rest = &inside[end + 1..];
    }
    found.retain(|text| text.contains(' '));
    found
}

/// The prose of a file: numbers of lines, and the text that a person reads there.
fn prose(name: &str, text: &str) -> Vec<(usize, String)> {
    let ends = |end: &str| name.ends_with(end);
    let (all, rust, python) = (ends(".md") || ends(".html"), ends(".rs"), ends(".py"));
    let slashes = ["rs", "js", "cu", "cuh", "ptx", "css", "h", "c", "cpp", "mjs"]
        .iter()
        .any(|end| name.ends_with(&format!(".{end}")));
    let mark = if slashes { "//" } else { "#" };
    let mut found = Vec::new();
    let mut in_docstring = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let comment = line.strip_prefix(mark).filter(|rest| !rest.starts_with("!["));
        let comment = comment
            .or_else(|| ["/*", "* "].iter().find_map(|m| line.strip_prefix(m).filter(|_| slashes)));
        let quotes = line.matches("\"\"\"").count();
        let is_doc = python && (in_docstring || quotes > 0);
        in_docstring ^= python && quotes % 2 == 1;
        let mut add = |text: &str| found.push((index + 1, without_code(text)));
        if all || is_doc {
            add(line);
        } else if let Some(comment) = comment {
            add(comment.trim_start_matches(['/', '!', '#', '*', ' ']));
        } else {
            let (code, trailing) =
                line.split_once(&format!(" {mark} ")).unwrap_or((line, ""));
            add(trailing);
            literals(code).into_iter().for_each(&mut add);
            let is_continued = line.starts_with(char::is_alphabetic)
                && line.contains(' ')
                && !line.contains([';', '{', '}', '=', '(', ')']);
            if rust && is_continued {
                add(line);
            }
        }
    }
    found.retain(|(_, text)| !text.is_empty());
    found
}

/// The files with prose: their names and their text.
fn sources(repository: &Path) -> Result<Vec<(String, String)>, Problem> {
    let mut paths = files(repository, &EXTENSIONS);
    for folder in [".ci", ".github"] {
        paths.extend(files(&repository.join(folder), &["run", "steps", "tools", "yml", "md", "sh"]));
    }
    paths.extend(["run", "steps", "tools"].map(|name| repository.join(".ci").join(name)));
    paths.push(repository.join(SCRIPT_WITHOUT_EXTENSION));
    let named = paths.into_iter().map(|path: PathBuf| {
        let name = path.strip_prefix(repository).unwrap_or(&path).display().to_string();
        (name, path)
    });
    named
        .filter(|(name, _)| !SKIPPED.iter().any(|folder| name.starts_with(folder)))
        .map(|(name, path)| Ok((name, read(&path)?)))
        .collect()
}

/// A finding: the file and what is wrong where.
type Finding = (String, Problem);

/// The findings in files whose names begin with one of `within` (empty: all), and the justified uses that no
/// line has any more.
///
/// # Errors
/// If a file can't be read, or the list of justified uses has a line without a reason.
pub fn findings(repository: &Path, within: &[&str]) -> Result<(Vec<Finding>, Vec<Problem>), Problem> {
    let list = read(&repository.join(ALLOWED))?;
    let mut allowed = Vec::new();
    for (index, line) in list.lines().enumerate().filter(|(_, line)| !line.starts_with("# ")) {
        let place = format!("{ALLOWED}:{}", index + 1);
        let (use_, _) = line
            .split_once(" # ")
            .ok_or_else(|| Problem::new(&place, "a line is `file: phrase # reason`"))?;
        let (file, phrase) = use_
            .split_once(": ")
            .ok_or_else(|| Problem::new(&place, "a line is `file: phrase # reason`"))?;
        allowed.push((file, phrase, place, false));
    }
    let (constructions, mut found) = (constructions()?, Vec::new());
    for (name, text) in sources(repository)? {
        if !within.is_empty() && !within.iter().any(|start| name.starts_with(start)) {
            continue;
        }
        let lines = prose(&name, &text);
        for (at, (number, line)) in lines.iter().enumerate() {
            let next = lines.get(at + 1).filter(|(next, _)| *next == number + 1);
            let next = next.map_or("", |(_, text)| text);
            for row in constructions.iter().filter(|row| row.is_in(line, next)) {
                let mut uses = allowed.iter_mut();
                match uses.find(|(file, phrase, ..)| *file == name && line.contains(phrase)) {
                    Some(used) => used.3 = true,
                    None => found.push((
                        name.clone(),
                        Problem::new(
                            format!("{name}:{number}"),
                            format!("{}: write {}\n    {line}", row.name, row.instead),
                        ),
                    )),
                }
            }
        }
    }
    let unused = allowed.into_iter().filter(|(.., used)| !used && within.is_empty());
    let unused = unused.map(|(file, phrase, place, _)| {
        Problem::new(place, format!("{file} has no \"{phrase}\" to allow: remove this line"))
    });
    Ok((found, unused.collect()))
}

/// The number of findings on each page of the book, as the baseline is written.
fn counts(findings: &[Finding]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for (name, _) in findings.iter().filter(|(name, _)| name.starts_with(BOOK)) {
        *counts.entry(&**name).or_default() += 1;
    }
    counts
}

/// The baseline for these findings.
#[must_use]
pub fn baseline(findings: &[Finding]) -> String {
    counts(findings).iter().map(|(name, count)| format!("{count} {name}\n")).collect()
}

/// The path of the baseline.
#[must_use]
pub fn baseline_path(repository: &Path) -> PathBuf {
    repository.join(BASELINE)
}

/// Every finding outside of the book, every page of the book whose number of findings is not that of the
/// baseline, and every justified use that no line has.
///
/// # Errors
/// If a file can't be read, or a list is malformed.
pub fn check(repository: &Path) -> Result<Vec<Problem>, Problem> {
    let (findings, mut problems) = findings(repository, &[])?;
    let before = read(&repository.join(BASELINE))?;
    let before: Option<BTreeMap<&str, usize>> = before
        .lines()
        .map(|line| line.split_once(' ').and_then(|(n, name)| Some((name, n.parse().ok()?))))
        .collect();
    let before = before.ok_or_else(|| Problem::new(BASELINE, "a line is `count page`"))?;
    problems.extend(compare(&before, &counts(&findings)));
    let outside = findings.into_iter().filter(|(name, _)| !name.starts_with(BOOK));
    problems.extend(outside.map(|(_, problem)| problem));
    Ok(problems)
}

/// The pages whose number of findings has changed.
fn compare(before: &BTreeMap<&str, usize>, now: &BTreeMap<&str, usize>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for page in before.keys().chain(now.keys().filter(|page| !before.contains_key(*page))) {
        let count = |counts: &BTreeMap<&str, usize>| counts.get(page).copied().unwrap_or(0);
        let (before, now) = (count(before), count(now));
        let what = match now.cmp(&before) {
            std::cmp::Ordering::Equal => continue,
            std::cmp::Ordering::Greater => format!(
                "{now} findings where there were {before}: `book-check style {page}` lists them"
            ),
            std::cmp::Ordering::Less => format!(
                "{now} findings where there were {before}: lower the baseline with `book-check style --baseline`"
            ),
        };
        problems.push(Problem::new(*page, what));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_construction_finds_its_example_and_passes_the_other() {
        let rows = constructions().unwrap();
        assert!(rows.len() > 25, "{}", rows.len());
        for row in rows {
            let [found, passes] = &row.examples;
            assert!(row.is_in(found, ""), "{}: {found}", row.name);
            assert!(!row.is_in(passes, ""), "{}: {passes}", row.name);
        }
    }

    #[test]
    fn a_question_may_go_on_in_the_next_line() {
        let rows = constructions().unwrap();
        let row = rows.iter().find(|row| row.name == "What-first").unwrap();
        assert!(!row.is_in("What input does a background", "pixel become?"));
        assert!(row.is_in("What a background", "pixel becomes."));
        assert!(!row.is_in("A pixel.", "What it becomes."), "reported for the next line");
    }

    #[test]
    fn prose_is_comments_strings_and_pages() {
        let of = |name: &str, text: &str| -> Vec<String> {
            prose(name, text).into_iter().map(|(line, text)| format!("{line} {text}")).collect()
        };
        let rust = "//! A file.\nlet a = f(\"two words\", \"one\"); // why `x`\n#[derive(A)]\n";
        assert_eq!(of("a.rs", rust), ["1 A file.", "2 why x", "2 two words"]);
        let continued = "let a = \"so \\\n    on and on \\\n    to the end\";\n";
        assert_eq!(of("a.rs", continued), ["1 so \\", "2 on and on \\"]);
        let python = "\"\"\"A module.\n\nMore.\n\"\"\"\na = 1  # why\n";
        assert_eq!(of("a.py", python).len(), 4);
        assert_eq!(of("a.toml", "# A list.\na = 1 # why\n"), ["1 A list.", "2 why"]);
        assert_eq!(of("a.ptx", "// Adds.\nadd.f32 %f1, %f2, %f3; // both\n"), ["1 Adds.", "2 both"]);
        assert_eq!(of("a.md", "Words `code` words\n"), ["1 Words x words"]);
    }

    #[test]
    fn the_baseline_only_falls() {
        let before = BTreeMap::from([("a", 2), ("b", 1), ("d", 1)]);
        let now = BTreeMap::from([("a", 3), ("c", 1), ("d", 1)]);
        let problems: Vec<String> = compare(&before, &now).iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].starts_with("a: 3 findings where there were 2"));
        assert!(problems[1].contains("lower the baseline"));
        assert!(problems[2].starts_with("c: 1 findings"));
    }
}
