//! Style: constructions that CONTRIBUTING.md rules out, in prose, comments and messages of the whole repository.
//!
//! The folder `style` of this crate has the table of constructions, the list of justified uses, and the number of
//! findings on each page of the book. These numbers may only fall; everywhere else there are no findings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex_lite::Regex;

use crate::{Problem, files, name_in, read};

/// The folder of the book's pages. Only they may have findings, up to the number in the baseline.
const BOOK: &str = "book/src/";
/// The file with the accepted number of findings on each page of the book.
pub const BASELINE_FILE: &str = "crates/book-check/style/baseline.txt";
const ALLOWED_FILE: &str = "crates/book-check/style/allowed.txt";
const CONSTRUCTIONS: &str = include_str!("../style/constructions.txt");
/// Files with prose or comments, by the end of their names.
const EXTENSIONS: [&str; 18] = [
    "rs", "md", "py", "sh", "mjs", "js", "cu", "cuh", "ptx", "toml", "yml", "css", "html", "jinja",
    "h", "c", "cpp", "yaml",
];
/// Folders of generated texts, which aren't checked because programs determine their wording.
const OUTPUTS: [&str; 2] = ["book/outputs/", "book/html/"];
const WITHOUT_EXTENSION: [&str; 4] =
    [".ci/run", ".ci/steps", ".ci/tools", "crates/emulated-gpu/emulate"];

/// The findings in each file.
pub type Findings = BTreeMap<String, Vec<Problem>>;

/// A forbidden construction: a row of the table.
struct Construction {
    name: &'static str,
    pattern: Regex,
    unless: Option<Regex>,
    instead: &'static str,
}

/// The rows of the table of constructions. Each row has lines `key: value`, and ends at an empty line.
fn rows() -> impl Iterator<Item = &'static str> {
    CONSTRUCTIONS.split("\n\n").filter(|row| row.starts_with("name: "))
}

