//! How much of what several GPUs do together is done while kernels run.

use std::time::Duration;

use gpu::ActivityKind;

use crate::totals::Span;

/// A line about it, where there was anything of the kind.
///
/// A kernel has its turn among others on the processor of the emulated GPU, too; what runs beside
/// it there would have had the time to on hardware, and no more is said.
pub(crate) fn line(spans: &[Span]) -> Option<String> {
    let of = |kind| spans.iter().filter(move |span| span.kind == kind);
    let stretch = |span: &Span| (span.start, span.start + span.time);
    let mut kernels: Vec<_> = of(ActivityKind::Kernel).map(stretch).collect();
    kernels.sort_unstable();
    let sent: Vec<_> = of(ActivityKind::Collective).map(stretch).collect();
    if sent.is_empty() {
        return None;
    }
    let beside = sent.iter().filter(|one| covered(**one, &kernels) > Duration::ZERO).count();
    Some(format!("{beside} of {} collectives ran while a kernel did", sent.len()))
}

/// How long of a stretch at least one of these runs, which are in the order of their beginnings.
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
    fn what_overlaps_is_counted_once() {
        let others = [(ms(0), ms(4)), (ms(2), ms(5)), (ms(7), ms(9)), (ms(20), ms(30))];
        assert_eq!(covered((ms(3), ms(8)), &others), ms(3));
        assert_eq!(covered((ms(5), ms(7)), &others), ms(0));
        assert_eq!(covered((ms(0), ms(40)), &others), ms(17));
    }

    #[test]
    fn only_what_is_sent_has_a_line() {
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
