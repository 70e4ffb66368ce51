//! CUDA programs, compiled by NVRTC and compared with the same computations on the CPU: tiles and groups of a
//! warp, CUB, 128-bit division, conversions, calls through tables, and idioms of NVIDIA's guide and samples.
//! The PTX was made by `compile.py`; `PROGRAMS` names another folder with PTX.
//!
//! Each program runs without and with all sanitizers, which must not report anything.

mod expected;
mod textures;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use emulated_gpu_test_support::record;
use ptx_emulator::source::Source;
use ptx_emulator::{Checks, Emulator, Launch, Output, RunOptions};

/// The compiled texts of a program.
fn texts(stem: &str) -> Vec<(String, String)> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/compiled");
    let folder = std::env::var_os("PROGRAMS").map_or(kept, PathBuf::from);
    let mut found: Vec<(String, String)> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&format!("{stem}-")))
        .map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap()))
        .collect();
    found.sort();
    assert!(!found.is_empty(), "{stem} has not been compiled");
    found
}

/// The launch and the buffers of a program.
struct Run {
    stem: &'static str,
    cooperative: bool,
    grid: u32,
    block: u32,
    /// The contents of each buffer in words, in the order of the parameters.
    buffers: Vec<Vec<u32>>,
}

impl Run {
    /// A launch of one block with a result buffer and an operand buffer.
    fn new(stem: &'static str, block: u32, results: usize, operands: Vec<u32>) -> Self {
        Self { stem, cooperative: false, grid: 1, block, buffers: vec![vec![0; results], operands] }
    }

    /// Runs every text of the program, without and with sanitizers, and passes its name, the resulting buffers
    /// and the printed text to `judge`.
    fn check(&self, judge: impl Fn(&str, &[Vec<u32>], &str)) {
        let all = Checks { synchronisation: true, initialisation: true, races: true };
        for (name, text) in texts(self.stem) {
            for checks in [Checks::default(), all] {
                let printed: Arc<Mutex<Vec<u8>>> = Arc::default();
                let emulator = Emulator::new(RunOptions {
                    checks,
                    output: Output::to(printed.clone()),
                    instruction_limit: Some(50_000_000),
                    ..RunOptions::default()
                });
                let source = Source { name: name.clone(), text: text.clone() };
                let loaded = emulator.load(source).unwrap_or_else(|diagnostics| {
                    let shown: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
                    panic!("{}", shown.join("\n"))
                });
                let memory = emulator.memory();
                let addresses: Vec<u64> = self
                    .buffers
                    .iter()
                    .map(|words| {
                        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                        let address = memory.allocate(bytes.len() as u64, 16).unwrap();
                        memory.write(address, &bytes).unwrap();
                        address
                    })
                    .collect();
                let launch = Launch {
                    grid: [self.grid, 1, 1],
                    block: [self.block, 1, 1],
                    parameters: addresses.iter().flat_map(|a| a.to_le_bytes()).collect(),
                    cooperative: self.cooperative,
                    ..Launch::default()
                };
                // Twice, because the second launch must work with the state that the first one leaves.
                for _ in 0..2 {
                    let kernel = loaded.kernel("k").unwrap();
                    if let Err(fault) = record::launch(&emulator, &text, &kernel, &launch) {
                        panic!("{name}, {checks:?}: {fault}");
                    }
                    if !["idioms", "grid"].contains(&self.stem) {
                        break;
                    }
                }
                let found: Vec<Vec<u32>> = self
                    .buffers
                    .iter()
                    .zip(&addresses)
                    .map(|(words, &address)| {
                        let mut bytes = vec![0; words.len() * 4];
                        memory.read(address, &mut bytes).unwrap();
                        let words = bytes.chunks(4).map(|b| b.try_into().unwrap());
                        words.map(u32::from_le_bytes).collect()
                    })
                    .collect();
                let printed = String::from_utf8(printed.lock().unwrap().clone()).unwrap();
                judge(&format!("{name}, {checks:?}"), &found, &printed);
            }
        }
    }
}

/// Pseudo-random numbers from Knuth's linear congruential generator.
fn numbers(count: usize) -> Vec<u32> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 ^ (state >> 11) as u32
    };
    (0..count).map(|_| next()).collect()
}

fn check_words(name: &str, found: &[u32], expected: &[u32]) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found, expected, "{name}: word {index}: {found:#x}, expected {expected:#x}");
    }
}

/// Runs a program in one block, with a buffer for the results and one with the operands, and checks the results.
fn check_results(stem: &'static str, block: u32, operands: Vec<u32>, expected: &[u32]) {
    let run = Run::new(stem, block, expected.len(), operands);
    run.check(|name, buffers, _| check_words(name, &buffers[0], expected));
}

#[test]
fn tiles_of_a_warp() {
    let operands = numbers(64);
    let expected = expected::tiles(&operands);
    check_results("tiles", 64, operands, &expected);
}

