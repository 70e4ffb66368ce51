//! A profile as a text table: one row per kernel or kind of copy, and its times or counts.

use std::ops::RangeInclusive;

use gpu::ActivityKind;

use crate::counts::Counts;
use crate::totals::{Total, Totals};

/// The table for a real GPU: times, and rates computed from them.
pub(crate) fn lines_with_times(device: &str, totals: &Totals) -> Vec<String> {
    let whole: f64 = totals.iter().map(|total| total.time.as_secs_f64()).sum();
    let mut rows = vec![
        ["", "launches", "ms", "share", "us each", "GB/s", "GFLOP/s"].map(String::from).to_vec(),
    ];
    for total in totals.sorted_by(|total| total.time.as_nanos()) {
        let seconds = total.time.as_secs_f64();
        let rate = |amount: usize| match amount {
            0 => String::new(),
            amount => format!("{:.1}", 1e-9 * amount as f64 / seconds.max(1e-9)),
        };
        rows.push(vec![
            label(total),
            total.launches.to_string(),
            format!("{:.3}", 1e3 * seconds),
            format!("{:.1} %", 100.0 * seconds / whole.max(1e-9)),
            format!("{:.1}", 1e6 * seconds / total.launches as f64),
            rate(total.bytes),
            rate(total.flops),
        ]);
    }
    let title = format!("{:.3} ms in kernels and copies on {device}", 1e3 * whole);
    [vec![title], aligned(&rows)].concat()
}

/// The table for the emulated GPU: counts. Its times would mean nothing for a real GPU.
pub(crate) fn lines_with_counts(
    device: &str,
    totals: &Totals,
    counts: impl Fn(&str) -> Counts,
    occupancy: impl Fn(&str) -> Option<RangeInclusive<f64>>,
) -> Vec<String> {
    let of = |total: &Total| match total.kind {
        ActivityKind::Kernel => counts(total.name),
        ActivityKind::Copy | ActivityKind::Collective => Counts::default(),
    };
    let whole: u64 = totals.iter().map(|total| of(total).thread_instructions).sum();
    let all: Counts = totals.iter().map(of).sum();
    // An empty column is left out.
    let columns = [
        (["", ""], true),
        (["", "launches"], true),
        (["instr.,", "M"], whole > 0),
        (["", "lanes"], whole > 0),
        // The number of sectors per request of a warp.
        (["sec-", "tors"], all.global_requests > 0),
        (["MB at", "least"], true),
        (["MB", "global"], all.global_requests > 0),
        (["MB", "shared"], all.shared_requests > 0),
        (["FMA,", "M"], all.fma_multiply_adds > 0),
        (["tensor,", "M"], all.tensor_multiply_adds > 0),
        (["FLOP/", "byte"], all.global_requests > 0),
        (["occu-", "pancy"], whole > 0),
    ];
    let mut rows: Vec<Vec<String>> =
        (0..2).map(|line| columns.map(|(words, _)| words[line].to_owned()).to_vec()).collect();
    let key =
        |total: &Total| (u128::from(of(total).thread_instructions) << 64) | total.bytes as u128;
    for total in totals.sorted_by(key) {
        let counts = of(total);
        let millions = |amount: u64| format!("{:.1}", 1e-6 * amount as f64);
        // An emulated library computes on the host's processor, so no instructions are counted for it.
        let counted = total.kind == ActivityKind::Kernel && counts.warp_instructions > 0;
        let kernel = |text: String| if counted { text } else { String::new() };
        let where_any = |amount: u64, text: String| match amount {
            0 => String::new(),
            _ => text,
        };
        let ratio = |a: u64, b: u64| format!("{:.1}", a as f64 / b.max(1) as f64);
        rows.push(vec![
            label(total),
            total.launches.to_string(),
            kernel(millions(counts.thread_instructions)),
            kernel(ratio(counts.thread_instructions, counts.warp_instructions)),
            where_any(counts.global_requests, ratio(counts.global_sectors, counts.global_requests)),
            millions(total.bytes as u64),
            kernel(millions(counts.global_bytes())),
            where_any(counts.shared_requests, millions(counts.shared_bytes())),
            where_any(counts.fma_multiply_adds, millions(counts.fma_multiply_adds)),
            where_any(counts.tensor_multiply_adds, millions(counts.tensor_multiply_adds)),
            kernel(counts.intensity().map_or_else(String::new, |each| format!("{each:.2}"))),
            kernel(occupancy(total.name).map_or_else(String::new, |share| percent(&share))),
        ]);
    }
    for row in &mut rows {
        let mut shown = columns.iter().map(|(_, shown)| *shown);
        row.retain(|_| shown.next().unwrap_or(true));
    }
    let title = format!(
        "{:.1} million instructions of threads on {device}; no times, since these would be its own",
        1e-6 * whole as f64
    );
    [vec![title], aligned(&rows)].concat()
}

