//! Escapes for characters that control a terminal.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};
use std::path::Path;

/// Escapes control characters in a text as `\u001b`, except line breaks and tabs.
///
/// All output of a program passes through here, because parts of it are untrusted: file names, the header of a dump,
/// the name of a tensor. Control characters move the cursor, clear the screen or make the terminal type. Also escaped
/// are characters that change the text direction, which can disguise a text. JSON stays
/// valid with the same meaning, because it uses the same escapes.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_except(text, |character| matches!(character, '\n' | '\t'))
}

/// Escapes control characters like [`escape`], but keeps escape sequences that select a colour (`ESC [ 1 ; 31 m`).
pub(crate) fn escape_but_colours(text: &str) -> Cow<'_, str> {
    if !text.contains(|character| is_command(character) && !matches!(character, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        let (before, sequence) = rest.split_at(at);
        safe.push_str(&escape(before));
        let colour = sequence.strip_prefix("\u{1b}[").and_then(|parameters| {
            let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            parameters[end..].starts_with('m').then_some("\u{1b}[".len() + end + 1)
        });
        let taken = colour.unwrap_or(1);
        match colour {
            Some(_) => safe.push_str(&sequence[..taken]),
            None => safe.push_str(&escape(&sequence[..taken])),
        }
        rest = &sequence[taken..];
    }
    safe.push_str(&escape(rest));
    Cow::Owned(safe)
}

/// Displays an untrusted name, such as a file name, on one line: line breaks and tabs are escaped, too, and invalid
/// UTF-8 is shown as `\xff`.
pub fn shown<N: AsRef<Path> + ?Sized>(name: &N) -> impl Display {
    Shown(name.as_ref())
}

struct Shown<'a>(&'a Path);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.as_os_str().as_encoded_bytes().utf8_chunks() {
            f.write_str(&escape_except(chunk.valid(), |_| false))?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

fn escape_except(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |character| is_command(character) && !is_kept(character);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_escaped(character) {
            let _ = write!(safe, "\\u{:04x}", u32::from(character));
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(safe)
}

/// Control characters, line and paragraph separators, and marks that change the text direction.
fn is_command(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_control_characters_are_escaped() {
        assert_eq!(escape("a\u{1b}[2Jb\r\u{7}\u{7f}"), r"a\u001b[2Jb\u000d\u0007\u007f");
        assert_eq!(escape("\u{9b}2J \u{202e}gnp.exe"), r"\u009b2J \u202egnp.exe");
        assert_eq!(escape("two\nlines\tand é, 数, 🙂"), "two\nlines\tand é, 数, 🙂");
    }

    #[test]
    fn only_colour_sequences_are_kept() {
        let coloured = "\u{1b}[1m\u{1b}[31mDIFFERS\u{1b}[0m\n";
        assert_eq!(escape_but_colours(coloured), coloured);
        assert_eq!(
            escape_but_colours("\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}[1;32mok\u{1b}[0m\u{1b}"),
            "\\u001b[2J\\u001b]0;title\\u0007\u{1b}[1;32mok\u{1b}[0m\\u001b"
        );
        assert_eq!(escape_but_colours("\u{1b}[31"), r"\u001b[31");
    }

    #[test]
    fn names_are_shown_on_one_line() {
        assert_eq!(shown("a\nerror: b\t\u{1b}[0m").to_string(), r"a\u000aerror: b\u0009\u001b[0m");
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            let name = std::ffi::OsStr::from_bytes(b"caf\xe9.png");
            assert_eq!(shown(name).to_string(), r"caf\xe9.png");
        }
    }
}
