//! A rank: its number, its share of a batch, and the files that it writes.

use std::path::{Path, PathBuf};

use data::Batch;

/// One of several ranks, each of which computes its share of every batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The rank's number, counted from 0.
    pub rank: usize,
    /// The number of ranks.
    pub world_size: usize,
}

impl Rank {
    /// The rank of a program that runs only one rank.
    pub const ALONE: Self = Self { rank: 0, world_size: 1 };

    /// Whether there are no other ranks.
    #[must_use]
    pub const fn is_alone(self) -> bool {
        self.world_size == 1
    }

    /// Whether this is rank 0, which tests, prints and writes reports for all.
    #[must_use]
    pub const fn is_first(self) -> bool {
        self.rank == 0
    }

    // ANCHOR: share
    /// This rank's share of a batch. Sizes of shares differ by at most one sample, the first ranks have
    /// the larger shares, and all shares in the order of the ranks make up the batch.
    #[must_use]
    pub fn share<'a>(self, batch: &Batch<'a>) -> Batch<'a> {
        let (each, more) = (batch.len() / self.world_size, batch.len() % self.world_size);
        let begin = self.rank * each + self.rank.min(more);
        batch.part(begin..begin + each + usize::from(self.rank < more))
    }
    // ANCHOR_END: share

    /// The file that this rank writes for an option that names `path`: rank 2 writes `l3.rank2.json` for `l3.json`.
    /// Without other ranks, it is `path` itself.
    #[must_use]
    pub fn file(self, path: &Path) -> PathBuf {
        if self.is_alone() {
            return path.to_owned();
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        let ending = [".json.gz", ".json"]
            .into_iter()
            .find(|ending| name.as_encoded_bytes().ends_with(ending.as_bytes()));
        let rank = format!(".rank{}", self.rank);
        match (ending, name.to_str()) {
            (Some(ending), Some(text)) => {
                let stem = &text[..text.len() - ending.len()];
                name = format!("{stem}{rank}{ending}").into();
            }
            _ => name.push(rank),
        }
        path.with_file_name(name)
    }
}

#[cfg(test)]
mod tests {
    use data::{Dataset, Epoch};

    use super::*;

    #[test]
    fn shares_in_the_order_of_the_ranks_are_the_batch() {
        let set = Dataset::from_rows(vec![0.5; 10], vec![0; 10], 1, 3).unwrap();
        for epoch in [Epoch::in_order(10, 7, false), Epoch::shuffled(10, 7, false, 1, 0)] {
            for (k, world_size) in [(0, 1), (0, 2), (0, 3), (0, 7), (0, 9), (1, 2), (1, 5)] {
                let batch = epoch.batch(&set, k);
                let ranks = (0..world_size).map(|rank| Rank { rank, world_size });
                let shares: Vec<_> = ranks.map(|rank| rank.share(&batch)).collect();
                let all = shares.iter().flat_map(Batch::indices);
                assert!(all.eq(batch.indices()), "{k} {world_size}");
                let lengths = || shares.iter().map(Batch::len);
                assert!(lengths().is_sorted_by(|a, b| a >= b));
                assert!(lengths().max().unwrap() - lengths().min().unwrap() <= 1);
                assert_eq!(shares.iter().any(Batch::is_empty), world_size > batch.len());
            }
        }
    }

    #[test]
    fn each_rank_has_its_own_file() {
        let place = Rank { rank: 2, world_size: 4 };
        for (path, own) in [
            ("l3.json", "l3.rank2.json"),
            ("a/b.c.json.gz", "a/b.c.rank2.json.gz"),
            ("trace", "trace.rank2"),
        ] {
            assert_eq!(place.file(Path::new(path)), Path::new(own));
            assert_eq!(Rank::ALONE.file(Path::new(path)), Path::new(path));
        }
    }
}
