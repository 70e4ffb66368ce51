//! The texts that a compilation reads, and positions in them.

/// A range of bytes in one of the texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Span {
    /// The index of the text in [`Sources`].
    pub(crate) file: u32,
    /// The first byte.
    pub(crate) start: u32,
    /// The position after the last byte.
    pub(crate) end: u32,
}

impl Span {
    /// The range from here to the end of another range in the same text.
    pub(crate) fn until(self, other: Self) -> Self {
        if self.file == other.file && other.end >= self.start {
            Self { end: other.end.max(self.end), ..self }
        } else {
            self
        }
    }
}

/// A text and its name.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The name in diagnostics and `.file`, usually a path.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
    /// The start of each line.
    lines: Vec<u32>,
    /// The continuation bytes of UTF-8, so that computing a column doesn't scan a long line.
    continued: Vec<u32>,
}

impl Source {
    fn new(name: &str, text: &str) -> Self {
        let mut lines = vec![0];
        lines.extend(text.match_indices('\n').map(|(at, _)| at as u32 + 1));
        let bytes = text.bytes().enumerate();
        let continued =
            bytes.filter(|(_, byte)| byte & 0xc0 == 0x80).map(|(at, _)| at as u32).collect();
        Self { name: name.to_owned(), text: text.to_owned(), lines, continued }
    }

    /// Line and column of a byte, both counted from 1; the column counts characters.
    pub(crate) fn place(&self, at: u32) -> (usize, usize) {
        let line = self.lines.partition_point(|&start| start <= at).max(1);
        let start = self.lines[line - 1] as usize;
        let end = self.text.floor_char_boundary((at as usize).min(self.text.len())).max(start);
        let before = |end: usize| self.continued.partition_point(|&at| (at as usize) < end);
        (line, end - start - (before(end) - before(start)) + 1)
    }

    /// The text of a line, counted from 1, without the line break.
    pub(crate) fn line(&self, line: usize) -> &str {
        let start = self.lines[line - 1] as usize;
        let end = self.lines.get(line).map_or(self.text.len(), |&next| next as usize);
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }
}

/// All texts of a compilation: the source, the files that it includes, and the library.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text, and returns its number.
    pub(crate) fn add(&mut self, name: &str, text: &str) -> u32 {
        self.0.push(Source::new(name, text));
        (self.0.len() - 1) as u32
    }

    /// The text with a number.
    pub(crate) fn get(&self, file: u32) -> &Source {
        &self.0[file as usize]
    }

    /// Line and column of the start of a range.
    pub(crate) fn place(&self, span: Span) -> (usize, usize) {
        self.get(span.file).place(span.start)
    }
}
