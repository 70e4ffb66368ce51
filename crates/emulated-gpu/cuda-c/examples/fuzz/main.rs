//! A differential fuzzer: random kernels are compiled by cuda-c and by NVRTC and run on the
//! emulator; the results must be equal.
//!
//! `crates/emulated-gpu/scripts/fuzz-cuda-c.sh --help` describes how to run it. A kernel whose
//! results differ is written to a file, after it has been reduced.

mod expressions;
mod generate;
mod program;
mod random;
mod statements;
mod texts;
mod tree;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use emulated_gpu_test_support::nvrtc::Nvrtc;
use host::println;
use ptx_emulator::source::Source;
use ptx_emulator::{Emulator, Launch, Loaded};

use crate::generate::Generator;
use crate::program::Program;
use crate::random::Random;

/// Compile random kernels with cuda-c and with NVRTC, run them on the emulator, and compare the
/// results. Needs no GPU. The exit code is 1 if any differed.
#[derive(Debug, Parser)]
struct Arguments {
    /// The seed of the first file. Each file only depends on its seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many files to generate, each with several kernels.
    #[arg(long, default_value_t = u64::MAX)]
    files: u64,
    /// The time limit in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Kernels in a file.
    #[arg(long, default_value_t = 40)]
    kernels: usize,
    /// A `site-packages` folder with NVIDIA's wheels, including nvidia-cuda-nvrtc-cu12.
    #[arg(long, env = "CUDA_WHEELS", default_value = "wheels")]
    wheels: PathBuf,
    /// The folder for kernels that differ.
    #[arg(long, default_value = "target/fuzz-cuda-c")]
    keep: PathBuf,
    /// Only print the file of this seed.
    #[arg(long)]
    print: bool,
    /// Compile mutated programs with two kernels instead; none may panic or hang.
    #[arg(long)]
    texts: bool,
}

/// The number of threads; there is one block.
const THREADS: usize = 64;

/// The contents of memory after a launch, or the reason why the launch failed.
type Outcome = Result<Vec<u8>, String>;

/// The options that both compilers get, and the seed of the inputs.
#[derive(Clone, Copy, Debug)]
struct RunOptions {
    fmad: bool,
    seed: u64,
}

fn compile_with_cuda_c(source: &str, options: RunOptions) -> Result<String, String> {
    let compiled = std::panic::catch_unwind(|| {
        cuda_c::compile(
            source,
            &cuda_c::CompileOptions { fmad: options.fmad, ..Default::default() },
        )
    });
    match compiled {
        Ok(Ok(ptx)) => Ok(ptx.text),
        Ok(Err(diagnostics)) => Err(tree::join(diagnostics, "\n")),
        Err(_) => Err("it panics".into()),
    }
}

fn compile_with_nvrtc(nvrtc: &Nvrtc, source: &str, options: RunOptions) -> Result<String, String> {
    let fmad = format!("--fmad={}", options.fmad);
    let mut flags = vec!["--gpu-architecture=compute_80", "--std=c++17", "-w", &fmad];
    // NVRTC's optimiser is switched off, because NVRTC is five times as fast without it. With
    // contraction it is needed, because it decides which sums are contracted.
    if !options.fmad {
        flags.push("--device-debug");
    }
    nvrtc.compile(source, &flags)
}

fn load(text: &str) -> Result<(Emulator, Loaded), String> {
    let emulator = Emulator::new(ptx_emulator::RunOptions {
        deterministic: true,
        instruction_limit: Some(5_000_000),
        ..ptx_emulator::RunOptions::default()
    });
    let source = Source { name: "kernel.ptx".into(), text: text.into() };
    let loaded = emulator.load(source).map_err(|errors| tree::join(errors, "\n"))?;
    Ok((emulator, loaded))
}

fn run(emulator: &Emulator, loaded: &Loaded, kernel: &str, options: RunOptions) -> Outcome {
    let own = loaded.kernel(kernel).ok_or("there is no such kernel")?;
    let mut random = Random(options.seed);
    let inputs: Vec<u8> =
        (0..2 * THREADS).flat_map(|_| (random.next() as u32).to_le_bytes()).collect();
    let memories = [vec![0; 4 * THREADS], inputs, vec![7; 32]];
    let mut parameters = Vec::new();
    let mut addresses = Vec::new();
    for bytes in &memories {
        let address =
            emulator.memory().allocate(bytes.len() as u64, 256).map_err(|e| e.to_string())?;
        emulator.memory().write(address, bytes).map_err(|e| e.to_string())?;
        parameters.extend(address.to_le_bytes());
        addresses.push(address);
    }
    let launch = Launch { block: [THREADS as u32, 1, 1], parameters, ..Launch::default() };
    let done = emulator.launch(&own, &launch).map_err(|fault| fault.to_string());
    let mut left = Vec::new();
    for (address, bytes) in addresses.iter().zip(&memories) {
        let mut read = vec![0; bytes.len()];
        emulator.memory().read(*address, &mut read).map_err(|e| e.to_string())?;
        left.extend(read);
        emulator.memory().free(*address).map_err(|e| e.to_string())?;
    }
    done.map(|_| left)
}

