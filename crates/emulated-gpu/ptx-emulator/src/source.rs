//! A PTX text, and positions in it.

/// A range of bytes of a source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A PTX text, and its name for reports.
#[derive(Clone, Debug)]
pub struct Source {
    /// The path of the file, or another name, such as the name of a kernel that was just compiled.
    pub name: String,
    /// The text.
    pub text: String,
}

impl Source {
    /// The line and the column of a byte (both from 1, the column in characters), and the text of the line.
    pub(crate) fn line_of(&self, byte: u32) -> (usize, usize, &str) {
        let byte = self.text.floor_char_boundary(byte as usize);
        let before = &self.text[..byte];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = self.text[byte..].find('\n').map_or(self.text.len(), |newline| byte + newline);
        let line = line_ends(before.as_bytes()) + 1;
        let column = self.text[start..byte].chars().count() + 1;
        (line, column, self.text[start..end].trim_end_matches('\r'))
    }
}

/// The number of line ends in a part of a text.
pub(crate) fn line_ends(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_of_finds_line_and_column() {
        let source = Source { name: "a.ptx".into(), text: "add;\r\n  é mov;\nret;".into() };
        assert_eq!(source.line_of(0), (1, 1, "add;"));
        let mov = source.text.find("mov").unwrap() as u32;
        assert_eq!(source.line_of(mov), (2, 5, "  é mov;"));
        assert_eq!(source.line_of(source.text.len() as u32), (3, 5, "ret;"));
    }
}
