//! Tests of the messages for typical wrong attempts.
//!
//! `tests/wrong/PUZZLE/MISTAKE.cu` (or `.ptx`) begins with a line `// VERDICT: WORDS`: the expected verdict, and words of
//! the expected message.

use std::fs;
use std::path::Path;

use puzzles::{Language, Limits, Outcome, Verdict, attempt, puzzle};

fn verdict(name: &str) -> Verdict {
    match name {
        "stopped" => Verdict::Stopped,
        "wrong" => Verdict::Wrong,
        "costly" => Verdict::Costly,
        "rejected" => Verdict::Rejected,
        other => panic!("{other} is no verdict"),
    }
}

/// All messages of an attempt.
fn messages(outcome: &Outcome) -> String {
    let marks = outcome.marks.iter().map(|mark| format!("{} {:?}", mark.message, mark.help));
    [outcome.what.clone()]
        .into_iter()
        .chain(outcome.teaches.clone())
        .chain(marks)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn each_wrong_attempt_gets_its_message() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong");
    let mut problems = Vec::new();
    let mut count = 0;
    for folder in fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap();
        let puzzle = puzzle(name).unwrap_or_else(|| panic!("unknown puzzle {name}"));
        for file in fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            let language = Language::from_extension(path.extension().unwrap().to_str().unwrap());
            let source = fs::read_to_string(&path).unwrap();
            let first = source.lines().next().unwrap().trim_start_matches("// ");
            let (how, words) = first.split_once(": ").expect("`// VERDICT: WORDS`");
            let outcome = attempt(puzzle, language.unwrap(), &source, &Limits::default());
            if outcome.verdict != verdict(how) || !messages(&outcome).contains(words) {
                problems.push(format!("{}: expected {first}\n{outcome}", path.display()));
            }
            count += 1;
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    assert!(count >= 40, "only {count} wrong attempts");
}
