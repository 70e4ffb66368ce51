//! The class of the largest output, and how many batches are trained before somebody asks.

use super::*;

#[test]
fn the_largest_output_wins_and_the_first_on_a_tie() {
    assert_eq!(largest(&[0.1, 0.7, 0.7, 0.2]), 1);
    assert_eq!(largest(&[-3.0, -2.0, -5.0]), 1);
}

/// The batches that the loop reports, tests after, or ends with are the last ones of their launches, and
/// no others are, whatever comes first.
#[test]
fn launches_of_many_batches_end_where_somebody_asks() {
    let mut preset = Preset::find("small").unwrap();
    for (report, test, planned) in
        [(20, None, 234), (1, None, 9), (7, Some(4), 60), (100, Some(1), 5)]
    {
        preset.report_every = report;
        preset.evaluate_every = test;
        let mut asked = Vec::new();
        let mut done = 0;
        while done < planned {
            done += batches_unasked(&preset, done, planned);
            asked.push(done);
        }
        let expected: Vec<usize> = (1..=planned)
            .filter(|&done| {
                let reported = (done - 1).is_multiple_of(report);
                reported || test.is_some_and(|every| done.is_multiple_of(every)) || done == planned
            })
            .collect();
        assert_eq!(asked, expected);
    }
}
