//! Several ranks that train one network together: which one this is, and what all have to agree on.

use std::path::{Path, PathBuf};

use data::{Batch, Dataset};

use crate::{Parameters, Preset};

/// One of several ranks, each of which takes its share of every batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Which one, counted from 0.
    pub rank: usize,
    /// How many there are.
    pub world_size: usize,
}

impl Rank {
    /// The only one.
    pub const ALONE: Self = Self { rank: 0, world_size: 1 };

    /// Whether there is no other.
    #[must_use]
    pub const fn is_alone(self) -> bool {
        self.world_size == 1
    }

    /// Whether this rank speaks for all: it tests, prints and writes reports.
    #[must_use]
    pub const fn is_first(self) -> bool {
        self.rank == 0
    }

    /// The share of a batch that is this rank's.
    #[must_use]
    pub fn share<'a>(self, batch: &Batch<'a>) -> Batch<'a> {
        if self.is_alone() { *batch } else { batch.share(self.rank, self.world_size) }
    }

    /// The file that this rank writes where one is named for all: `l3.rank2.json` for `l3.json`.
    /// One that is alone writes the file itself.
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

/// What has to be the same on all ranks of a run, a line each: its name, and what it is here.
pub(crate) fn terms(
    command: &str,
    preset: &Preset,
    set: &Dataset,
    start: &Parameters,
) -> Vec<String> {
    let every = |batches: Option<usize>| batches.map_or("never".into(), |n| n.to_string());
    let order = if preset.shuffle { "shuffled" } else { "in order" };
    let last = if preset.drop_last { "only if full" } else { "also if not full" };
    vec![
        format!("command: {command}"),
        format!("preset: {}", preset.name),
        format!("network: {}", preset.network),
        format!("batch size: {}", preset.batch_size),
        format!("learning rate: {:?}", preset.learning_rate),
        format!("epochs: {}", preset.epochs),
        format!("order of the samples: {order}, seed {}", preset.seed),
        format!("last batch: {last}"),
        format!("report every: {}", preset.report_every),
        format!("evaluate every: {}", every(preset.evaluate_every)),
        format!("stop at accuracy: {:?}", preset.stop_at_accuracy),
        format!("most batches: {}", every(preset.max_batches)),
        format!("training data: {} samples, {:016x}", set.len(), set.digest()),
        format!("parameters: {:016x}", start.digest()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_writes_a_file_of_its_own() {
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
