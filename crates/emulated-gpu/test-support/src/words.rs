//! Mutates a text word by word. libFuzzer mutates bytes, and most of its variations of PTX don't even consist
//! of words.

use std::sync::OnceLock;

use crate::diagnostics::words;

/// Words that mutations may insert, in addition to words of the text and names of instructions.
const EXTRA_WORDS: [&str; 40] = [
    ".u8",
    ".s16",
    ".u32",
    ".s64",
    ".b32",
    ".b64",
    ".f16",
    ".f16x2",
    ".f32",
    ".f64",
    ".pred",
    ".v2",
    ".v4",
    ".global",
    ".shared",
    ".local",
    ".param",
    ".const",
    ".reg",
    ".align",
    ".entry",
    ".func",
    "%tid",
    ".x",
    "%laneid",
    "0",
    "1",
    "-1",
    "31",
    "64",
    "0x80000000",
    "18446744073709551615",
    "0f7FC00000",
    "@",
    "!",
    "{",
    "}",
    "[",
    "]",
    ";",
];

/// Replaces, inserts, removes or moves one word; `None` if the result would be too long.
#[must_use]
pub fn mutate(bytes: &mut [u8], size: usize, limit: usize, seed: u32) -> Option<usize> {
    let text = std::str::from_utf8(&bytes[..size]).ok()?;
    let ranges = words(text);
    let mut state = u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((state >> 33) as usize) % n.max(1)
    };
    let place = ranges.get(below(ranges.len()))?.clone();
    let other = match below(4) {
        0 => EXTRA_WORDS[below(EXTRA_WORDS.len())].to_owned(),
        1 => instructions()[below(instructions().len())].to_owned(),
        _ => text[ranges[below(ranges.len())].clone()].to_owned(),
    };
    let (place, new) = match below(6) {
        0 => (place, String::new()),
        1 => (place.start..place.start, format!("{other} ")),
        2 => {
            // Copies the line from this word on to another place.
            let end = text[place.start..].find('\n').map_or(size, |at| place.start + at + 1);
            let at = ranges[below(ranges.len())].start;
            (at..at, text[place.start..end].to_owned())
        }
        _ => (place, other),
    };
    let changed = format!("{}{new}{}", &text[..place.start], &text[place.end..]);
    if changed.len() > limit {
        return None;
    }
    bytes[..changed.len()].copy_from_slice(changed.as_bytes());
    Some(changed.len())
}

/// The names of all instructions.
fn instructions() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| ptx_emulator::instructions().collect())
}
