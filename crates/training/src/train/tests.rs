//! The class of the largest output.

use super::*;

#[test]
fn the_largest_output_wins_and_the_first_on_a_tie() {
    assert_eq!(largest(&[0.1, 0.7, 0.7, 0.2]), 1);
    assert_eq!(largest(&[-3.0, -2.0, -5.0]), 1);
}
