//! The settings that all ranks of a run have to share.

use training::Terms;

/// A line for each setting that has to be the same on all ranks: its name, and its value on this rank.
pub(crate) fn setting_lines(terms: &Terms<'_>) -> Vec<String> {
    let Terms { command, steps, preset, set, start } = *terms;
    let every = |batches: Option<usize>| batches.map_or("never".into(), |n| n.to_string());
    let order = if preset.shuffle { "shuffled" } else { "in order" };
    let last = if preset.drop_last { "only if full" } else { "also if not full" };
    let mut lines = vec![
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
    ];
    lines.extend(steps.map(|steps| format!("steps: {steps:?}")));
    lines
}

/// Describes the first setting that differs from rank 0's, with both values. `all` has the settings of all ranks.
pub(crate) fn difference(all: &[String]) -> Option<String> {
    let first: Vec<&str> = all[0].lines().collect();
    let (rank, other) = all.iter().enumerate().find(|(_, other)| **other != all[0])?;
    let other: Vec<&str> = other.lines().collect();
    let differs = (0..first.len().max(other.len())).find(|&i| first.get(i) != other.get(i))?;
    let line = |terms: &[&str]| terms.get(differs).copied().unwrap_or("nothing").to_owned();
    Some(format!("rank 0 has `{}`, and rank {rank} `{}`", line(&first), line(&other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        let found =
            |ranks: &[&str]| difference(&ranks.iter().map(|s| s.to_string()).collect::<Vec<_>>());
        assert_eq!(found(&["a: 1\nb: 2", "a: 1\nb: 2"]), None);
        let message = found(&["a: 1\nb: 2", "a: 1\nb: 2", "a: 1\nb: 3"]).unwrap();
        assert_eq!(message, "rank 0 has `b: 2`, and rank 2 `b: 3`");
        assert!(found(&["a: 1", "a: 1\nc: 4"]).unwrap().contains("rank 0 has `nothing`"));
    }
}
