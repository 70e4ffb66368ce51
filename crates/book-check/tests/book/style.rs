//! Test that the prose of the whole repository follows the rules for style.

use book_check::{repository, style};

use crate::assert_none;

#[test]
fn no_construction_that_contributing_rules_out_is_used() {
    assert_none(style::check(&repository()).unwrap());
}
