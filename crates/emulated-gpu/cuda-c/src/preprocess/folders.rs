//! `#include` of files in folders.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Resolver;

/// The maximum size in bytes of an included file.
const MAX_BYTES: u64 = 1 << 26;

/// Finds files next to the file that includes them, and then in a list of folders.
#[derive(Clone, Debug, Default)]
pub struct Folders(
    /// The folders, in the order in which they are searched.
    pub Vec<PathBuf>,
);

impl Resolver for Folders {
    fn resolve(&self, include: &str, from: &str) -> Option<(String, String)> {
        let same_folder = Path::new(from).parent().map(Path::to_path_buf);
        same_folder.iter().chain(&self.0).find_map(|folder| {
            let path = folder.join(include);
            let mut text = String::new();
            // The limit also stops reading from a device file that never ends.
            let file = File::open(&path).ok()?;
            file.take(MAX_BYTES + 1).read_to_string(&mut text).ok()?;
            (text.len() as u64 <= MAX_BYTES).then_some(())?;
            Some((path.display().to_string(), text))
        })
    }
}
