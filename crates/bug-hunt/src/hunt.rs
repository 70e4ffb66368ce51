//! The hunt: the list of bugs, the description of one, and the check of a guess.

use std::fmt::Write;
use std::path::Path;

use tensor::{Dump, DumpedTensor};
use tensor_diff::{RunComparison, Step, compare_runs, judge_run};

use crate::bugs::BUGS;
use crate::step::{Line, run};

/// The number of elements of the first wrong tensor that a description shows.
const SHOWN: usize = 4;

/// The answer to a guess.
pub(crate) enum Reply {
    Solved(String),
    Wrong(String),
}

/// The lines of the step, and the bugs.
pub(crate) fn list() -> String {
    let mut text = String::from("The step without a bug:\n\n");
    for line in include_str!("step.txt").lines() {
        let _ = writeln!(text, "    {line}");
    }
    text += "\nIn each bug, one line is wrong. `before(y)` is the `y` of the step before.\n\n";
    for (index, bug) in BUGS.iter().enumerate() {
        let _ =
            writeln!(text, "{:>4}  on the batch of reference/dumps/{}.json", index + 1, bug.run);
    }
    text + "\nBegin with: cargo run -p bug-hunt -- 1\n"
}

/// The symptoms of a bug, and the commands that go on from there.
///
/// # Errors
/// If the runs can't be compared.
pub(crate) fn describe(
    number: u8,
    (reference, right): (&Path, &[Dump]),
    (path, wrong): (&Path, &[Dump]),
) -> Result<String, String> {
    let found = compare_runs(right, wrong, 1.0)?;
    let (at, step) = first_faulty(&found).ok_or("no tensor of this bug is wrong")?;
    let rows = &step.comparison.as_ref().ok_or("nothing was compared")?.rows;
    let names: Vec<String> = rows
        .iter()
        .filter(|row| row.verdict.is_mismatch())
        .map(|row| row.name.to_string())
        .collect();
    let (reference, path) = (host::shown(reference), host::shown(path));
    let steps = if right.len() == 1 { "one step".into() } else { format!("{} steps", right.len()) };
    let mut text = format!("{path} is a dump of {steps} with a bug in one line.\n");
    let in_step = if right.len() == 1 { String::new() } else { format!(" in step {at}") };
    let _ = writeln!(text, "Tensors that differ from {reference}{in_step}: {}.\n", names.join(" "));
    let first = step.first_fault().map(|fault| fault.tensor).ok_or("nothing differs")?;
    if let (Some(right), Some(wrong)) = (right[at].get(first), wrong[at].get(first)) {
        let head = "element";
        let _ = writeln!(text, "{head:<14}{:>14}{:>14}", "with the bug", "reference");
        for index in farthest(right, wrong) {
            let place = format!("{first}{:?}", place(index, &right.shape));
            let (right, wrong) = (right.data[index], wrong.data[index]);
            let _ = writeln!(text, "{place:<14}{wrong:>14.5e}{right:>14.5e}");
        }
    }
    let _ = writeln!(
        text,
        "\nWhich line is wrong, and how does it read? Check your guess:\n  \
         cargo run -p bug-hunt -- {number} --guess '{first} = …'\n\
         Or let tensor-diff look:\n  \
         cargo run -p tensor-diff -- {reference} {path}"
    );
    Ok(text)
}

/// The index of the first step that differs, and the step.
fn first_faulty(found: &RunComparison) -> Option<(usize, &Step)> {
    found.steps.iter().enumerate().find(|(_, step)| step.first_fault().is_some())
}

/// The elements with the largest errors, in their order in memory. NaN is farthest.
fn farthest(right: &DumpedTensor, wrong: &DumpedTensor) -> Vec<usize> {
    let error = |&index: &usize| (right.data[index] - wrong.data[index]).abs();
    let mut all: Vec<usize> = (0..right.data.len()).collect();
    all.sort_by(|a, b| error(b).total_cmp(&error(a)));
    all.truncate(SHOWN);
    all.sort_unstable();
    all
}

/// The indices of an element along each axis.
fn place(index: usize, shape: &[usize]) -> Vec<usize> {
    match shape {
        [_, columns] => vec![index / columns, index % columns],
        [_] => vec![index],
        _ => Vec::new(),
    }
}

/// Checks a guess: it is right if the step with that line makes every tensor of the dump.
///
/// # Errors
/// If the guess can't be evaluated.
pub(crate) fn check(
    right: &[Dump],
    wrong: &[Dump],
    guess: Line,
    written: &str,
) -> Result<Reply, String> {
    let name = guess.tensor;
    let guessed = run(right, &[guess])?;
    if agrees(&guessed, wrong)? {
        return Ok(Reply::Solved(format!("Right: `{written}` makes every tensor of the dump.")));
    }
    if agrees(&run(right, &[])?, &guessed)? {
        return Ok(Reply::Wrong(format!("Not this: that line of {name} has no bug.")));
    }
    let judged = judge_run(wrong, 1.0);
    let fault = judged.first_faulty().and_then(Step::first_fault);
    Ok(Reply::Wrong(if fault.is_some_and(|fault| fault.tensor == name) {
        format!("{name} is the wrong tensor, but this formula makes other numbers.")
    } else {
        format!(
            "No: {name} of the dump is the result of its right formula on the dump's own inputs."
        )
    }))
}

/// Whether two runs agree within the derived bounds. Two elements that are both NaN agree.
fn agrees(one: &[Dump], other: &[Dump]) -> Result<bool, String> {
    let (mut one, mut other) = (one.to_vec(), other.to_vec());
    let tensors = one.iter_mut().zip(&mut other);
    for (a, b) in tensors.flat_map(|(one, other)| one.tensors.iter_mut().zip(&mut other.tensors)) {
        for (a, b) in a.data.iter_mut().zip(&mut b.data).filter(|(a, b)| a.is_nan() && b.is_nan()) {
            (*a, *b) = (0.0, 0.0);
        }
    }
    // Only the differences count: both runs may have the same bug.
    let compared = compare_runs(&one, &other, 1.0)?;
    let mut rows = compared.steps.iter().filter_map(|step| step.comparison.as_ref());
    Ok(rows.all(|found| found.rows.iter().all(|row| !row.verdict.is_mismatch())))
}
