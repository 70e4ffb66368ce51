//! The hunt: the list of bugs, the description of one, and the check of a guess.

use std::fmt::Write;
use std::path::Path;

use tensor::{Dump, DumpedTensor, TensorName};
use tensor_diff::{Divergence, Row, RunComparison, Step, compare_runs, judge_run};

use crate::bugs::BUGS;
use crate::step::{Line, lines, run};

/// The number of elements of the first wrong tensor that a description shows.
const MAX_SHOWN: usize = 4;

/// The answer to a guess, as a sentence.
pub enum Reply {
    /// The guess is right.
    Solved(String),
    /// The guess is wrong.
    Wrong(String),
}

/// The symptoms of a bug: how a run with it differs from the reference.
pub struct Symptoms {
    /// The index of the first step that differs.
    pub step: usize,
    /// The verdicts on the tensors of that step.
    pub rows: Vec<Row>,
    /// The first wrong tensor, its operation, and the likely mistake.
    pub fault: Divergence,
    /// The elements of that tensor that are furthest off.
    pub elements: Vec<Element>,
}

/// An element of a wrong tensor.
pub struct Element {
    /// The element's tensor and indices, such as `z2[0, 3]`.
    pub place: String,
    /// The value with the bug.
    pub wrong: f64,
    /// The reference's value.
    pub right: f64,
}

/// The text that lists the lines of the step, and the bugs.
#[must_use]
pub fn list() -> String {
    let mut text = String::from("The step without a bug:\n\n");
    for line in lines() {
        let _ = writeln!(text, "    {line}");
    }
    text += "\nIn each bug, one line is wrong. `before(y)` is the `y` of the step before.\n\n";
    for (index, bug) in BUGS.iter().enumerate() {
        let _ =
            writeln!(text, "{:>4}  on the batch of reference/dumps/{}.json", index + 1, bug.run);
    }
    text + "\nBegin with: cargo run -p bug-hunt -- 1\n"
}

/// Compares a run that has a bug with its reference.
///
/// # Errors
/// If the runs can't be compared, or don't differ.
pub fn symptoms(right: &[Dump], wrong: &[Dump]) -> Result<Symptoms, String> {
    let found = compare_runs(right, wrong, 1.0)?;
    let (at, step) = first_faulty(&found).ok_or("no tensor of this bug is wrong")?;
    let rows = step.comparison.as_ref().ok_or("nothing was compared")?.rows.to_vec();
    let fault = step.first_fault().ok_or("nothing differs")?.clone();
    let mut elements = Vec::new();
    if let (Some(right), Some(wrong)) = (right[at].get(fault.tensor), wrong[at].get(fault.tensor)) {
        elements.extend(farthest(right, wrong).into_iter().map(|index| Element {
            place: format!("{}{:?}", fault.tensor, place(index, &right.shape)),
            wrong: wrong.data[index],
            right: right.data[index],
        }));
    }
    Ok(Symptoms { step: at, rows, fault, elements })
}

/// Describes the symptoms of a bug, and lists the commands that a reader can run next.
///
/// # Errors
/// If the runs can't be compared.
pub fn describe(
    number: u8,
    (reference, right): (&Path, &[Dump]),
    (path, wrong): (&Path, &[Dump]),
) -> Result<String, String> {
    let found = symptoms(right, wrong)?;
    let names: Vec<String> = found
        .rows
        .iter()
        .filter(|row| row.verdict.is_mismatch())
        .map(|row| row.name.to_string())
        .collect();
    let (reference, path) = (host::shown(reference), host::shown(path));
    let steps = if right.len() == 1 { "one step".into() } else { format!("{} steps", right.len()) };
    let mut text = format!("{path} is a dump of {steps} with a bug in one line.\n");
    let in_step = if right.len() == 1 { String::new() } else { format!(" in step {}", found.step) };
    let _ = writeln!(text, "Tensors that differ from {reference}{in_step}: {}.\n", names.join(" "));
    let head = "element";
    let _ = writeln!(text, "{head:<14}{:>14}{:>14}", "with the bug", "reference");
    for Element { place, wrong, right } in &found.elements {
        let _ = writeln!(text, "{place:<14}{wrong:>14.5e}{right:>14.5e}");
    }
    let first = found.fault.tensor;
    let _ = writeln!(
        text,
        "\nWhich line is wrong, and how does it read? Check your guess:\n  \
         cargo run -p bug-hunt -- {number} --guess '{first} = …'\n\
         Or let tensor-diff look:\n  \
         cargo run -p tensor-diff -- {reference} {path}"
    );
    Ok(text)
}

/// The first step in which the two runs differ, with its index.
fn first_faulty(found: &RunComparison) -> Option<(usize, &Step)> {
    found.steps.iter().enumerate().find(|(_, step)| step.first_fault().is_some())
}

/// The indices of the elements with the largest errors, in ascending order. An error of NaN is the
/// largest.
fn farthest(right: &DumpedTensor, wrong: &DumpedTensor) -> Vec<usize> {
    let error = |&index: &usize| (right.data[index] - wrong.data[index]).abs();
    let mut all: Vec<usize> = (0..right.data.len()).collect();
    all.sort_by(|a, b| error(b).total_cmp(&error(a)));
    all.truncate(MAX_SHOWN);
    all.sort_unstable();
    all
}

/// The index along each axis of the element at this flat index.
fn place(index: usize, shape: &[usize]) -> Vec<usize> {
    match shape {
        [_, columns] => vec![index / columns, index % columns],
        [_] => vec![index],
        _ => Vec::new(),
    }
}

/// Checks a guess of which line is wrong; `name` is the tensor that the line computes.
#[must_use]
pub fn pick(wrong: &[Dump], name: TensorName) -> Reply {
    if first_wrong(wrong) == Some(name) {
        Reply::Solved(format!("Right: the line of {name} is wrong."))
    } else {
        Reply::Wrong(is_right(name))
    }
}

/// The first tensor of a run that is wrong by itself.
fn first_wrong(wrong: &[Dump]) -> Option<TensorName> {
    let judged = judge_run(wrong, 1.0);
    judged.first_faulty().and_then(Step::first_fault).map(|fault| fault.tensor)
}

fn is_right(name: TensorName) -> String {
    format!("No: {name} of the dump is the result of its right formula on the dump's own inputs.")
}

/// Checks a guess of the wrong line: the guess is right if a step with that line reproduces every
/// tensor of the dump.
///
/// # Errors
/// If the guess can't be evaluated.
pub fn check(right: &[Dump], wrong: &[Dump], guess: Line, written: &str) -> Result<Reply, String> {
    let name = guess.tensor;
    let guessed = run(right, &[guess])?;
    if agrees(&guessed, wrong)? {
        return Ok(Reply::Solved(format!("Right: `{written}` makes every tensor of the dump.")));
    }
    if agrees(&run(right, &[])?, &guessed)? {
        return Ok(Reply::Wrong(format!("Not this: that line of {name} has no bug.")));
    }
    Ok(Reply::Wrong(if first_wrong(wrong) == Some(name) {
        format!("{name} is the wrong tensor, but this formula makes other numbers.")
    } else {
        is_right(name)
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
    // Only differences between the two runs count, not whether each is right: both may have the
    // same bug.
    let compared = compare_runs(&one, &other, 1.0)?;
    let mut rows = compared.steps.iter().filter_map(|step| step.comparison.as_ref());
    Ok(rows.all(|found| found.rows.iter().all(|row| !row.verdict.is_mismatch())))
}