/// The value of a key in a row, which is empty if the row lacks the key.
fn field(row: &'static str, key: &str) -> &'static str {
    let value = row.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    value.unwrap_or_default()
}

fn constructions() -> Result<Vec<Construction>, Problem> {
    let regex = |text: &str| {
        Regex::new(&format!("(?i){text}"))
            .map_err(|error| Problem::new("constructions.txt", format!("{error}: {text}")))
    };
    let construction = |row| {
        let unless = Some(field(row, "unless")).filter(|text| !text.is_empty());
        Ok(Construction {
            name: field(row, "name"),
            pattern: regex(field(row, "pattern"))?,
            unless: unless.map(regex).transpose()?,
            instead: field(row, "instead"),
        })
    };
    rows().map(construction).collect()
}

impl Construction {
    /// Whether a line contains this construction and is no exception, as described by the pattern `unless`. An
    /// exception, such as a question, may extend into `next`, the next line of the same paragraph (or empty).
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

/// The lines of a file that contain prose: each line's number, and its prose.
fn prose(name: &str, text: &str) -> Vec<(usize, String)> {
    let end = name.rsplit('.').next().unwrap_or_default();
    let is_page = ["md", "html"].contains(&end);
    let mark =
        if ["py", "sh", "toml", "yml"].contains(&end) || !name.contains('.') { "#" } else { "//" };
    let mark = if WITHOUT_EXTENSION.contains(&name) { "#" } else { mark };
    let code = Regex::new("`[^`]*`").expect("a pattern");
    let literal = Regex::new(r#""((?:[^"\\]|\\.)*)\\?"?"#).expect("a pattern");
    let mut found = Vec::new();
    let mut in_docstring = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let comment = line.strip_prefix(mark).filter(|rest| !rest.starts_with("!["));
        let block = ["/*", "* "].iter().find_map(|begin| line.strip_prefix(begin));
        let comment = comment.or(block.filter(|_| mark == "//"));
        let quotes = if end == "py" { line.matches("\"\"\"").count() } else { 0 };
        let is_docstring = in_docstring || quotes > 0;
        in_docstring ^= quotes % 2 == 1;
        let mut add =
            |text: &str| found.push((index + 1, code.replace_all(text, "x").into_owned()));
        if is_page || is_docstring {
            add(line);
        } else if let Some(comment) = comment {
            add(comment.trim_start_matches(['/', '!', '#', '*', ' ']));
        } else {
            let (code, trailing) = line.split_once(&format!(" {mark} ")).unwrap_or((line, ""));
            add(trailing);
            let literals = literal.captures_iter(code).filter(|found| found[1].contains(' '));
            let count = literals.map(|found| add(&found[1])).count();
            // A string literal that began on an earlier line.
            let mut words = line.split(' ');
            let is_prose = words.next().is_some_and(|first| !first.ends_with(':'))
                && words.any(|word| !word.ends_with(','))
                && line.starts_with(char::is_alphabetic)
                && !line.contains([';', '{', '}', '=', '(', ')']);
            if end == "rs" && count == 0 && is_prose {
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
    paths.extend(files(&repository.join(".github"), &EXTENSIONS));
    paths.extend(WITHOUT_EXTENSION.map(|name| repository.join(name)));
    let named = paths.into_iter().map(|path| {
        let name = name_in(repository, &path);
        (name, path)
    });
    named
        .filter(|(name, _)| !OUTPUTS.iter().any(|folder| name.starts_with(folder)))
        .map(|(name, path)| Ok((name, read(&path)?)))
        .collect()
}

/// The entries of a list file, without comments. For each entry: its line number, and the texts before and after
/// `separator`.
fn list<'t>(
    name: &str,
    text: &'t str,
    separator: &str,
) -> Result<Vec<(usize, &'t str, &'t str)>, Problem> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with("# "));
    lines
        .map(|(index, line)| {
            let parts = line.split_once(separator).map(|(first, rest)| (index + 1, first, rest));
            parts.ok_or_else(|| {
                Problem::new(format!("{name}:{}", index + 1), "not as the list's head describes")
            })
        })
        .collect()
}

/// The findings in each file whose name begins with one of `within`. Phrases in the list of allowed phrases are not
/// findings. If `within` is empty, all files are checked, and an entry of that list that matches no line is a finding.
///
/// # Errors
/// If a file can't be read, or the list of allowed phrases has a line without a phrase.
pub fn findings(repository: &Path, within: &[&str]) -> Result<Findings, Problem> {
    let text = read(&repository.join(ALLOWED_FILE))?;
    let allowed = list(ALLOWED_FILE, &text, ": ")?;
    let (constructions, mut used) = (constructions()?, BTreeSet::new());
    let mut findings = Findings::new();
    let wanted =
        |name: &str| within.is_empty() || within.iter().any(|start| name.starts_with(start));
    let mut sources = sources(repository)?;
    sources.retain(|(name, _)| wanted(name));
    if sources.is_empty() {
        return Err(Problem::new(within.join(", "), "no such file in the repository has prose"));
    }
    for (name, text) in sources {
        let lines = prose(&name, &text);
        for (at, (number, line)) in lines.iter().enumerate() {
            let next = lines.get(at + 1).filter(|(next, _)| *next == number + 1);
            let next = next.map_or("", |(_, text)| text);
            for found in constructions.iter().filter(|construction| construction.is_in(line, next))
            {
                let phrase = |rest: &str| rest.split(" # ").next().unwrap_or_default().to_owned();
                let use_ = allowed
                    .iter()
                    .find(|(_, file, rest)| *file == name && line.contains(&phrase(rest)));
                if let Some((number, ..)) = use_ {
                    used.insert(*number);
                    continue;
                }
                let what = format!("{}: write {}\n    {line}", found.name, found.instead);
                let problem = Problem::new(format!("{name}:{number}"), what);
                findings.entry(name.clone()).or_default().push(problem);
            }
        }
    }
    for (number, file, _) in
        allowed.iter().filter(|(number, ..)| within.is_empty() && !used.contains(number))
    {
        let problem = Problem::new(
            format!("{ALLOWED_FILE}:{number}"),
            format!("no line of {file} needs this entry: remove it"),
        );
        findings.entry(ALLOWED_FILE.to_owned()).or_default().push(problem);
    }
    Ok(findings)
}

/// The text of the baseline file for these findings: the number of findings on each page of the book.
#[must_use]
pub fn baseline(findings: &Findings) -> String {
    let pages = findings.iter().filter(|(name, _)| name.starts_with(BOOK));
    pages.map(|(name, found)| format!("{name}: {}\n", found.len())).collect()
}

/// Reports all findings in each file that has more of them than the baseline allows (outside of the book: none). Also
/// reports each page that has fewer findings, so that the baseline can be lowered.
///
/// # Errors
///
/// If a file can't be read, or a list is malformed.
pub fn check(repository: &Path) -> Result<Vec<Problem>, Problem> {
    compare(&read(&repository.join(BASELINE_FILE))?, findings(repository, &[])?)
}

fn compare(baseline: &str, mut findings: Findings) -> Result<Vec<Problem>, Problem> {
    let mut problems = Vec::new();
    for (_, page, allowed) in list(BASELINE_FILE, baseline, ": ")? {
        let (found, allowed) =
            (findings.remove(page).unwrap_or_default(), allowed.parse().unwrap_or(0));
        if found.len() > allowed {
            problems.push(Problem::new(
                page,
                format!("{} findings, and the baseline allows {allowed}:", found.len()),
            ));
            problems.extend(found);
        } else if found.len() < allowed {
            let what = format!(
                "{} findings left of {allowed}: lower the baseline with `book-check style --baseline`",
                found.len()
            );
            problems.push(Problem::new(page, what));
        }
    }
    problems.extend(findings.into_values().flatten());
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_construction_finds_its_example_and_passes_the_other() {
        let constructions = constructions().unwrap();
        assert!(constructions.len() > 25, "{}", constructions.len());
        for (construction, row) in constructions.iter().zip(rows()) {
            assert!(!construction.instead.is_empty() && !field(row, "pattern").is_empty(), "{row}");
            let (found, passes) = (field(row, "found"), field(row, "passes"));
            assert!(construction.is_in(found, ""), "{row}");
            assert!(!passes.is_empty() && !construction.is_in(passes, ""), "{row}");
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
        let fields = "    beside: bool,\n    alone, beside, behind,\n";
        assert_eq!(of("a.rs", fields), [""; 0]);
        let continued = "let a = \"so \\\n    on and on \\\n    to the end\";\n";
        assert_eq!(of("a.rs", continued), ["1 so ", "2 on and on \\"]);
        let python = "\"\"\"A module.\n\nMore.\n\"\"\"\na = 1  # why\n";
        assert_eq!(of("a.py", python).len(), 4);
        assert_eq!(of("a.toml", "# A list.\na = 1 # why\n"), ["1 A list.", "2 why"]);
        assert_eq!(
            of("a.ptx", "// Adds.\nadd.f32 %f1, %f2, %f3; // both\n"),
            ["1 Adds.", "2 both"]
        );
        assert_eq!(of("a.md", "Words `code` words\n"), ["1 Words x words"]);
    }

    #[test]
    fn the_baseline_only_falls() {
        let found = |name: &str, count| (name.to_owned(), vec![Problem::new(name, "found"); count]);
        let now = Findings::from([found("a", 3), found("c", 1), found("d", 1)]);
        let problems: Vec<String> =
            compare("a: 2\nb: 1\nd: 1\n", now).unwrap().iter().map(ToString::to_string).collect();
        assert!(problems[0].starts_with("a: 3 findings, and the baseline allows 2"));
        assert!(problems[4].starts_with("b: 0 findings left of 1: lower the baseline"));
        assert_eq!(problems[5..], ["c: found"]);
        assert!(compare("a 2\n", Findings::new()).is_err());
    }
}
