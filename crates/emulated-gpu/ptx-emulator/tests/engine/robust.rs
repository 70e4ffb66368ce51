//! Tests with nonsensical programs: each must be rejected, fault, or run to its end.

use emulated_gpu_test_support::random::Random;
use ptx_emulator::source::Source;
use ptx_emulator::{Checks, Emulator, Launch, RunOptions};

const PTX: &str = include_str!("../../benches/kernels/matmul.ptx");

/// Swaps tokens of the same kind, removes and duplicates lines, and changes numbers.
fn mutate(lines: &[&str], random: &mut Random) -> String {
    let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    for _ in 0..1 + random.below(4) {
        let (at, from) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(5) {
            0 => lines[at] = lines[from].clone(),
            1 => lines.swap(at, from),
            2 => {
                let registers = ["%r1", "%r2", "%r5", "%rd1", "%rd3", "%f1", "%f12", "%p1", "%p2"];
                let (old, new) = (registers[random.below(9)], registers[random.below(9)]);
                lines[at] = lines[at].replace(old, new);
            }
            3 => {
                let numbers = ["0", "1", "4", "16", "-1", "2147483647", "18446744073709551615"];
                let (old, new) = (numbers[random.below(4)], numbers[random.below(7)]);
                lines[at] = lines[at].replacen(old, new, 1);
            }
            _ => {
                let types = [
                    ".u32", ".s32", ".f32", ".u64", ".s64", ".b32", ".global", ".shared", ".lo",
                    ".wide",
                ];
                let (old, new) = (types[random.below(10)], types[random.below(10)]);
                lines[at] = lines[at].replace(old, new);
            }
        }
    }
    lines.join("\n")
}

#[test]
fn mutated_kernels_never_crash_the_host() {
    let lines: Vec<&str> = PTX.lines().collect();
    let mut random = Random(2026);
    let checks = Checks { initialisation: true, races: true, synchronisation: true };
    let (mut loaded, mut faults) = (0, 0);
    for round in 0..1500 {
        let checks = if round % 2 == 0 { checks } else { Checks::default() };
        let emulator = Emulator::new(RunOptions {
            deterministic: true,
            checks,
            statistics: round % 3 == 0,
            instruction_limit: Some(20_000),
            ..RunOptions::default()
        });
        let text = mutate(&lines, &mut random);
        let Ok(module) = emulator.load(Source { name: "mutant.ptx".into(), text }) else {
            continue;
        };
        loaded += 1;
        let buffer = emulator.memory().allocate(1 << 12, 4).unwrap();
        emulator.memory().fill(buffer, &[1], 1 << 12).unwrap();
        for name in module.kernels() {
            let kernel = module.kernel(&name).unwrap();
            let mut parameters: Vec<u8> =
                [buffer; 3].iter().flat_map(|p| p.to_le_bytes()).collect();
            parameters.extend([16u32, 16, 16].iter().flat_map(|n| n.to_le_bytes()));
            parameters.resize(parameters.len().max(kernel.parameter_bytes() as usize), 0);
            let launch =
                Launch { grid: [1, 1, 1], block: [16, 4, 1], parameters, ..Launch::default() };
            if let Err(fault) = emulator.launch(&kernel, &launch) {
                faults += 1;
                assert!(!fault.to_string().is_empty());
            }
        }
    }
    assert!(
        loaded > 200 && faults > 50,
        "{loaded} texts could be loaded, {faults} launches faulted"
    );
}
