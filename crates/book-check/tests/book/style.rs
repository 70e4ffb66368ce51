//! The rules for prose, over the whole repository.

use book_check::{repository, style};

use crate::assert_none;

#[test]
fn no_construction_that_contributing_rules_out_is_used() {
    assert_none(style::check(&repository()).unwrap());
}
