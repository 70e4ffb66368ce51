//! Tests mutated files: every PTX text of this crate, with pieces of it and of other texts removed, duplicated, swapped
//! and replaced.

use std::fs;
use std::path::{Path, PathBuf};

use emulated_gpu_test_support::diagnostics::{check, words};
use emulated_gpu_test_support::ptx::HEADER;
use ptx_emulator::parse;
use ptx_emulator::source::Source;

use crate::{Random, cases};

/// Collects every `.ptx` file below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            found.push(path);
        }
    }
}

pub(crate) fn corpus() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    files(&root.join("tests"), &mut found);
    files(&root.join("benches"), &mut found);
    found.sort();
    assert!(found.len() > 60, "{found:?}");
    found.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Insertions: the start and end of each construct, limits of numbers, and text that is not PTX.
const SNIPPETS: [&str; 64] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "%",
    "%r1",
    ".u32",
    ".f32",
    "0x",
    "1e",
    "-",
    "/*",
    "//",
    "\"",
    "\0",
    "é",
    "\u{feff}",
    "_",
    "|",
    "<9999999999>",
    "<0>",
    ".reg",
    ".global",
    ".func",
    ".entry",
    ".param",
    ".shared",
    ".align 3",
    ".align 9223372036854775808",
    "call",
    "@",
    "@!",
    "!",
    "9223372036854775808",
    "18446744073709551616",
    "$",
    ".v4",
    ".v8",
    "=",
    "?",
    ":",
    "generic(",
    "%tid",
    ".x",
    "mov",
    "ld",
    "0f7FC0000",
    "0d0",
    "1.0e999",
    "(.s64)",
    "/ 0",
    "% 0",
    "<< 64",
    ".branchtargets",
    ".callprototype",
    ".loc 1 1 1",
    ".file",
    ".section .x {",
    "#line 1",
    "WARP_SZ",
];

/// Changes a text in a few places.
fn mutate(text: &mut String, others: &[String], random: &mut Random) {
    for _ in 0..=random.below(6) {
        if text.is_empty() {
            return;
        }
        let from = text.floor_char_boundary(random.below(text.len()));
        let to = text.floor_char_boundary((from + random.below(40)).min(text.len()));
        match random.below(6) {
            0 => text.replace_range(from..to, ""),
            1 => text.replace_range(from..to, random.one(&SNIPPETS)),
            2 => text.insert_str(from, random.one(&SNIPPETS)),
            3 => {
                let piece = text[from..to].to_owned();
                let at = text.floor_char_boundary(random.below(text.len()));
                text.insert_str(at, &piece);
            }
            4 => {
                // Inserts a line of another file.
                let other = random.one(others);
                let lines: Vec<&str> = other.lines().collect();
                let line = random.one(&lines);
                let at = text[..from].rfind('\n').map_or(0, |newline| newline + 1);
                text.insert_str(at, &format!("{line}\n"));
            }
            _ => text.truncate(from),
        }
    }
}

/// Removes or duplicates one word, or replaces it by another word of the same text.
fn mutate_word(text: &mut String, random: &mut Random) {
    let words = words(text);
    let (place, other) = (random.one(&words), text[random.one(&words)].to_owned());
    match random.below(6) {
        0 => text.replace_range(place, ""),
        1 => text.insert_str(place.start, &format!("{other} ")),
        _ => text.replace_range(place, &other),
    }
}

#[test]
fn mutated_files_are_accepted_or_diagnosed() {
    let corpus = corpus();
    let (mut accepted, mut refused) = (0, 0);
    cases(4000, |random| {
        let mut text = random.one(&corpus);
        if random.chance(2) {
            mutate_word(&mut text, random);
        } else {
            mutate(&mut text, &corpus, random);
        }
        match parse(&Source { name: "mutated.ptx".into(), text: text.clone() }) {
            Ok(_) => accepted += 1,
            Err(diagnostics) => {
                refused += 1;
                assert!((1..=51).contains(&diagnostics.len()));
                diagnostics.iter().for_each(|diagnostic| check(diagnostic, &text));
            }
        }
    });
    assert!(accepted > 0 && refused > 0 || std::env::var_os("FUZZ_CASE").is_some());
    println!("{accepted} accepted, {refused} refused");
}

#[test]
fn random_tokens_are_diagnosed() {
    let corpus = corpus();
    let words: Vec<&str> = corpus.iter().flat_map(|text| text.split_whitespace()).collect();
    cases(1500, |random| {
        let mut text = HEADER.to_owned();
        for _ in 0..random.below(60) {
            text.push_str(if random.chance(6) {
                random.one(&SNIPPETS)
            } else {
                random.one(&words)
            });
            text.push(if random.chance(8) { '\n' } else { ' ' });
        }
        if let Err(diagnostics) = parse(&Source { name: "tokens.ptx".into(), text: text.clone() }) {
            diagnostics.iter().for_each(|diagnostic| check(diagnostic, &text));
        }
    });
}
