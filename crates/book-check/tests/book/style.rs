//! The rules for prose, over the whole repository.

use book_check::{repository, style};

#[test]
fn no_construction_that_contributing_rules_out_is_used() {
    let problems = style::check(&repository()).unwrap();
    let list: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(list.is_empty(), "\n{}\n{} findings", list.join("\n"), list.len());
}
