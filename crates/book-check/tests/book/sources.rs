//! What every Rust file of the repository keeps to, so that it can be read by itself.

use std::collections::BTreeMap;

use book_check::{files, read, repository};

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

#[test]
fn a_vague_word_names_one_type() {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let sources = files(&repository(), &["rs"]);
    for path in &sources {
        let text = read(path).unwrap();
        // What is in a string, such as C or CUDA C of a test, has no line that ends so.
        let types =
            text.lines().filter(|line| !line.trim_end().ends_with('\\')).filter_map(declared);
        for name in types.filter(|name| VAGUE.contains(name)) {
            found.entry(name.to_owned()).or_default().push(path.display().to_string());
        }
    }
    assert!(sources.len() > 500 && found.contains_key("Plan"), "{} files", sources.len());
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
