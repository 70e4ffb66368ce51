//! Combination of the dumps of all ranks, each with its share of a batch, among the files on the command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tensor::{Dump, Header, RankDifference};

use crate::Failure;

/// A dump or a run: of one file, or of the files of all ranks.
pub(crate) struct Source {
    /// The file; of ranks, the first one's with a star in the place of the rank.
    pub(crate) path: PathBuf,
    pub(crate) run: Vec<Dump>,
    /// Tensors that should be the same on all ranks and aren't.
    pub(crate) differences: Vec<RankDifference>,
}

/// A header may claim any number of ranks; more than this don't exist.
const MAX_RANKS: u64 = 1 << 16;

/// The files of one step or run, by rank; a file that is of no rank is a group by itself.
struct Group {
    /// The header that all ranks share, and their number; `None` if the file is of no rank.
    ranks: Option<(Header, u64)>,
    files: BTreeMap<u64, (PathBuf, Vec<Dump>)>,
}

/// Combines the dumps of ranks; all other files stay as they are. The order of the files is kept.
///
/// # Errors
/// If a rank is missing, or the ranks are of different steps.
pub(crate) fn combine_ranks(files: Vec<(PathBuf, Vec<Dump>)>) -> Result<Vec<Source>, Failure> {
    let mut groups: Vec<Group> = Vec::new();
    for (path, run) in files {
        let header = &run[0].header;
        let (rank, ranks) = match (header.rank, header.world_size) {
            (Some(rank), Some(world)) if rank >= world || world > MAX_RANKS => {
                let reason = format!("its header says that it is of rank {rank} of {world}");
                return Err(Failure::Ranks { path, reason });
            }
            (Some(rank), Some(world)) => (rank, Some((header.of_all_ranks(), world))),
            _ => (0, None),
        };
        let is_open = |group: &&mut Group| {
            ranks.is_some() && group.ranks == ranks && !group.files.contains_key(&rank)
        };
        match groups.iter_mut().find(is_open) {
            Some(group) => _ = group.files.insert(rank, (path, run)),
            None => groups.push(Group { ranks, files: BTreeMap::from([(rank, (path, run))]) }),
        }
    }
    groups.into_iter().map(Group::combine).collect()
}

impl Group {
    fn combine(self) -> Result<Source, Failure> {
        let Some((_, world)) = self.ranks else {
            let (path, run) = self.files.into_values().next().expect("a group has a file");
            return Ok(Source { path, run, differences: Vec::new() });
        };
        let missing = (0..world).filter(|rank| !self.files.contains_key(rank));
        let missing: Vec<String> = missing.map(|rank| rank.to_string()).collect();
        let files: Vec<_> = self.files.into_values().collect();
        let (path, first) = &files[0];
        let failure = |path: &Path, reason| Failure::Ranks { path: path.to_owned(), reason };
        if !missing.is_empty() {
            let reason = format!(
                "it holds a share of a batch, and the dumps of the other ranks are missing (rank {} \
                 of {world}): name the files of all ranks",
                missing.join(", ")
            );
            return Err(failure(path, reason));
        }
        if let Some((other, _)) = files.iter().find(|(_, run)| run.len() != first.len()) {
            let reason = "the number of its steps differs from the first rank's".to_owned();
            return Err(failure(other, reason));
        }
        let mut source = Source { path: starred(path), run: Vec::new(), differences: Vec::new() };
        for step in 0..first.len() {
            let parts: Vec<&Dump> = files.iter().map(|(_, run)| &run[step]).collect();
            let whole = Dump::of_ranks(&parts).map_err(|reason| failure(path, reason))?;
            source.run.push(whole.dump);
            source.differences.extend(whole.differences);
        }
        Ok(source)
    }
}

/// `l3.rank*.json` for `l3.rank0.json`; other names stay.
fn starred(path: &Path) -> PathBuf {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match name.rfind("rank0") {
        Some(at) => path.with_file_name(format!("{}rank*{}", &name[..at], &name[at + 5..])),
        None => path.to_owned(),
    }
}