/// Formats an occupancy, or a range of occupancies, in per cent.
fn percent(share: &RangeInclusive<f64>) -> String {
    let (least, most) =
        (format!("{:.0}", 100.0 * share.start()), format!("{:.0}", 100.0 * share.end()));
    if least == most { format!("{most} %") } else { format!("{least}–{most} %") }
}

fn label(total: &Total) -> String {
    match total.kind {
        ActivityKind::Copy => format!("copy {}", total.name),
        ActivityKind::Kernel | ActivityKind::Collective => total.name.to_owned(),
    }
}

/// Pads columns to their widest cell. The first column is left-aligned, the others are right-aligned.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") }
        });
        cells.collect::<String>().trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gpu::Work;

    use super::*;

    fn totals() -> Totals {
        let mut totals = Totals::default();
        let relu = Work { operation: "relu", bytes: 8_000, flops: 1_000 };
        let input = Work { operation: "to the device", bytes: 4_000_000, flops: 0 };
        totals.add(relu, ActivityKind::Kernel, Duration::from_micros(1));
        totals.add(input, ActivityKind::Copy, Duration::from_micros(400));
        totals.add(relu, ActivityKind::Kernel, Duration::from_micros(3));
        totals
    }

    #[test]
    fn times_become_rates() {
        let lines = lines_with_times("Some Card", &totals());
        assert_eq!(lines[0], "0.404 ms in kernels and copies on Some Card");
        assert_eq!(lines[1], "                    launches     ms   share  us each  GB/s  GFLOP/s");
        assert_eq!(lines[2], "copy to the device         1  0.400  99.0 %    400.0  10.0");
        assert_eq!(lines[3], "relu                       2  0.004   1.0 %      2.0   4.0      0.5");
    }

    fn lines(counts: Counts, occupancy: Option<RangeInclusive<f64>>) -> Vec<String> {
        let of = |name: &str| if name == "relu" { counts } else { Counts::default() };
        lines_with_counts("emulated (…)", &totals(), of, |_| occupancy.clone())
    }

    #[test]
    fn a_table_of_counts_has_no_times() {
        let counts = Counts {
            warp_instructions: 1_000_000,
            thread_instructions: 30_000_000,
            global_requests: 31_250,
            global_sectors: 100_000,
            shared_requests: 1,
            shared_passes: 25_000,
            fma_multiply_adds: 4_000_000,
            tensor_multiply_adds: 12_000_000,
            single_operations: 800_000,
            ..Counts::default()
        };
        let lines = lines(counts, Some(0.5..=0.5));
        assert!(lines[0].starts_with("30.0 million instructions of threads on emulated (…)"));
        let said = [
            "                              instr.,         sec-  MB at      MB      MB  FMA,  tensor,  \
             FLOP/  occu-",
            "                    launches        M  lanes  tors  least  global  shared     M        M   \
             byte  pancy",
            "relu                       2     30.0   30.0   3.2    0.0     3.2     3.2   4.0     12.0  \
             10.25   50 %",
        ];
        assert_eq!(lines[1..4], said);
        assert_eq!(lines[4], "copy to the device         1                          4.0");
        assert!(!lines.concat().contains("GB/s"), "no rates");
        assert_eq!(percent(&(0.25..=0.5)), "25–50 %");
        // This table has every column and is 102 characters wide; usual tables have fewer columns and fit in 100.
        assert!(lines[1..].iter().all(|line| line.chars().count() <= 102), "{lines:?}");
    }

    #[test]
    fn an_empty_column_is_left_out() {
        let counts = Counts {
            warp_instructions: 1_000_000,
            thread_instructions: 32_000_000,
            global_requests: 31_250,
            global_sectors: 100_000,
            ..Counts::default()
        };
        let of_some = lines(counts, Some(1.0..=1.0));
        let head: Vec<&str> = of_some[2].split_whitespace().collect();
        assert_eq!(head, ["launches", "M", "lanes", "tors", "least", "global", "byte", "pancy"]);
        assert_eq!(
            of_some[3].split_whitespace().collect::<Vec<_>>(),
            ["relu", "2", "32.0", "32.0", "3.2", "0.0", "3.2", "0.00", "100", "%"]
        );
        let of_none = lines(Counts::default(), None);
        assert_eq!(of_none[2].split_whitespace().collect::<Vec<_>>(), ["launches", "least"]);
        assert_eq!(of_none[4].split_whitespace().collect::<Vec<_>>(), ["relu", "2", "0.0"]);
    }
}
