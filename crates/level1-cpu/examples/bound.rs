//! The bound of a training step of each preset on this machine, with its parts.
//!
//!     cargo run -p level1-cpu --example bound

use level1_cpu::bound::Machine;
use training::Preset;

fn main() -> std::process::ExitCode {
    host::main(|| match host::print(&bounds()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            host::complain(format_args!("error: standard output: {error}"));
            std::process::ExitCode::FAILURE
        }
    })
}

fn bounds() -> String {
    let machine = Machine::measure();
    let mut text = format!(
        "sgemm {:.0} GFLOP/s, reading from memory {:.0} GB/s\n\n\
         {:<10}{:>12}{:>10}{:>12}{:>16}\n",
        machine.gflops, machine.memory, "", "arithmetic", "x", "weights", "at most"
    );
    for preset in Preset::presets() {
        let bound = machine.bound(&preset);
        let [arithmetic, memory, weights] =
            [bound.arithmetic, bound.memory, bound.weights].map(|seconds| 1e6 * seconds);
        let rate = preset.batch_size as f64 / bound.seconds();
        text += &format!(
            "{:<10}{arithmetic:>9.1} µs{memory:>7.1} µs{weights:>9.1} µs{rate:>14.0}/s\n",
            preset.name
        );
    }
    text + "\nMicroseconds of a step for its products, for reading x from memory, and for reading and writing the \
            weights; samples per second if the longest of the three hides the others.\n"
}
