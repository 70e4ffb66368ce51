//! Source pages of the book: their code blocks, links and pictures.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::{Problem, files, name_in, read};

/// One page: a Markdown file under `book/src`.
#[derive(Clone, Debug)]
pub struct Page {
    /// The file.
    pub path: PathBuf,
    /// The path relative to the root of the repository, for messages.
    pub name: String,
    /// The text of the file.
    pub text: String,
}

/// A block of code, a piece of inline code, a link or a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The line where the piece begins, counted from 1.
    pub line: usize,
    /// Whether the piece is a block, inline code, a link or a picture.
    pub kind: PieceKind,
    /// The code, or the target of the link or picture.
    pub text: String,
}

/// The kinds of pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// A code block, with the language that its opening fence states.
    Block(String),
    /// Code within a line.
    Code,
    /// A link.
    Link,
    /// A picture.
    Picture,
}

impl Page {
    /// Every page under `book/src`, `SUMMARY.md` among them.
    ///
    /// # Errors
    /// If a page can't be read.
    pub fn all(repository: &Path) -> Result<Vec<Self>, Problem> {
        let mut pages = Vec::new();
        for path in files(&repository.join("book/src"), &["md"]) {
            let name = name_in(repository, &path);
            pages.push(Self { name, text: read(&path)?, path });
        }
        Ok(pages)
    }

    /// A line of this page as `FILE:LINE`, for messages.
    #[must_use]
    pub fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.name)
    }

    /// The code blocks, code, links and pictures of this page.
    #[must_use]
    pub fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut block: Option<Piece> = None;
        let events = Parser::new_ext(&self.text, Options::ENABLE_TABLES).into_offset_iter();
        for (event, range) in events {
            let line = 1 + self.text[..range.start].matches('\n').count();
            let piece = |kind, text: &str| Piece { line, kind, text: text.to_owned() };
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    let language = match &kind {
                        CodeBlockKind::Fenced(language) => language,
                        CodeBlockKind::Indented => "",
                    };
                    block = Some(piece(PieceKind::Block(language.to_owned()), ""));
                }
                Event::End(TagEnd::CodeBlock) => pieces.extend(block.take()),
                Event::Text(text) => {
                    if let Some(block) = &mut block {
                        block.text.push_str(&text);
                    }
                }
                Event::Code(code) => pieces.push(piece(PieceKind::Code, &code)),
                Event::Start(Tag::Link { dest_url, .. }) => {
                    pieces.push(piece(PieceKind::Link, &dest_url));
                }
                Event::Start(Tag::Image { dest_url, .. }) => {
                    pieces.push(piece(PieceKind::Picture, &dest_url));
                }
                _ => {}
            }
        }
        pieces
    }

    /// Links and pictures whose file is missing. Links to the web are not checked; a picture from the web is a problem,
    /// because it has to be in the book.
    #[must_use]
    pub fn broken_links(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for Piece { line, kind, text } in self.pieces() {
            if !matches!(kind, PieceKind::Link | PieceKind::Picture) {
                continue;
            }
            let external = text.contains("://") || text.starts_with("//");
            if external && kind == PieceKind::Link {
                continue;
            }
            let file = text.split('#').next().unwrap_or_default();
            let folder = self.path.parent().unwrap_or(&self.path);
            if external || (!file.is_empty() && !folder.join(file).is_file()) {
                problems.push(Problem::new(self.place(line), format!("{text:?} leads nowhere")));
            }
        }
        problems
    }
}

/// Pages that are missing from `SUMMARY.md`. mdBook would leave them out without a warning.
#[must_use]
pub fn unlisted(pages: &[Page]) -> Vec<Problem> {
    let Some(summary) = pages.iter().find(|page| page.path.ends_with("SUMMARY.md")) else {
        return vec![Problem::new("book/src/SUMMARY.md", "is missing")];
    };
    let folder = summary.path.parent().unwrap_or(&summary.path);
    let listed: BTreeSet<PathBuf> = summary
        .pieces()
        .into_iter()
        .filter(|piece| piece.kind == PieceKind::Link)
        .map(|piece| folder.join(piece.text))
        .collect();
    pages
        .iter()
        .filter(|page| page.path != summary.path && !listed.contains(&page.path))
        .map(|page| Problem::new(&page.name, "SUMMARY.md doesn't list it"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Page {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page.md");
        Page { path, name: "page.md".into(), text: text.into() }
    }

    #[test]
    fn pieces_are_found_with_their_lines() {
        let page = page("# A\n\n`b` and [c](d.md)\n\n```text\ne\n```\n![f](g.svg)\n");
        let piece = |line, kind, text: &str| Piece { line, kind, text: text.into() };
        let expected = [
            piece(3, PieceKind::Code, "b"),
            piece(3, PieceKind::Link, "d.md"),
            piece(5, PieceKind::Block("text".into()), "e\n"),
            piece(8, PieceKind::Picture, "g.svg"),
        ];
        assert_eq!(page.pieces(), expected);
    }

    #[test]
    fn a_link_to_nowhere_is_found() {
        let page = page(
            "[a](lib.rs) [b](gone.md#x) [c](#here) [d](https://example.org)\n\n\
             ![e](https://example.org/e.svg) ![f](gone.svg)\n",
        );
        let places: Vec<String> = page.broken_links().iter().map(ToString::to_string).collect();
        assert_eq!(
            places,
            [
                "page.md:1: \"gone.md#x\" leads nowhere",
                "page.md:3: \"https://example.org/e.svg\" leads nowhere",
                "page.md:3: \"gone.svg\" leads nowhere",
            ]
        );
    }

    #[test]
    fn a_page_that_the_summary_forgets_is_found() {
        let at = |name: &str, text: &str| Page {
            path: Path::new("/book").join(name),
            name: name.into(),
            text: text.into(),
        };
        let pages = [at("SUMMARY.md", "- [A](a.md)"), at("a.md", ""), at("b.md", "")];
        assert_eq!(unlisted(&pages), [Problem::new("b.md", "SUMMARY.md doesn't list it")]);
        assert_eq!(unlisted(&pages[1..]).len(), 1);
    }
}
