//! Benchmark of the versions of a layer's three products, as multiples of the speed of the definition, all
//! measured in one run.
//!
//!     cargo run -p level1-cpu --example products

#[expect(unreachable_pub, reason = "the book shows them without `pub(crate)`")]
mod loops;

use std::time::Instant;

use level1_cpu::{large_product_gflops, operations};
use loops::{Product, WAYS};

/// Default of the rows and columns of all matrices; the command line may set another number.
const N: usize = 600;
/// The number of rounds. The fastest one counts, because other work of the machine can only slow a round down.
const ROUNDS: usize = 5;
/// The largest size: anything larger would take too long and need too much memory.
const LARGEST: usize = 4096;

fn main() -> std::process::ExitCode {
    host::main(|| {
        let argument = std::env::args().nth(1);
        let n = argument.as_deref().map_or(Ok(N), str::parse);
        match n {
            Ok(n @ 1..=LARGEST) => match host::print(&measure(n)) {
                Ok(()) => std::process::ExitCode::SUCCESS,
                Err(error) => {
                    host::complain(format_args!("error: standard output: {error}"));
                    std::process::ExitCode::FAILURE
                }
            },
            _ => {
                host::complain(format_args!(
                    "error: the size of the matrices is a number from 1 to {LARGEST}"
                ));
                std::process::ExitCode::from(2)
            }
        }
    })
}

fn measure(n: usize) -> String {
    let library: [Product; 3] =
        [operations::matmul_a_bt, operations::matmul_at_b, operations::matmul_a_b];
    let ways: Vec<_> = WAYS.into_iter().chain([("ndarray, one core", library)]).collect();
    let numbers = |step: usize| (0..n * n).map(move |i| (i * step % 17) as f32 / 17.0 - 0.5);
    let (a, b): (Vec<f32>, Vec<f32>) = (numbers(3).collect(), numbers(5).collect());
    let mut c = vec![0.0; n * n];

    let operations = 2e-9 * (n as f64).powi(3);
    let mut fastest = vec![[0.0_f64; 3]; ways.len()];
    let mut large = 0.0_f64;
    for _ in 0..ROUNDS {
        for ((_, products), best) in ways.iter().zip(&mut fastest) {
            for (product, best) in products.iter().zip(best) {
                let clock = Instant::now();
                product(&a, &b, &mut c, n, n, n);
                *best = best.max(operations / clock.elapsed().as_secs_f64());
            }
        }
        large = large.max(large_product_gflops());
    }

    let mut text = format!(
        "products of {n} x {n} numbers, as multiples of the speed of the definition\n\n\
         {:<22}{:>8}{:>8}{:>8}\n",
        "", "a · bᵀ", "aᵀ · b", "a · b"
    );
    for ((name, _), speeds) in ways.iter().zip(&fastest) {
        let [a_bt, at_b, a_b] = [0, 1, 2].map(|which| speeds[which] / fastest[0][which]);
        text += &format!("{name:<22}{a_bt:>8.1}{at_b:>8.1}{a_b:>8.1}\n");
    }
    text + &format!(
        "\nThe definition of a · bᵀ reaches {:.1} GFLOP/s; the library of the fast form, on all cores and \
         larger matrices, {large:.0} GFLOP/s.\n",
        fastest[0][0]
    )
}
