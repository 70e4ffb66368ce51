//! The overlap of collectives with kernels.

use std::time::Duration;

use gpu::ActivityKind;

use crate::totals::Span;

/// Describes the overlap in a line of text; `None` if there were no collectives.
///
/// On the emulated GPU, kernels and collectives share the host's processor, so times mean nothing. The line only states
/// how many collectives overlapped a kernel, because these could overlap it on hardware too.
pub(crate) fn line(spans: &[Span]) -> Option<String> {
    let of = |kind| spans.iter().filter(move |span| span.kind == kind);
    let stretch = |span: &Span| (span.start, span.start + span.time);
    let mut kernels: Vec<_> = of(ActivityKind::Kernel).map(stretch).collect();
    kernels.sort_unstable();
    let sent: Vec<_> = of(ActivityKind::Collective).map(stretch).collect();
    if sent.is_empty() {
        return None;
    }
    let overlapping = sent.iter().filter(|one| covered(**one, &kernels) > Duration::ZERO).count();
    Some(format!("{overlapping} of {} collectives ran while a kernel did", sent.len()))
}

/// The part of an interval that is covered by at least one of `others`, as a duration. `others` are in order of their
/// starts.
fn covered((from, to): (Duration, Duration), others: &[(Duration, Duration)]) -> Duration {
    let (mut sum, mut at) = (Duration::ZERO, from);
    for &(start, end) in others {
        if start >= to {
            break;
        }
        let (start, end) = (start.max(at), end.min(to));
        if start < end {
            sum += end - start;
            at = end;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use gpu::Work;

    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn overlapping_intervals_are_counted_once() {
        let others = [(ms(0), ms(4)), (ms(2), ms(5)), (ms(7), ms(9)), (ms(20), ms(30))];
        assert_eq!(covered((ms(3), ms(8)), &others), ms(3));
        assert_eq!(covered((ms(5), ms(7)), &others), ms(0));
        assert_eq!(covered((ms(0), ms(40)), &others), ms(17));
    }

    #[test]
    fn the_line_needs_collectives() {
        let span = |kind, start, time| {
            let work = Work { operation: "it", bytes: 0, flops: 0 };
            Span { work, kind, start: ms(start), time: ms(time) }
        };
        assert_eq!(line(&[span(ActivityKind::Kernel, 0, 5), span(ActivityKind::Copy, 0, 5)]), None);
        let said = line(&[
            span(ActivityKind::Kernel, 0, 5),
            span(ActivityKind::Collective, 4, 2),
            span(ActivityKind::Collective, 6, 2),
        ]);
        assert_eq!(said.unwrap(), "1 of 2 collectives ran while a kernel did");
    }
}
