//! The profile as a table.

use super::totals::{Kind, Total, Totals};
use crate::counts::Counts;

/// Rates from times: what a real GPU did.
pub(super) fn timed(device: &str, totals: &Totals) -> Vec<String> {
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

/// Counts: what the emulated GPU did. Its times would say nothing about a GPU.
pub(super) fn counted(
    device: &str,
    totals: &Totals,
    counts: impl Fn(&str) -> Counts,
) -> Vec<String> {
    let of = |total: &Total| match total.kind {
        Kind::Kernel => counts(total.name),
        Kind::Copy | Kind::Collective => Counts::default(),
    };
    let whole: u64 = totals.iter().map(|total| of(total).thread_instructions).sum();
    let heading =
        ["", "launches", "MB", "instructions", "share", "lanes", "sectors/request", "divergent"];
    let mut rows = vec![heading.map(String::from).to_vec()];
    let key =
        |total: &Total| (u128::from(of(total).thread_instructions) << 64) | total.bytes as u128;
    for total in totals.sorted_by(key) {
        let counts = of(total);
        let ratio = |a: u64, b: u64| match b {
            0 => String::new(),
            b => format!("{:.1}", a as f64 / b as f64),
        };
        // What a library computes on this machine's processor has no instructions.
        let counted = total.kind == Kind::Kernel && counts.warp_instructions > 0;
        let kernel = |text: String| if counted { text } else { String::new() };
        rows.push(vec![
            label(total),
            total.launches.to_string(),
            format!("{:.1}", 1e-6 * total.bytes as f64),
            kernel(format!("{:.1} M", 1e-6 * counts.thread_instructions as f64)),
            kernel(format!(
                "{:.1} %",
                100.0 * counts.thread_instructions as f64 / whole.max(1) as f64
            )),
            kernel(ratio(counts.thread_instructions, counts.warp_instructions)),
            kernel(ratio(counts.global_sectors, counts.global_requests)),
            kernel(counts.divergent_branches.to_string()),
        ]);
    }
    let title = format!(
        "{:.1} million instructions of threads on {device}; no times, since these would be its own",
        1e-6 * whole as f64
    );
    [vec![title], aligned(&rows)].concat()
}

fn label(total: &Total) -> String {
    match total.kind {
        Kind::Copy => format!("copy {}", total.name),
        Kind::Kernel | Kind::Collective => total.name.to_owned(),
    }
}

/// Columns as wide as they need be: the first to the left, numbers to the right.
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

    use super::*;
    use crate::Work;

    fn totals() -> Totals {
        let mut totals = Totals::default();
        let relu = Work { operation: "relu", bytes: 8_000, flops: 1_000 };
        let input = Work { operation: "to the device", bytes: 4_000_000, flops: 0 };
        totals.add(relu, Kind::Kernel, Duration::from_micros(1));
        totals.add(input, Kind::Copy, Duration::from_micros(400));
        totals.add(relu, Kind::Kernel, Duration::from_micros(3));
        totals
    }

    #[test]
    fn times_become_rates() {
        let lines = timed("Some Card", &totals());
        assert_eq!(lines[0], "0.404 ms in kernels and copies on Some Card");
        assert_eq!(lines[1], "                    launches     ms   share  us each  GB/s  GFLOP/s");
        assert_eq!(lines[2], "copy to the device         1  0.400  99.0 %    400.0  10.0");
        assert_eq!(lines[3], "relu                       2  0.004   1.0 %      2.0   4.0      0.5");
    }

    #[test]
    fn counts_stand_alone() {
        let counts = Counts {
            warp_instructions: 1_000_000,
            thread_instructions: 30_000_000,
            global_requests: 1_000,
            global_sectors: 4_000,
            divergent_branches: 7,
            ..Counts::default()
        };
        let lines = counted("emulated (…)", &totals(), |name| {
            if name == "relu" { counts } else { Counts::default() }
        });
        assert!(lines[0].starts_with("30.0 million instructions of threads on emulated (…)"));
        let relu: Vec<&str> = lines[2].split_whitespace().collect();
        assert_eq!(relu, ["relu", "2", "0.0", "30.0", "M", "100.0", "%", "30.0", "4.0", "7"]);
        assert!(lines[3].starts_with("copy to the device         1  4.0"), "{}", lines[3]);
        assert!(!lines.concat().contains("GB/s"), "no rates");
    }
}
