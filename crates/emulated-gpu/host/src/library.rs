//! Where shared libraries lie that are built with the program.

use std::path::{Path, PathBuf};

/// A library is not where it is built to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{file} is neither in {}; it is built beside the program by `cargo build` and `cargo run`, and \
     `cargo install` leaves it behind: run from the workspace, or copy it beside the program",
    list(.searched)
)]
pub struct NotFound {
    /// The name of the file.
    pub file: &'static str,
    /// The folders in which it is not.
    pub searched: Vec<PathBuf>,
}

fn list(folders: &[PathBuf]) -> String {
    let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    names.join(" nor in ")
}

/// The absolute path of a shared library that was built with the running program: in `deps` below
/// the program's folder, in that folder itself (tests are in `deps`), or, of a program in a folder
/// `examples`, in `deps` beside that folder. Nowhere else: above it there may be everybody's `/tmp`.
///
/// # Errors
/// When it is in none of them.
pub fn beside_program(file: &'static str) -> Result<PathBuf, NotFound> {
    let program = std::env::current_exe().unwrap_or_default();
    search(program.parent().unwrap_or(Path::new("")), file)
}

fn search(folder: &Path, file: &'static str) -> Result<PathBuf, NotFound> {
    let mut searched = vec![folder.join("deps"), folder.to_owned()];
    if folder.ends_with("examples") {
        searched.extend(folder.parent().map(|above| above.join("deps")));
    }
    let found = searched.iter().map(|folder| folder.join(file)).find(|path| path.is_file());
    found.ok_or(NotFound { file, searched })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_from_programs_tests_and_examples() {
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
