//! The table of the levels in the book, `book/outputs/levels.md`, with the time and the accuracy that each level's training
//! prints.

use std::path::Path;

use crate::{Problem, read};

/// The name of the table's file in `book/outputs`.
pub const TABLE: &str = "levels.md";
/// For each level, its name, and the session of the book that shows its training run.
const TRAINING_SESSIONS: [(&str, &str); 4] = [
    ("level 1", "train-small.mnist.txt"),
    ("level 2", "level2-train.mnist.slow.txt"),
    ("level 3", "level3-train.mnist.slow.txt"),
    ("level 4", "level4-train.mnist.slow.txt"),
];

/// The table, with the times and accuracies in the book's present outputs.
///
/// # Errors
/// If a session can't be read or lacks a figure.
pub fn table(repository: &Path) -> Result<String, Problem> {
    let outputs = repository.join("book/outputs");
    let accuracy = read(&outputs.join("accuracy.md"))?;
    let pytorch = first_accuracy_of_pytorch(&accuracy).ok_or_else(|| {
        Problem::new("accuracy.md", "the row of `small` has no accuracy of PyTorch")
    })?;
    let mut text =
        format!("| | training | test accuracy |\n|---|---:|---:|\n| PyTorch | | {pytorch} % |\n");
    for (level, name) in TRAINING_SESSIONS {
        let session = read(&outputs.join(name))?;
        let (seconds, accuracy) = time_and_accuracy(&session)
            .ok_or_else(|| Problem::new(name, "it prints no seconds or no accuracy"))?;
        let emulated = if level == TRAINING_SESSIONS[0].0 { "" } else { ", emulated" };
        text += &format!("| {level} | {seconds} s{emulated} | {accuracy} % |\n");
    }
    Ok(text)
}

/// The seconds and the accuracy that a training run printed.
fn time_and_accuracy(session: &str) -> Option<(&str, &str)> {
    let between = |start: &str, end: &str| session.split_once(start)?.1.split_once(end);
    Some((between(" samples in ", " s")?.0, between("test accuracy ", " %")?.0))
}

/// PyTorch's accuracy with the default preset and the first seed.
fn first_accuracy_of_pytorch(table: &str) -> Option<&str> {
    let row = table.lines().find(|line| line.starts_with("| `small`"))?;
    row.split('|').nth(3)?.split(',').next().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_accuracy_of_a_training_run_are_read() {
        let session = "$ cargo run\n234 batches, 59904 samples in 15.50 s: 3864 samples/s\n\
            test accuracy 92.55 % (9240 of 9984, full batches only)\n";
        assert_eq!(time_and_accuracy(session), Some(("15.50", "92.55")));
        assert_eq!(time_and_accuracy("$ cargo run\n"), None);
    }
}
