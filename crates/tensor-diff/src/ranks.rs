//! Combination of the dumps of all ranks, each with its share of a batch, among the files on the command line.

use std::path::{Path, PathBuf};

use tensor::{Dump, Header, RankDifference};

use crate::Failure;

/// A dump or a run: of one file, or of the files of all ranks.
pub(crate) struct Source {
    /// The file; of ranks, the first one's with a star in the place of the rank.
    pub(crate) path: PathBuf,
    /// The steps.
    pub(crate) run: Vec<Dump>,
    /// Tensors that should be the same on all ranks and aren't.
    pub(crate) differences: Vec<RankDifference>,
}

/// A header may claim any number of ranks; more than this don't exist.
const MAX_RANKS: u64 = 1 << 16;

/// The files of one step or run, by rank; a file that is of no rank is a group by itself.
struct Group {
    /// The header that all ranks share; `None` if the file is of no rank.
    header: Option<Header>,
    files: Vec<Option<(PathBuf, Vec<Dump>)>>,
}

/// Combines the dumps of ranks; all other files stay as they are. The order of the files is kept.
///
/// # Errors
/// If a rank is missing, or the ranks are of different steps.
pub(crate) fn combine_ranks(files: Vec<(PathBuf, Vec<Dump>)>) -> Result<Vec<Source>, Failure> {
    let mut groups: Vec<Group> = Vec::new();
    for (path, run) in files {
        let header = &run[0].header;
        let (Some(rank), Some(world)) = (header.rank, header.world_size) else {
            groups.push(Group { header: None, files: vec![Some((path, run))] });
            continue;
        };
        if rank >= world || world > MAX_RANKS {
            let reason = format!("its header says that it is of rank {rank} of {world}");
            return Err(Failure::Ranks { path, reason });
        }
        let (rank, size) = (rank as usize, world as usize);
        let header = Some(header.of_all_ranks());
        let open = groups.iter().position(|group| {
            group.header == header && group.files.len() == size && group.files[rank].is_none()
        });
        let at = open.unwrap_or_else(|| {
            groups.push(Group { header, files: (0..size).map(|_| None).collect() });
            groups.len() - 1
        });
        groups[at].files[rank] = Some((path, run));
    }
    groups.into_iter().map(Group::combine).collect()
}

impl Group {
    fn combine(self) -> Result<Source, Failure> {
        let size = self.files.len();
        let missing = (0..size).filter(|&rank| self.files[rank].is_none());
        let missing: Vec<String> = missing.map(|rank| rank.to_string()).collect();
        let mut files: Vec<_> = self.files.into_iter().flatten().collect();
        let path = files[0].0.clone();
        if self.header.is_none() {
            let (_, run) = files.remove(0);
            return Ok(Source { path, run, differences: Vec::new() });
        }
        let failure = |path: &Path, reason| Failure::Ranks { path: path.to_owned(), reason };
        if !missing.is_empty() {
            let reason = format!(
                "it holds a share of a batch, and the dumps of the other ranks are missing (rank {} \
                 of {size}): name the files of all ranks",
                missing.join(", ")
            );
            return Err(failure(&path, reason));
        }
        let steps = files[0].1.len();
        if let Some((other, _)) = files.iter().find(|(_, run)| run.len() != steps) {
            let reason = "the number of its steps differs from the first rank's".to_owned();
            return Err(failure(other, reason));
        }
        let mut source = Source { path: starred(&path), run: Vec::new(), differences: Vec::new() };
        for step in 0..steps {
            let parts: Vec<&Dump> = files.iter().map(|(_, run)| &run[step]).collect();
            let whole = Dump::of_ranks(&parts).map_err(|reason| failure(&path, reason))?;
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
