//! The dumps of several ranks among the files of a command line: those that belong to each other
//! are put together.

use std::path::{Path, PathBuf};

use tensor::{Dump, RankDifference};

/// A dump or a run, of one file or of all ranks'.
pub(crate) struct Source {
    /// The file; of ranks, the first one's with a star for the number.
    pub(crate) path: PathBuf,
    /// The steps.
    pub(crate) run: Vec<Dump>,
    /// Where a rank has something else than the first, though all should have the same.
    pub(crate) differences: Vec<RankDifference>,
}

/// Files of ranks that don't make a whole: one of them, and why.
pub(crate) struct Incomplete {
    pub(crate) path: PathBuf,
    pub(crate) reason: String,
}

/// Those that belong to each other, by rank.
struct Group {
    ranks: Vec<Option<(PathBuf, Vec<Dump>)>>,
}

enum FileOrGroup {
    Alone((PathBuf, Vec<Dump>)),
    Group(Group),
}

/// Puts the dumps of ranks together; the other files stay as they are, and all in their order.
///
/// # Errors
/// When a rank is missing, or the ranks are not of one step.
pub(crate) fn put_together(files: Vec<(PathBuf, Vec<Dump>)>) -> Result<Vec<Source>, Incomplete> {
    let mut entries: Vec<FileOrGroup> = Vec::new();
    for (path, run) in files {
        let (Some(rank), Some(world)) = (run[0].header.rank, run[0].header.world_size) else {
            entries.push(FileOrGroup::Alone((path, run)));
            continue;
        };
        // Nobody has more ranks; a header may say anything.
        let size = usize::try_from(world).ok().filter(|size| *size <= 1 << 16);
        let rank = usize::try_from(rank).ok().filter(|rank| size.is_some_and(|n| *rank < n));
        let (Some(size), Some(rank)) = (size, rank) else {
            let reason = format!("its header says that it is of a rank that is none of {world}");
            return Err(Incomplete { path, reason });
        };
        let header = run[0].header.of_all_ranks();
        let open = entries.iter_mut().find_map(|entry| match entry {
            FileOrGroup::Group(group) if group.takes(rank, size, &header) => Some(group),
            _ => None,
        });
        match open {
            Some(group) => group.ranks[rank] = Some((path, run)),
            None => {
                let mut ranks: Vec<_> = (0..size).map(|_| None).collect();
                ranks[rank] = Some((path, run));
                entries.push(FileOrGroup::Group(Group { ranks }));
            }
        }
    }
    let each = entries.into_iter().map(|entry| match entry {
        FileOrGroup::Alone((path, run)) => Ok(Source { path, run, differences: Vec::new() }),
        FileOrGroup::Group(group) => group.whole(),
    });
    each.collect()
}

impl Group {
    /// Whether the dump of a rank belongs to these, and isn't there yet.
    fn takes(&self, rank: usize, size: usize, header: &tensor::Header) -> bool {
        let first = self.ranks.iter().flatten().next();
        self.ranks.len() == size
            && self.ranks[rank].is_none()
            && first.is_some_and(|(_, run)| run[0].header.of_all_ranks() == *header)
    }

    fn whole(self) -> Result<Source, Incomplete> {
        let size = self.ranks.len();
        let missing: Vec<String> = (0..size)
            .filter(|&rank| self.ranks[rank].is_none())
            .map(|rank| rank.to_string())
            .collect();
        let files: Vec<_> = self.ranks.into_iter().flatten().collect();
        let path = files[0].0.clone();
        if !missing.is_empty() {
            let reason = format!(
                "it holds a share of a batch, and the dumps of the other ranks are missing (rank {} \
                 of {size}): name the files of all ranks",
                missing.join(", ")
            );
            return Err(Incomplete { path, reason });
        }
        let steps = files[0].1.len();
        if let Some((other, _)) = files.iter().find(|(_, run)| run.len() != steps) {
            let reason = "it holds another number of steps than the first rank's".to_owned();
            return Err(Incomplete { path: other.clone(), reason });
        }
        let mut source = Source { path: named(&path), run: Vec::new(), differences: Vec::new() };
        for step in 0..steps {
            let parts: Vec<&Dump> = files.iter().map(|(_, run)| &run[step]).collect();
            let whole = Dump::of_ranks(&parts)
                .map_err(|reason| Incomplete { path: path.clone(), reason })?;
            source.run.push(whole.dump);
            source.differences.extend(whole.differences);
        }
        Ok(source)
    }
}

/// `l3.rank*.json` for `l3.rank0.json`; other names stay.
fn named(path: &Path) -> PathBuf {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match name.rfind("rank0") {
        Some(at) => path.with_file_name(format!("{}rank*{}", &name[..at], &name[at + 5..])),
        None => path.to_owned(),
    }
}
