//! Search for the shared libraries that are built with a program.

use std::path::{Path, PathBuf};

/// The error if a library is in none of the folders where a build puts it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{file} is not in {}; `cargo build` and `cargo run` put it next to the program, but `cargo install` does \
     not: run the program from the workspace, or copy the library next to it",
    list(.searched)
)]
pub struct NotFound {
    /// The name of the file.
    pub file: &'static str,
    /// The folders that were searched.
    pub searched: Vec<PathBuf>,
}

fn list(folders: &[PathBuf]) -> String {
    let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    names.join(" or ")
}

/// Finds the absolute path of a shared library that was built with the running program. The library is in `deps` below
/// the program's folder; for tests, which are in `deps`, it is in the program's own folder; for examples, it is in the
/// folder `deps` next to `examples`. No other folders are searched, because parent folders may be world-writable, like
/// `/tmp`.
///
/// # Errors
/// If it is in none of these folders.
pub fn beside_program(file: &'static str) -> Result<PathBuf, NotFound> {
    let program = std::env::current_exe().unwrap_or_default();
    search(program.parent().unwrap_or(Path::new("")), file)
}

fn search(folder: &Path, file: &'static str) -> Result<PathBuf, NotFound> {
    let mut searched = vec![folder.join("deps"), folder.to_owned()];
    if folder.ends_with("examples") {
        searched.extend(folder.parent().map(|parent| parent.join("deps")));
    }
    let found = searched.iter().map(|folder| folder.join(file)).find(|path| path.is_file());
    found.ok_or(NotFound { file, searched })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_tests_and_examples_find_the_library() {
        let root = std::env::temp_dir().join(format!("host-library-{}", std::process::id()));
        let deps = root.join("deps");
        std::fs::create_dir_all(&deps).unwrap();
        std::fs::write(deps.join("library"), "").unwrap();
        for folder in [root.clone(), deps.clone(), root.join("examples")] {
            assert_eq!(search(&folder, "library").unwrap(), deps.join("library"), "{folder:?}");
        }
        search(&root.join("elsewhere"), "library").unwrap_err();
        let missing = search(&root, "other").unwrap_err();
        assert!(missing.to_string().contains(&deps.display().to_string()));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
