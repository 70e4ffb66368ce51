//! What every Rust file of the repository keeps to, so that it can be read by itself.

use std::collections::BTreeMap;

use book_check::{files, read, repository};

/// This many lines a file has at most.
const LINES: usize = 400;

/// Words that say little by themselves: a reader who meets one in a second file must not have to ask
/// which of the types it is.
const VAGUE: [&str; 9] =
    ["Digits", "Form", "Fragment", "How", "Kind", "Place", "Plan", "Question", "Stream"];

/// The type that a line of Rust declares.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub").map_or(line, |rest| {
        rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest)
    });
    let line = line.trim_start();
    let line = line.strip_prefix("unsafe ").unwrap_or(line);
    let (keyword, rest) = line.split_once(' ')?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    ["enum", "struct", "trait", "type", "union"].contains(&keyword).then_some(&rest[..end])
}

/// Every Rust file by its name, with its text.
fn sources() -> Vec<(String, String)> {
    let files = files(&repository(), &["rs"]);
    let found: Vec<_> =
        files.iter().map(|path| (path.display().to_string(), read(path).unwrap())).collect();
    assert!(found.len() > 500, "{} files", found.len());
    found
}

#[test]
fn no_file_is_longer_than_400_lines() {
    let lines = sources().into_iter().map(|(name, text)| (name, text.lines().count()));
    let long: Vec<_> = lines.filter(|(_, lines)| *lines > LINES).collect();
    assert!(long.is_empty(), "longer than {LINES} lines: {long:#?}");
}

#[test]
fn a_vague_word_names_one_type() {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in sources() {
        // A line that ends in a backslash is part of a text: of C, in a test.
        let types =
            text.lines().filter(|line| !line.trim_end().ends_with('\\')).filter_map(declared);
        for name in types.filter(|name| VAGUE.contains(name)) {
            found.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    assert!(found.contains_key("Plan"), "{found:?}");
    found.retain(|_, places| places.len() > 1);
    assert!(found.is_empty(), "types of one name, whose files are: {found:#?}");
}

#[test]
fn declarations_are_found() {
    let line = [
        "pub(crate) struct Plan {",
        "    type Stream = u8;",
        "pub enum How<'a> {",
        "unsafe trait Kind {}",
        "let kind = Kind::New;",
        "/// struct Form",
    ];
    let found: Vec<_> = line.iter().filter_map(|line| declared(line)).collect();
    assert_eq!(found, ["Plan", "Stream", "How", "Kind"]);
}
