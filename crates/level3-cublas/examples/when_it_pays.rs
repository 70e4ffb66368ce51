//! When several GPUs are faster than one: a model of the time of a training step over ranks, batch and
//! bandwidth. Prints a table, and draws the picture of the book.
//!
//!     cargo run -p level3-cublas --example when_it_pays -- OUT.svg

use std::fmt::Write;

use host::println;

// ANCHOR: figures
/// Peak of an H100 SXM in single precision, in operations per second (NVIDIA's
/// data sheet).
const FLOPS: f64 = 67e12;
/// The GPU's links, in bytes per second in one direction: NVLink (900 GB/s in both), PCIe of
/// generation 5 (128 GB/s in both), and one port of a network card of 400 Gbit/s.
const LINKS: [(&str, f64); 3] = [("NVLink", 450e9), ("PCIe 5", 64e9), ("400 Gbit/s network", 50e9)];
/// Assumptions, because these figures are not published: the share of the peak that products reach,
/// the time of a kernel launch in seconds, and the latency of one step of the ring in seconds.
const REACHED: f64 = 0.5;
const LAUNCH: f64 = 3e-6;
const HOP: f64 = 5e-6;
// ANCHOR_END: figures

/// A network, and the size of the batch that the ranks share.
struct Case {
    name: &'static str,
    sizes: &'static [usize],
    batch: usize,
}

const CASES: [Case; 4] = [
    Case { name: "small", sizes: &[784, 30, 10], batch: 256 },
    Case { name: "large", sizes: &[784, 1024, 10], batch: 32 },
    Case { name: "wide", sizes: &[784, 8192, 8192, 10], batch: 1024 },
    Case { name: "wide, more", sizes: &[784, 8192, 8192, 10], batch: 16_384 },
];

// ANCHOR: model
impl Case {
    /// The total size of the gradients in bytes.
    fn bytes(&self) -> f64 {
        self.sizes.windows(2).map(|n| (n[1] * (n[0] + 1) * 4) as f64).sum()
    }

    /// The time in seconds of a step's kernels for a share of a batch.
    fn kernels(&self, samples: f64) -> f64 {
        let weights = self.sizes.windows(2).map(|n| (n[0] * n[1]) as f64);
        // Each weight takes part in three products of two operations each, except that the first
        // layer needs no `da`.
        let operations: f64 =
            weights.enumerate().map(|(l, n)| n * if l == 0 { 4.0 } else { 6.0 }).sum();
        let launches = (5 * (self.sizes.len() - 1)) as f64;
        launches * LAUNCH + samples * operations / (REACHED * FLOPS)
    }

    /// The time of the all-reduce in seconds. The ring takes 2 (n − 1) steps, each of which
    /// transfers 1/n of the bytes.
    fn ring(&self, ranks: usize, bandwidth: f64) -> f64 {
        let steps = 2.0 * (ranks as f64 - 1.0);
        steps * (HOP + self.bytes() / ranks as f64 / bandwidth)
    }

    /// The time of a training step in seconds. The all-reduce overlaps with the backward pass,
    /// which takes two thirds of the kernels' time. Only the bucket of the first layer cannot
    /// overlap, because its gradient is computed last.
    fn step(&self, ranks: usize, bandwidth: f64) -> f64 {
        let kernels = self.kernels(self.batch as f64 / ranks as f64);
        if ranks == 1 {
            return kernels;
        }
        let ring = self.ring(ranks, bandwidth);
        let first = (self.sizes[1] * (self.sizes[0] + 1) * 4) as f64 / self.bytes();
        kernels + (ring * first).max(ring - kernels * 2.0 / 3.0)
    }

    /// The speedup of several ranks over one.
    fn speedup(&self, ranks: usize, bandwidth: f64) -> f64 {
        self.step(1, bandwidth) / self.step(ranks, bandwidth)
    }
}
// ANCHOR_END: model

const RANKS: [usize; 5] = [1, 2, 4, 8, 16];