/// The kernels of a file whose results differ, with a description.
fn differing_kernels(
    nvrtc: &Nvrtc,
    program: &Program,
    options: RunOptions,
) -> Vec<(usize, String)> {
    let source = program.source();
    let theirs = match compile_with_nvrtc(nvrtc, &source, options) {
        Ok(text) => text,
        // If NVRTC refuses a generated program, the generator has to be fixed.
        Err(log) => return vec![(0, format!("NVRTC refuses it: {log}"))],
    };
    let own = match compile_with_cuda_c(&source, options) {
        Ok(text) => text,
        Err(message) => return vec![(0, message)],
    };
    let (own, theirs) = match (load(&own), load(&theirs)) {
        (Ok(own), Ok(theirs)) => (own, theirs),
        (Err(error), _) => return vec![(0, format!("the emulator refuses cuda-c's PTX: {error}"))],
        (_, Err(error)) => return vec![(0, format!("the emulator refuses NVRTC's PTX: {error}"))],
    };
    let mut differences = Vec::new();
    for number in 0..program.kernels.len() {
        let kernel = format!("k{number}");
        let (a, b) =
            (run(&own.0, &own.1, &kernel, options), run(&theirs.0, &theirs.1, &kernel, options));
        if a != b {
            let describe = |outcome: Outcome| outcome.err().unwrap_or_else(|| "it ran".into());
            differences.push((number, format!("cuda-c: {}; NVRTC: {}", describe(a), describe(b))));
        }
    }
    differences
}

/// Whether the results of a program with one kernel still differ.
fn differs(nvrtc: &Nvrtc, source: &str, kernel: &str, options: RunOptions) -> bool {
    let Ok(theirs) = compile_with_nvrtc(nvrtc, source, options) else { return false };
    let Ok(theirs) = load(&theirs) else { return false };
    let expected = run(&theirs.0, &theirs.1, kernel, options);
    let own = compile_with_cuda_c(source, options).and_then(|text| load(&text));
    expected.is_ok()
        && own.and_then(|(emulator, loaded)| run(&emulator, &loaded, kernel, options)) != expected
}

fn fuzz_texts(arguments: &Arguments) -> ExitCode {
    let start = Instant::now();
    let (mut count, mut wrong) = (0, 0);
    while count < arguments.files && start.elapsed() < Duration::from_secs(arguments.seconds) {
        let number = arguments.seed + count;
        if let Some((text, problem)) = texts::check(number, 2) {
            let path = arguments.keep.join(format!("text_{number}.cu"));
            let kept = fs::create_dir_all(&arguments.keep).and_then(|()| fs::write(&path, text));
            if let Err(error) = kept {
                host::complain(format_args!("fuzz: {}: {error}", path.display()));
            }
            println!("{}: {problem}", path.display());
            wrong += 1;
        }
        count += 1;
    }
    println!("{count} texts from seed {}, {wrong} wrong", arguments.seed);
    ExitCode::from(u8::from(wrong > 0))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let program_of = |number: u64| Generator::new(number).program(arguments.kernels);
    if arguments.print {
        println!("{}", program_of(arguments.seed).source());
        return ExitCode::SUCCESS;
    }
    if arguments.texts {
        return fuzz_texts(&arguments);
    }
    let Some(nvrtc) = Nvrtc::of_wheels(&arguments.wheels) else {
        host::complain(format_args!("fuzz: there is no NVRTC in {}", arguments.wheels.display()));
        return ExitCode::from(2);
    };
    if let Err(error) = fs::create_dir_all(&arguments.keep) {
        host::complain(format_args!("fuzz: {}: {error}", arguments.keep.display()));
        return ExitCode::from(2);
    }
    let (start, mut reported) = (Instant::now(), Instant::now());
    let (mut files, mut wrong) = (0, 0);
    while files < arguments.files && start.elapsed() < Duration::from_secs(arguments.seconds) {
        let number = arguments.seed + files;
        let options = RunOptions { fmad: number % 4 == 0, seed: number };
        let program = program_of(number);
        for (index, difference) in differing_kernels(&nvrtc, &program, options) {
            let kernel = format!("k{index}");
            // A compilation error names the place, so there is nothing to reduce.
            let most = if difference.starts_with("cuda-c: ") { 250 } else { 0 };
            let small = program
                .only_kernel(index)
                .reduced(most, |tree| differs(&nvrtc, &tree.to_string(), &kernel, options));
            let path = arguments.keep.join(format!("{number}_{index}.cu"));
            let text = format!(
                "// seed {number}, --fmad {}: {}\n{small}\n",
                options.fmad,
                difference.replace('\n', "\n// ")
            );
            if let Err(error) = fs::write(&path, text) {
                host::complain(format_args!("fuzz: {}: {error}", path.display()));
            }
            println!("{}: {}", path.display(), difference.lines().next().unwrap_or_default());
            wrong += 1;
        }
        files += 1;
        if reported.elapsed() > Duration::from_secs(60) {
            reported = Instant::now();
            let kernels = files * arguments.kernels as u64;
            println!(
                "{files} files, {kernels} kernels, {wrong} differ, {} s",
                start.elapsed().as_secs()
            );
        }
    }
    let kernels = files * arguments.kernels as u64;
    println!(
        "seeds {} to {}: {files} files, {kernels} kernels, {wrong} differ",
        arguments.seed,
        arguments.seed + files - 1
    );
    ExitCode::from(u8::from(wrong > 0))
}
