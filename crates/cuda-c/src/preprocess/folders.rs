//! `#include` from folders.

use std::fs;
use std::path::{Path, PathBuf};

use super::Resolver;

/// Finds files beside the one that includes them, then in the folders that are listed.
#[derive(Clone, Debug, Default)]
pub struct Folders(
    /// The folders, the first looked into first.
    pub Vec<PathBuf>,
);

impl Resolver for Folders {
    fn resolve(&self, include: &str, from: &str) -> Option<(String, String)> {
        let beside = Path::new(from).parent().map(Path::to_path_buf);
        beside.iter().chain(&self.0).find_map(|folder| {
            let path = folder.join(include);
            let text = fs::read_to_string(&path).ok()?;
            Some((path.display().to_string(), text))
        })
    }
}