fn table() -> String {
    let mut text = String::new();
    for case in &CASES {
        let sizes: Vec<String> = case.sizes.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "{}: {}, batches of {}, {:.1} kB of gradients, {:.1} us of kernels on one GPU",
            case.name,
            sizes.join("-"),
            case.batch,
            1e-3 * case.bytes(),
            1e6 * case.kernels(case.batch as f64)
        );
        for (link, bandwidth) in LINKS {
            let times: Vec<String> = RANKS[1..]
                .iter()
                .map(|&ranks| format!("{ranks} ranks {:>5.2}", case.speedup(ranks, bandwidth)))
                .collect();
            let _ = writeln!(text, "  {link:<18}  {}", times.join("   "));
        }
    }
    text
}

/// Draws the speedup over the number of ranks, with a panel for each network and a line for each link.
fn picture() -> String {
    const COLOURS: [&str; 3] = ["#3b82f6", "#f59e0b", "#22a35a"];
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 700 250\" width=\"700\" height=\"250\" \
         style=\"min-width:600px\" role=\"img\" aria-label=\"How many times faster 1 to 16 ranks are than one in the model, for \
         four networks over three links: the two small ones never are\">\n",
    );
    let text = |svg: &mut String, x: f64, y: f64, anchor: &str, size: f64, words: &str| {
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\" \
             fill=\"currentColor\">{words}</text>"
        );
    };
    for (panel, case) in CASES.iter().enumerate() {
        let left = 44.0 + 166.0 * panel as f64;
        let x = |i: usize| left + 30.0 * i as f64;
        // The axis goes from 1/16 at the bottom to 16 at the top; each power of two has the same height.
        let y = |times: f64| 112.0 - 20.0 * times.log2().clamp(-4.2, 4.2);
        text(&mut svg, left + 60.0, 16.0, "middle", 12.0, case.name);
        for power in [-4, -2, 0, 2, 4] {
            let at = y(2f64.powi(power));
            let opacity = if power == 0 { ".7" } else { ".2" };
            let _ = writeln!(
                svg,
                "<path d=\"M{left:.1} {at:.1} h120\" stroke=\"currentColor\" stroke-width=\".8\" \
                 opacity=\"{opacity}\"/>"
            );
            let label =
                if power < 0 { format!("1/{}", 1 << -power) } else { (1 << power).to_string() };
            if panel == 0 {
                text(&mut svg, left - 6.0, at + 4.0, "end", 10.5, &label);
            }
        }
        for (i, ranks) in RANKS.iter().enumerate() {
            text(&mut svg, x(i), 212.0, "middle", 10.5, &ranks.to_string());
        }
        for ((_, bandwidth), colour) in LINKS.iter().zip(COLOURS) {
            let points: Vec<String> = RANKS
                .iter()
                .enumerate()
                .map(|(i, &ranks)| format!("{:.1},{:.1}", x(i), y(case.speedup(ranks, *bandwidth))))
                .collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                points.join(" ")
            );
        }
    }
    for (i, ((link, _), colour)) in LINKS.iter().zip(COLOURS).enumerate() {
        let left = 120.0 + 170.0 * i as f64;
        let _ =
            writeln!(svg, "<path d=\"M{left} 236 h24\" stroke=\"{colour}\" stroke-width=\"2\"/>");
        text(&mut svg, left + 30.0, 240.0, "start", 11.0, link);
    }
    svg.push_str("</svg>\n");
    svg
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = std::env::args().nth(1).ok_or("usage: when_it_pays OUT.svg")?;
    std::fs::write(out, picture())?;
    println!("{}", table().trim_end());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_one_rank_sends_nothing_and_more_ranks_send_twice_the_bytes_at_most() {
        for case in &CASES {
            assert!(case.step(1, 1.0) == case.kernels(case.batch as f64));
            let sent = case.ring(1_000_000, 1.0) - 2.0 * 999_999.0 * HOP;
            assert!((sent / case.bytes() - 2.0).abs() < 1e-5);
        }
    }

    #[test]
    fn the_book_s_picture_is_the_one_that_is_drawn() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/pictures/when-it-pays.svg");
        assert_eq!(std::fs::read_to_string(path).unwrap(), picture());
    }

    #[test]
    fn small_networks_never_gain() {
        for (_, bandwidth) in LINKS {
            for case in &CASES[..2] {
                assert!(RANKS[1..].iter().all(|&ranks| case.speedup(ranks, bandwidth) < 1.0));
            }
        }
    }
}
