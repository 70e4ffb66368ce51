//! Message for wrong numbers.

use super::Message;
use super::memory::written;
use super::patterns::{ComparedNumbers, pattern};
use crate::case::{Buffer, Data};
use crate::outcome::Wrong;

/// Names the first wrong number, and explains the pattern that the wrong numbers have, if there is
/// one.
pub(crate) fn numbers(buffer: &Buffer, got: &Data, wrong: &Wrong) -> Message {
    let (name, count) = (&wrong.buffer, wrong.wrong.iter().filter(|&&wrong| wrong).count());
    let first = wrong.wrong.iter().position(|&wrong| wrong).unwrap_or_default();
    let expected = wrong.expected[first];
    // The expected number is printed with no more digits than a `float` has.
    let expected = match got {
        Data::U32(_) => expected.to_string(),
        Data::F32(_) => (expected as f32).to_string(),
    };
    let mut what = format!(
        "{name}{} should be {expected}, but is {}.",
        written(&wrong.first),
        got.show(first)
    );
    if wrong.wrong.len() > 1 {
        what.push_str(&match count {
            all if all == wrong.wrong.len() => format!(" All {all} elements are wrong."),
            1 => format!(" The other {} are right.", wrong.wrong.len() - 1),
            some => format!(" {some} of {} elements are wrong.", wrong.wrong.len()),
        });
    }
    if buffer.after.is_none() {
        let teach = format!(
            "{name} is an input: the kernel reads it and must not change it. Which pointer does \
             the line write through?"
        );
        return Message::new(what, teach);
    }
    let seen = ComparedNumbers::new(buffer, got, wrong);
    let teach = buffer
        .suspects
        .iter()
        .find(|suspect| seen.is(&suspect.values))
        .map(|suspect| suspect.says.to_owned())
        .or_else(|| pattern(&seen))
        .unwrap_or_else(|| {
            "These numbers follow no known pattern. Take the first wrong element, work out by hand \
             which threads contribute to it and how much each should add, and compare that with \
             the kernel."
                .into()
        });
    Message::new(what, teach)
}
