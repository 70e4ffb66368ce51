//! `#include` from folders.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Resolver;

/// The longest text that is included.
const MOST_BYTES: u64 = 1 << 26;

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
            let mut text = String::new();
            // Past this end no text goes on; what has none, such as a device, would be read for ever.
            let file = File::open(&path).ok()?;
            file.take(MOST_BYTES + 1).read_to_string(&mut text).ok()?;
            (text.len() as u64 <= MOST_BYTES).then_some(())?;
            Some((path.display().to_string(), text))
        })
    }
}
