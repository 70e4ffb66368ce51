//! A program as a tree of texts, so that a failing program can be reduced.

use std::fmt::{self, Display, Write as _};

/// The kind of a part of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// A part that must stay, such as the text around statements.
    Frame,
    /// Statements and definitions, which can be removed.
    Statement,
    Unsigned,
    Signed,
    /// `unsigned long long`
    Wide,
    /// `long long`
    Long,
    Float,
    Double,
    Truth,
}

impl NodeKind {
    /// The simplest replacement.
    fn simplest(self) -> Option<&'static str> {
        Some(match self {
            Self::Frame => return None,
            Self::Statement => "",
            Self::Unsigned => "1u",
            Self::Signed => "1",
            Self::Wide => "1ull",
            Self::Long => "1ll",
            Self::Float => "1.0f",
            Self::Double => "1.0",
            Self::Truth => "true",
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Part {
    Text(String),
    Tree(Tree),
}

#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) kind: NodeKind,
    pub(crate) parts: Vec<Part>,
}

impl Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Text(text) => f.write_str(text)?,
                Part::Tree(tree) => Display::fmt(tree, f)?,
            }
        }
        Ok(())
    }
}

/// A text without replaceable parts.
pub(crate) fn leaf(kind: NodeKind, text: impl Into<String>) -> Tree {
    Tree { kind, parts: vec![Part::Text(text.into())] }
}

/// Makes a tree from `text`, in which each `@` stands for the next of `children`.
pub(crate) fn tree(
    kind: NodeKind,
    pattern: &str,
    children: impl IntoIterator<Item = Tree>,
) -> Tree {
    let mut children = children.into_iter();
    let mut parts = Vec::new();
    for (index, text) in pattern.split('@').enumerate() {
        if index > 0 {
            parts.extend(children.next().map(Part::Tree));
        }
        parts.push(Part::Text(text.to_owned()));
    }
    Tree { kind, parts }
}

/// Makes a tree from parts that follow one another.
pub(crate) fn sequence(kind: NodeKind, children: impl IntoIterator<Item = Tree>) -> Tree {
    let mut parts = Vec::new();
    for child in children {
        parts.push(Part::Tree(child));
        parts.push(Part::Text("\n    ".to_owned()));
    }
    Tree { kind, parts }
}

impl Tree {
    fn subtree(&self, path: &[usize]) -> Option<&Self> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        match self.parts.get(*first)? {
            Part::Tree(tree) => tree.subtree(rest),
            Part::Text(_) => None,
        }
    }

    fn replaced(&self, path: &[usize], other: Self) -> Self {
        let Some((first, rest)) = path.split_first() else { return other };
        let mut copy = self.clone();
        if let Some(Part::Tree(tree)) = copy.parts.get_mut(*first) {
            *tree = tree.replaced(rest, other);
        }
        copy
    }

    fn paths(&self, path: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        all.push(path.clone());
        for (index, part) in self.parts.iter().enumerate() {
            if let Part::Tree(tree) = part {
                path.push(index);
                tree.paths(path, all);
                path.pop();
            }
        }
    }

    /// Smaller trees that could replace this one.
    fn smaller_trees(&self) -> Vec<Self> {
        let Some(simplest) = self.kind.simplest() else { return Vec::new() };
        let mut all = Vec::new();
        if self.to_string() != simplest {
            all.push(leaf(self.kind, simplest));
        }
        let mut paths = Vec::new();
        self.paths(&mut Vec::new(), &mut paths);
        let below = paths.iter().skip(1).filter_map(|path| self.subtree(path));
        all.extend(below.filter(|inner| inner.kind == self.kind).take(6).cloned());
        all
    }

    /// Reduces the tree as long as `wrong` is true for it, with at most `most` attempts.
    pub(crate) fn reduced(self, mut most: u32, mut wrong: impl FnMut(&Self) -> bool) -> Self {
        let mut best = self;
        loop {
            let mut paths = Vec::new();
            best.paths(&mut Vec::new(), &mut paths);
            let mut child = None;
            'search: for path in &paths {
                for other in best.subtree(path).into_iter().flat_map(Self::smaller_trees) {
                    if most == 0 {
                        return best;
                    }
                    most -= 1;
                    let tried = best.replaced(path, other);
                    if wrong(&tried) {
                        child = Some(tried);
                        break 'search;
                    }
                }
            }
            match child {
                Some(smaller) => best = smaller,
                None => return best,
            }
        }
    }
}

/// All items of a list, with a separator in between.
pub(crate) fn join(items: impl IntoIterator<Item = impl Display>, between: &str) -> String {
    let mut text = String::new();
    for (index, item) in items.into_iter().enumerate() {
        let _ = write!(text, "{}{item}", if index == 0 { "" } else { between });
    }
    text
}
