//! Tests that the book agrees with the code, and the prose with the rules.

use book_check::Problem;

/// Fails with the list of problems, if there are any.
#[track_caller]
fn assert_none(problems: impl IntoIterator<Item = Problem>) {
    let list: Vec<String> = problems.into_iter().map(|problem| problem.to_string()).collect();
    assert!(list.is_empty(), "\n{}\n{} problems", list.join("\n"), list.len());
}

mod dependencies;
mod examples;
mod pages;
mod pictures;
mod presets;
mod puzzles;
mod style;
