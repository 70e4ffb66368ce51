//! Checks that the book agrees with the code, and that the repository's prose follows the rules of CONTRIBUTING.md.
//!
//! mdBook renders an include of a missing anchor as an empty block and still succeeds, and it doesn't know what the
//! commands on its pages print. This crate checks both. Its tests check the sources, and `scripts/check-book.sh` the
//! built pages.
//!
//! Every check is a function that returns a list of problems, which is empty if everything is right.

use std::fmt;
use std::path::{Path, PathBuf};

use host::file;

pub mod chapters;
pub mod columns;
pub mod commands;
pub mod drawings;
pub mod html;
pub mod include;
pub mod levels;
pub mod machine;
pub mod numbers;
pub mod output;
pub mod page;
pub mod paths;
pub mod runs;
pub mod share;
pub mod style;
pub mod targets;
pub mod terms;

/// A problem that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, and the line if it is known: `book/src/setup.md:12`.
    pub place: String,
    /// Description of the problem, and how to fix it.
    pub what: String,
}

impl Problem {
    /// A problem at a place.
    pub fn new(place: impl fmt::Display, what: impl Into<String>) -> Self {
        Self { place: place.to_string(), what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// The root of the repository this program was compiled in.
#[must_use]
pub fn repository() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.ancestors().nth(2).unwrap_or(crate_folder).to_owned()
}

/// The documents outside the book: documents such as README and ARCHITECTURE of the repository, of the emulated GPU and
/// of its crates. Changelogs are left out because they name files that no longer exist.
///
/// # Errors
/// If one of them can't be read.
pub fn documents(repository: &Path) -> Result<Vec<page::Page>, Problem> {
    let all = files(repository, &["md"]).into_iter().filter_map(|path| {
        let name = name_in(repository, &path);
        let is_document = !name.contains('/') || name.starts_with("crates/emulated-gpu/");
        (is_document && !name.ends_with("CHANGELOG.md")).then_some((name, path))
    });
    all.map(|(name, path)| Ok(page::Page { text: read(&path)?, name, path })).collect()
}

/// Reads a text file.
///
/// # Errors
/// If the file can't be read or isn't UTF-8: a problem that names the file.
pub fn read(path: &Path) -> Result<String, Problem> {
    std::fs::read_to_string(path)
        .map_err(|error| Problem::new(path.display(), format!("can't be read: {error}")))
}

/// Writes a text file atomically: after an error, the file has its old content.
///
/// # Errors
/// If the file can't be written: a problem that names the file.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Problem> {
    file::write_atomically(path, |writer| writer.write_all(content.as_ref()))
        .map_err(|error| Problem::new(path.display(), format!("can't be written: {error}")))
}

/// Edits the pages of a built book: `edit` gets the path of a page in `book/html` and its text. It returns the new
/// text, or `None` to leave the page unchanged.
///
/// # Errors
/// If a page can't be read or written, or `edit` fails.
fn edit_pages(
    repository: &Path,
    mut edit: impl FnMut(&Path, &str) -> Result<Option<String>, Problem>,
) -> Result<(), Problem> {
    let html = repository.join("book/html");
    for path in files(&html, &["html"]) {
        if let Some(with) = edit(path.strip_prefix(&html).unwrap_or(&path), &read(&path)?)? {
            write(&path, &with)?;
        }
    }
    Ok(())
}

/// The path of a file relative to a folder, as text.
#[must_use]
pub fn name_in(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}

/// Escapes a text for an HTML attribute in double quotes.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

/// All files below a folder that have one of these extensions, sorted by name, without the folders that git ignores
/// (build outputs, caches).
#[must_use]
pub fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() {
                if !["target", "__pycache__", "venv"].contains(&name) && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if extensions.iter().any(|end| name.ends_with(&format!(".{end}"))) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