#[test]
fn groups_by_value() {
    let operands = numbers(96);
    let (kept, expected) = expected::groups(&operands);
    Run::new("groups", 96, 97 + expected.len(), operands).check(|name, buffers, _| {
        // The order in which the warps are counted is unspecified.
        let count = buffers[0][0] as usize;
        let mut found = buffers[0][1..=count].to_vec();
        found.sort_unstable();
        check_words(name, &found, &kept);
        check_words(name, &buffers[0][97..], &expected);
    });
}

#[test]
fn matching_lanes() {
    let operands = numbers(64);
    let expected = expected::matches(&operands);
    check_results("matches", 64, operands, &expected);
}

#[test]
fn division_of_128_bits() {
    let pairs = expected::pairs_of_128_bits(&numbers(1000));
    let words = |value: u128| (0..4).map(move |at| (value >> (32 * at)) as u32);
    let operands = pairs.iter().flat_map(|&(a, b)| words(a).chain(words(b))).collect();
    let expected: Vec<u32> =
        pairs.iter().flat_map(|&(a, b)| expected::int128(a, b)).flat_map(words).collect();
    check_results("int128", pairs.len() as u32, operands, &expected);
}

#[test]
fn cub() {
    let operands = numbers(64);
    let expected = expected::cub(&operands);
    check_results("cub", 64, operands, &expected);
}

#[test]
fn conversions_to_narrow_formats_have_the_expected_bits() {
    let operands = expected::floats(&numbers(128));
    let expected: Vec<u32> = operands.iter().flat_map(|&x| expected::narrow(x)).collect();
    let operands: Vec<u32> = operands.iter().map(|x| x.to_bits()).collect();
    check_results("narrow", 128, operands, &expected);
}

#[test]
fn idioms_of_the_guide() {
    let floats: Vec<f32> = numbers(512).iter().map(|n| (n % 4096) as f32 / 16.0).collect();
    let sum: f64 = floats.iter().copied().map(f64::from).sum();
    let greatest = floats.iter().copied().fold(0.0, f32::max);
    let operands = floats.iter().map(|x| x.to_bits()).collect();
    let buffers = vec![vec![0; 6], vec![0; 16], operands];
    let run = Run { stem: "idioms", cooperative: false, grid: 8, block: 64, buffers };
    run.check(|name, buffers, _| {
        let total = &buffers[0];
        let double =
            |at: usize| f64::from_bits(u64::from(total[at]) | u64::from(total[at + 1]) << 32);
        // The sums have few bits, so they are exact in any order. The kernel has run twice.
        assert_eq!(double(0), sum, "{name}");
        assert_eq!(f32::from_bits(total[2]), greatest, "{name}");
        assert_eq!(double(4), 2.0 * sum, "{name}");
    });
}

#[test]
fn printing() {
    let operands = numbers(64);
    let lines: Vec<String> = (0..64usize)
        .filter(|t| t % 16 == 3)
        .map(|t| {
            let (x, letter) = (operands[t], char::from(b'a' + (t % 26) as u8));
            format!("{t} of block: {:5.2} {letter} {}\n", f64::from(x) / 8.0, -i64::from(x))
        })
        .collect();
    let expected: Vec<u32> = (0..64usize)
        // printf returns the number of its arguments.
        .map(|t| if t % 16 == 3 { 5 } else { operands[t].wrapping_add(1) })
        .collect();
    Run::new("printing", 64, 64, operands).check(|name, buffers, text| {
        let mut found: Vec<&str> = text.split_inclusive('\n').collect();
        let mut wanted: Vec<&str> = lines.iter().map(String::as_str).collect();
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{name}");
        check_words(name, &buffers[0], &expected);
    });
}

#[test]
fn calls_through_tables_and_recursion() {
    let operands = numbers(64);
    let expected: Vec<u32> = operands.iter().flat_map(|&x| expected::calls(x % 1000)).collect();
    check_results("calls", 64, operands, &expected);
}

#[test]
fn libcu_barriers_and_pipelines() {
    let operands = numbers(256);
    let expected = expected::barriers(&operands);
    check_results("barriers", 64, operands, &expected);
}

#[test]
fn bulk_copies() {
    let operands = numbers(256);
    let expected: Vec<u32> =
        operands.chunks(64).flat_map(|tile| tile.iter().rev().map(|x| x.wrapping_mul(3))).collect();
    check_results("bulk", 64, operands, &expected);
}

#[test]
fn cooperative_blocks() {
    let (grid, block) = (6, 64);
    let expected = expected::grid(grid as usize, block as usize);
    let buffers = vec![vec![0; expected.len()], vec![0; 2 * expected.len()]];
    let run = Run { stem: "grid", cooperative: true, grid, block, buffers };
    run.check(|name, buffers, _| check_words(name, &buffers[0], &expected));
}

#[test]
fn tiles_of_several_warps() {
    let operands = numbers(128);
    let expected = expected::wide_tiles(&operands);
    check_results("wide", 128, operands, &expected);
}
