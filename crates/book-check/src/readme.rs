//! Figures of the README. It can't include files, so it repeats figures of the book: two tables that scripts make, and
//! the time and accuracy of each level's training.

use std::path::Path;

use crate::{Problem, read};

/// For each level, its folder and the session of the book that shows its training run.
const TRAINED: [(&str, &str); 4] = [
    ("crates/level1-cpu", "train-small.mnist.txt"),
    ("crates/level2-cuda-naive", "level2-train.mnist.slow.txt"),
    ("crates/level3-cublas", "level3-train.mnist.slow.txt"),
    ("crates/level4-ptx", "level4-train.mnist.slow.txt"),
];

/// The README with the figures that the book shows now.
///
/// # Errors
/// If an output can't be read or lacks a figure, or the README has no place for one.
pub fn with_figures(repository: &Path, readme: &str) -> Result<String, Problem> {
    let outputs = repository.join("book/outputs");
    let mut lines: Vec<String> = readme.lines().map(str::to_owned).collect();
    for (name, head, end) in [
        ("speed.md", "| preset | level 1 | PyTorch | level 1 is |", "`scripts/compare-speed.py`."),
        ("accuracy.md", "| preset | level 1 | PyTorch | largest", "`scripts/compare-accuracy.py`."),
    ] {
        let table = read(&outputs.join(name))?;
        let first = lines.iter().position(|line| line.starts_with(head));
        let last = lines.iter().position(|line| line.ends_with(end));
        let (Some(first), Some(last)) = (first, last.filter(|last| first <= Some(*last))) else {
            return Err(Problem::new("README.md", format!("the table of {name} is missing")));
        };
        lines.splice(first..=last, table.trim_end().lines().map(str::to_owned));
    }
    let accuracy = read(&outputs.join("accuracy.md"))?;
    let pytorch = first_accuracy_of_pytorch(&accuracy).ok_or_else(|| {
        Problem::new("accuracy.md", "the row of `small` has no accuracy of PyTorch")
    })?;
    set(&mut lines, "reference", "", &format!("{pytorch} %"))?;
    for (level, name) in TRAINED {
        let session = read(&outputs.join(name))?;
        let (seconds, accuracy) = time_and_accuracy(&session)
            .ok_or_else(|| Problem::new(name, "it prints no seconds or no accuracy"))?;
        let emulated = if level == TRAINED[0].0 { "" } else { ", emulated" };
        set(&mut lines, level, &format!("{seconds} s{emulated}"), &format!("{accuracy} %"))?;
    }
    Ok(lines.join("\n") + "\n")
}

/// Sets the last two cells of the row that begins with `name`.
fn set(lines: &mut [String], name: &str, time: &str, accuracy: &str) -> Result<(), Problem> {
    let row = lines
        .iter_mut()
        .find(|line| line.starts_with(&format!("| `{name}`")) && line.ends_with(" % |"))
        .ok_or_else(|| Problem::new("README.md", format!("the table of levels lacks {name}")))?;
    let mut cells: Vec<&str> = row.split(" |").collect();
    // The cell after the last bar is empty; the two cells before it are set.
    let count = cells.len();
    let (time, accuracy) = (format!(" {time}"), format!(" {accuracy}"));
    let time = time.trim_end();
    cells[count - 3] = time;
    cells[count - 2] = &accuracy;
    *row = cells.join(" |");
    Ok(())
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

    #[test]
    fn the_last_two_cells_of_a_row_are_set() {
        let mut lines =
            vec!["| `a` | about `a` | 1 s | 2 % |".to_owned(), "| `b` | x | | 3 % |".into()];
        set(&mut lines, "a", "4.50 s, emulated", "5.00 %").unwrap();
        set(&mut lines, "b", "", "6 %").unwrap();
        assert_eq!(
            lines,
            ["| `a` | about `a` | 4.50 s, emulated | 5.00 % |", "| `b` | x | | 6 % |"]
        );
        assert!(set(&mut lines, "c", "", "").is_err());
    }
}
