//! Helpers that compile, load and launch kernels.

use cuda_c::CompileOptions;
use ptx_emulator::source::Source;
use ptx_emulator::{Emulator, Launch, Loaded, Statistics};

use crate::record;

/// An argument of a kernel.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A buffer with these bytes, which is read back after the launch.
    Bytes(Vec<u8>),
    /// A number, given as its bytes.
    Value(Vec<u8>),
}

/// An argument that is a buffer with these numbers.
pub fn floats(values: &[f32]) -> Argument {
    Argument::Bytes(values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

/// An argument that is a buffer with these 32-bit words.
pub fn words(values: &[u32]) -> Argument {
    Argument::Bytes(values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

/// An argument that is a buffer with these 64-bit words.
pub fn longs(values: &[u64]) -> Argument {
    Argument::Bytes(values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

/// A 64-bit argument.
pub fn size(value: u64) -> Argument {
    Argument::Value(value.to_le_bytes().to_vec())
}

/// A 32-bit argument.
pub fn word(value: u32) -> Argument {
    Argument::Value(value.to_le_bytes().to_vec())
}

/// An argument of type `float`.
pub fn float(value: f32) -> Argument {
    Argument::Value(value.to_le_bytes().to_vec())
}

/// Pseudo-random numbers between −2 and 2.
pub fn drawn(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_769).wrapping_add(12345);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 4_194_304.0 - 2.0
    };
    (0..count).map(|_| next()).collect()
}

/// Compiles a source with the default options.
pub fn compile(source: &str) -> String {
    compile_with(source, &CompileOptions::default())
}

/// Compiles a source, and checks that the emulator accepts the result.
pub fn compile_with(source: &str, options: &CompileOptions<'_>) -> String {
    match cuda_c::compile(source, options) {
        Ok(ptx) => {
            let made = Source { name: "made.ptx".into(), text: ptx.text.as_str().into() };
            if let Err(errors) = ptx_emulator::parse(&made) {
                let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
                panic!("{}\n{source}\n{}", shown.join("\n"), ptx.text);
            }
            ptx.text
        }
        Err(diagnostics) => {
            let shown: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
            panic!("{}", shown.join("\n"))
        }
    }
}

/// Loads a PTX text, or panics with its diagnostics.
pub fn load(emulator: &Emulator, name: &str, text: &str) -> Loaded {
    let source = Source { name: name.into(), text: text.into() };
    emulator.load(source).unwrap_or_else(|errors| {
        let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("{}\n{text}", shown.join("\n"))
    })
}

/// Launches a kernel; returns its buffers and its statistics.
pub fn run(
    text: &str,
    kernel: &str,
    (grid, block): ([u32; 3], [u32; 3]),
    arguments: &[Argument],
) -> (Vec<Vec<u8>>, Statistics) {
    run_with(text, kernel, (grid, block, 0), arguments)
}

/// Launches a kernel with dynamic shared memory, as [`run`] does.
pub fn run_with(
    text: &str,
    kernel: &str,
    (grid, block, dynamic_shared): ([u32; 3], [u32; 3], u32),
    arguments: &[Argument],
) -> (Vec<Vec<u8>>, Statistics) {
    let options = ptx_emulator::RunOptions {
        deterministic: true,
        statistics: true,
        instruction_limit: Some(50_000_000),
        ..ptx_emulator::RunOptions::default()
    };
    let emulator = Emulator::new(options);
    let loaded = load(&emulator, kernel, text);
    let own = loaded
        .kernel(kernel)
        .unwrap_or_else(|| panic!("no kernel {kernel} in {:?}", loaded.kernels()));
    let mut parameters: Vec<u8> = Vec::new();
    let mut memory = Vec::new();
    for argument in arguments {
        let bytes = match argument {
            Argument::Bytes(bytes) => {
                let address = emulator.memory().allocate(bytes.len() as u64, 256).unwrap();
                emulator.memory().write(address, bytes).unwrap();
                memory.push((address, bytes.len()));
                address.to_le_bytes().to_vec()
            }
            Argument::Value(bytes) => bytes.clone(),
        };
        parameters.resize(parameters.len().next_multiple_of(bytes.len()), 0);
        parameters.extend(bytes);
    }
    let launch = Launch { grid, block, dynamic_shared, parameters, ..Launch::default() };
    let statistics = record::launch(&emulator, text, &own, &launch)
        .unwrap_or_else(|fault| panic!("{kernel}: {fault}\n{text}"));
    let read = |(address, len): (u64, usize)| {
        let mut bytes = vec![0; len];
        emulator.memory().read(address, &mut bytes).unwrap();
        bytes
    };
    (memory.into_iter().map(read).collect(), statistics)
}

/// Splits bytes into 32-bit words.
pub fn as_words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Splits bytes into `f32` numbers.
pub fn as_floats(bytes: &[u8]) -> Vec<f32> {
    as_words(bytes).into_iter().map(f32::from_bits).collect()
}
