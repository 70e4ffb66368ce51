//! Helpers for fuzzers of texts: splitting a text into words, and checking diagnostics.

use ptx_emulator::Diagnostic;

/// The ranges of the words in a text: names, numbers, directives, and single marks.
pub fn words(text: &str) -> Vec<std::ops::Range<usize>> {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || b"_$%".contains(&byte);
    let bytes = text.as_bytes();
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        at += 1;
        if part(bytes[start]) || bytes[start] == b'.' {
            while at < bytes.len() && part(bytes[at]) {
                at += 1;
            }
        }
        if bytes[start].is_ascii() && !bytes[start].is_ascii_whitespace() {
            ranges.push(start..at);
        }
    }
    ranges
}

/// Checks that a diagnostic points into the text, shows the line that it names, and has a help text.
pub fn check(diagnostic: &Diagnostic, text: &str) {
    let lines: Vec<&str> = text.split('\n').collect();
    assert!((1..=lines.len()).contains(&diagnostic.line), "{diagnostic:?}");
    let line = lines[diagnostic.line - 1].trim_end_matches('\r');
    assert_eq!(diagnostic.text, line);
    let length = line.chars().count();
    assert!((1..=length + 1).contains(&diagnostic.column), "{diagnostic:?}");
    assert!(diagnostic.width >= 1 && diagnostic.width <= length.max(1), "{diagnostic:?}");
    assert!(!diagnostic.message.is_empty());
    let shown = diagnostic.to_string();
    assert!(shown.contains('^') && !shown.contains('\0'), "{shown}");
    let counted = diagnostic.message.ends_with("not shown");
    assert!(counted || diagnostic.help.is_some(), "no help: {diagnostic}");
}
