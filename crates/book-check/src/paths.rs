//! Check that the paths which prose names in backticks exist.

use std::path::Path;

use crate::page::{Page, PieceKind};
use crate::{Problem, files};

/// Words that look like paths but aren't, and paths of files that the reader creates.
const NO_PATHS: [&str; 5] = ["samples/s", "items/s", "GFLOP/s", "crates/own-level", "own.py"];

/// Extensions by which a word without a slash is recognised as a file name.
const EXTENSIONS: [&str; 6] = ["rs", "py", "toml", "md", "cu", "ptx"];

/// Checks that each path in backticks of a page exists in the repository.
///
/// A path is a word of letters, digits and `_ - . / * { } ,` that has a slash or one of `EXTENSIONS`. It may be
/// relative to the root or to the page's folder; one that begins with `src/` or `tests/` may be in any crate, and a
/// bare file name anywhere. `*` matches one name, and `{a,b}` each of its alternatives. Files that commands write
/// (`target/…` and `book/html`) may be absent.
#[must_use]
pub fn check(repository: &Path, page: &Page) -> Vec<Problem> {
    let mut problems = Vec::new();
    let folder = page.path.parent().unwrap_or(repository);
    for piece in page.pieces().into_iter().filter(|piece| piece.kind == PieceKind::Code) {
        if !looks_like_a_path(&piece.text) {
            continue;
        }
        for path in alternatives(&piece.text) {
            let anywhere = path.starts_with("src/") || path.starts_with("tests/");
            let bare = !path.contains('/');
            let there = exists(repository, &path)
                || exists(folder, &path)
                || (bare
                    && files(repository, &EXTENSIONS).iter().any(|file| file.ends_with(&path)))
                || (anywhere
                    && ["crates/*", "crates/emulated-gpu/*"]
                        .iter()
                        .any(|folder| exists(repository, &format!("{folder}/{path}"))));
            if !there {
                let what = format!("there is no {path} in the repository");
                problems.push(Problem::new(page.place(piece.line), what));
            }
        }
    }
    problems
}

fn looks_like_a_path(text: &str) -> bool {
    let ends = EXTENSIONS.iter().any(|end| {
        text.strip_suffix(end).is_some_and(|stem| stem.len() > 1 && stem.ends_with('.'))
    });
    text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./*{},".contains(c))
        && (text.contains('/') || ends)
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c == '.' || c == 'A')
        && !NO_PATHS.contains(&text)
        && !["target/", "book/html"].iter().any(|start| text.starts_with(start))
        && !text.contains("..")
}

/// Expands the braces of a path: `a/{b,c}` to `a/b` and `a/c`.
fn alternatives(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(head, rest)| {
        let (choices, tail) = rest.split_once('}')?;
        Some((head, choices, tail))
    });
    match parts {
        None => vec![path.to_owned()],
        Some((head, choices, tail)) => choices
            .split(',')
            .flat_map(|choice| alternatives(&format!("{head}{choice}{tail}")))
            .collect(),
    }
}

fn exists(root: &Path, path: &str) -> bool {
    let (first, rest) = path.trim_end_matches('/').split_once('/').unwrap_or((path, ""));
    let first = first.trim_end_matches('/');
    let matching = |name: &str| match first.split_once('*') {
        Some((head, tail)) => {
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        }
        None => name == first,
    };
    let Ok(entries) = std::fs::read_dir(root) else { return false };
    entries.flatten().any(|entry| {
        entry.file_name().to_str().is_some_and(matching)
            && (rest.is_empty() || exists(&entry.path(), rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_begin_in_the_folder_of_its_page() {
        let repository = crate::repository();
        let path = repository.join("crates/emulated-gpu/README.md");
        let page = Page { path, name: "README.md".into(), text: "`cuda/src` `cuda/gone`\n".into() };
        let problems = check(&repository, &page);
        assert_eq!(
            problems,
            [Problem::new("README.md:1", "there is no cuda/gone in the repository")]
        );
    }

    #[test]
    fn a_path_that_is_gone_is_found() {
        let text = "`crates/tensor/src/lib.rs` `src/lib.rs` `crates/{tensor,gone}` `crates/` \
                    `crates/*/Cargo.toml` `crates/*/gone.toml` `Cargo.toml` `gone.py` `paths.rs` `src/gone.rs` \
                    `samples/s` `x/255` `(p - y)/B` `w1` `target/l1.json` `book/html/x.html` `cargo run`\n";
        let page = Page { path: "page.md".into(), name: "page.md".into(), text: text.into() };
        let missing: Vec<String> =
            check(&crate::repository(), &page).into_iter().map(|problem| problem.what).collect();
        assert_eq!(
            missing,
            ["crates/gone", "crates/*/gone.toml", "gone.py", "src/gone.rs", "x/255"]
                .map(|path| format!("there is no {path} in the repository"))
        );
    }
}
