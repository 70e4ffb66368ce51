//! Check that cargo commands name existing packages, examples, tests and benchmarks. Nothing runs the slow commands
//! regularly, so a name that no longer exists would go unnoticed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::output::Session;
use crate::page::{Page, PieceKind};
use crate::{Problem, documents, files, read};

/// The folder of each package, by the package's name.
type Packages = BTreeMap<String, PathBuf>;

/// The crate that `scripts/own-level.sh` makes for the reader.
const OWN_LEVEL: &str = "own-level";

/// Cargo's options that name a target (an example, a test, a benchmark), and the folder in which a package has such
/// targets.
const TARGET_OPTIONS: [(&str, &str); 3] =
    [("--example", "examples"), ("--test", "tests"), ("--bench", "benches")];

/// Checks that every package and target in a command exists. The commands are those in sessions, in blocks of `sh`,
/// and in the inline code of pages and [documents].
///
/// # Errors
/// If a file of the repository can't be read.
pub fn check(repository: &Path, pages: &[Page]) -> Result<Vec<Problem>, Problem> {
    let packages = packages(repository)?;
    let mut problems = Vec::new();
    let mut look = |place: String, command: &str| {
        problems.extend(describe_missing(command, &packages).map(|what| Problem::new(place, what)));
    };
    for session in Session::all(repository)? {
        for command in session.commands() {
            look(session.path.display().to_string(), command);
        }
    }
    for page in pages.iter().chain(&documents(repository)?) {
        for piece in page.pieces() {
            let shown = match &piece.kind {
                PieceKind::Block(language) => language == "sh",
                kind => *kind == PieceKind::Code,
            };
            for line in piece.text.lines().filter(|_| shown) {
                look(page.place(piece.line), line);
            }
        }
    }
    Ok(problems)
}

fn packages(repository: &Path) -> Result<Packages, Problem> {
    let mut packages = Packages::new();
    for path in files(&repository.join("crates"), &["toml"]) {
        if path.file_name().is_some_and(|name| name == "Cargo.toml") {
            let text = read(&path)?;
            let name =
                text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
            if let (Some(name), Some(folder)) = (name, path.parent()) {
                packages.insert(name.to_owned(), folder.to_owned());
            }
        }
    }
    Ok(packages)
}

/// Describes the package or target that a command names but that doesn't exist; `None` if everything exists.
fn describe_missing(command: &str, packages: &Packages) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().take_while(|word| *word != "--").collect();
    let after = |word: &str| words[words.iter().position(|is| *is == word)? + 1..].first();
    if !["run", "test", "bench"].contains(after("cargo")?) {
        return None;
    }
    let package = *after("-p").filter(|package| **package != OWN_LEVEL)?;
    let Some(folder) = packages.get(package) else {
        return Some(format!("`{command}`: there is no package {package}"));
    };
    TARGET_OPTIONS.iter().find_map(|(option, within)| {
        let name = after(option)?;
        let within = folder.join(within);
        let there = within.join(format!("{name}.rs")).is_file()
            || within.join(name).join("main.rs").is_file();
        (!there).then(|| format!("`{command}`: {package} has no {option} {name}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_names_are_found() {
        let packages = packages(&crate::repository()).unwrap();
        assert!(packages.len() > 20, "{packages:?}");
        for (command, expected) in [
            ("cargo run -p ptx-emulator -- run x.ptx --example none", None),
            ("cargo bench -p ptx-emulator --bench matmul", None),
            ("cargo run --target-dir target/native -p level1-cpu --example products", None),
            ("cargo new crates/own-level", None),
            ("cargo add -p own-level clap", None),
            ("cargo test --workspace", None),
            ("ls", None),
            (
                "cargo bench -p ptx-emulator --bench product",
                Some("ptx-emulator has no --bench product"),
            ),
            ("cargo run -p level5", Some("no package level5")),
            ("X=1 cargo run -p book-check --example lek -- forget", Some("no --example lek")),
        ] {
            let found = describe_missing(command, &packages);
            let right = match (&found, expected) {
                (Some(found), Some(expected)) => found.contains(expected),
                (found, expected) => found.is_none() && expected.is_none(),
            };
            assert!(right, "{command}: {found:?}");
        }
    }
}
