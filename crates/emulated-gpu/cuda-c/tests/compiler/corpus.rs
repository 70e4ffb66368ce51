//! Kernels in the style of public code, `tests/corpus/*.cu`, several in a file. NVRTC and this
//! compiler must accept each file, `ptxas` must accept this compiler's PTX, and without
//! contraction, the results of both on the emulator must be equal bit by bit.
//!
//! A comment before a kernel describes how it is launched, once or several times:
//!
//! ```text
//! // launch saxpy <<<4, 64>>> f32[200]=drawn f32[200]=zero f32=2.5 s32=200
//! // launch reverse <<<(1,2), (8,4), 128>>> u32[64]=iota
//! // launch scaled within 2 <<<1, 32>>> f32[32]=drawn
//! ```
//!
//! NVRTC accepts a file that begins with `// refused: WORDS`, but this compiler refuses it with
//! these words.
//!
//! Memory is `TYPE[COUNT]=drawn` (random), `iota`, `zero` or a number, and a value is
//! `TYPE=NUMBER`. `within N` allows float32 results to differ by N units in the last place. The
//! kernel of a template is named by a unique part of its mangled name.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use half::{bf16, f16};

use cuda_c::CompileOptions;
use emulated_gpu_test_support::nvrtc::Nvrtc;

use crate::kernel::{Argument, compile, compile_with, drawn, load, run_with};
use crate::reference::nvrtc;

/// A launch described by a comment.
#[derive(Debug)]
struct Launch {
    kernel: String,
    /// The allowed difference of float32 results in units in the last place; `None` for equal bits.
    tolerance_ulps: Option<u32>,
    shape: ([u32; 3], [u32; 3], u32),
    arguments: Vec<Argument>,
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let found = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        found.filter(|path| path.extension().is_some_and(|ending| ending == "cu")).collect();
    found.sort();
    found
}

fn numbers(text: &str) -> Vec<u32> {
    let inner = text.trim().trim_start_matches('(').trim_end_matches(')');
    inner.split(',').map(|number| number.trim().parse().expect(text)).collect()
}

fn three_numbers(text: &str) -> [u32; 3] {
    let mut all = [1; 3];
    for (size, number) in all.iter_mut().zip(numbers(text)) {
        *size = number;
    }
    all
}

/// Splits at commas outside of parentheses.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    })
    .collect()
}

/// The bytes of a number.
fn bytes(ty: &str, value: f64) -> Vec<u8> {
    match ty {
        "u8" => vec![value as u8],
        "s8" => (value as i8).to_le_bytes().into(),
        "u16" => (value as u16).to_le_bytes().into(),
        "s16" => (value as i16).to_le_bytes().into(),
        "u32" => (value as u32).to_le_bytes().into(),
        "s32" => (value as i32).to_le_bytes().into(),
        "u64" => (value as u64).to_le_bytes().into(),
        "s64" => (value as i64).to_le_bytes().into(),
        "f16" => f16::from_f64(value).to_le_bytes().into(),
        "bf16" => bf16::from_f64(value).to_le_bytes().into(),
        "f32" => (value as f32).to_le_bytes().into(),
        "f64" => value.to_le_bytes().into(),
        _ => panic!("{ty} isn't an argument type"),
    }
}

fn argument(text: &str, seed: u32) -> Argument {
    let (ty, value) = text.split_once('=').unwrap_or_else(|| panic!("{text} has no ="));
    let number =
        || value.parse::<f64>().unwrap_or_else(|_| panic!("{text}: {value} isn't a number"));
    let Some((ty, count)) = ty.strip_suffix(']').and_then(|ty| ty.split_once('[')) else {
        return Argument::Value(bytes(ty, number()));
    };
    let count: usize = count.parse().expect(text);
    // Random integers are between -200 and 200, unsigned integers between 0 and 200.
    let scale = match ty {
        _ if ty.contains('f') => 1.0,
        _ if ty.starts_with('u') || ty == "s8" => 50.0,
        _ => 100.0,
    };
    let values: Vec<f64> = match value {
        "drawn" if ty.starts_with('u') => {
            drawn(count, seed).iter().map(|v| scale * (f64::from(*v) + 2.0)).collect()
        }
        "drawn" => drawn(count, seed).iter().map(|v| scale * f64::from(*v)).collect(),
        "iota" => (0..count).map(|i| i as f64).collect(),
        "zero" => vec![0.0; count],
        _ => vec![number(); count],
    };
    Argument::Bytes(values.into_iter().flat_map(|value| bytes(ty, value)).collect())
}

fn launches(source: &str) -> Vec<Launch> {
    let lines = source.lines().filter_map(|line| line.trim().strip_prefix("// launch "));
    lines
        .map(|line| {
            let (name, rest) = line.split_once("<<<").expect(line);
            let (shape, arguments) = rest.split_once(">>>").expect(line);
            let (kernel, within) = match name.trim().split_once(" within ") {
                Some((kernel, ulps)) => (kernel, Some(ulps.trim().parse().expect(line))),
                None => (name.trim(), None),
            };
            let shape = parts(shape);
            let shared = shape.get(2).map_or(0, |text| text.trim().parse().expect(line));
            Launch {
                kernel: kernel.into(),
                tolerance_ulps: within,
                shape: (three_numbers(shape[0]), three_numbers(shape[1]), shared),
                arguments: (1..)
                    .zip(arguments.split_whitespace())
                    .map(|(seed, text)| argument(text, seed))
                    .collect(),
            }
        })
        .collect()
}

/// Finds the kernel with this name, or the only kernel whose name contains it.
fn find_kernel(ptx: &str, part: &str) -> String {
    let emulator = ptx_emulator::Emulator::new(ptx_emulator::RunOptions::default());
    let loaded = load(&emulator, part, ptx);
    let names = loaded.kernels();
    let exact = names.iter().find(|name| *name == part);
    let holding: Vec<&String> = names.iter().filter(|name| name.contains(part)).collect();
    match (exact, &holding[..]) {
        (Some(name), _) => name.clone(),
        (None, [name]) => (*name).clone(),
        _ => panic!("{part} names none or several of {names:?}"),
    }
}

/// The distance of two float32 numbers in units in the last place; 0 for two NaN.
fn distance(a: f32, b: f32) -> u32 {
    let order = |x: f32| {
        let bits = x.to_bits() as i32;
        i64::from(if bits < 0 { i32::MIN - bits } else { bits })
    };
    if a.is_nan() && b.is_nan() { 0 } else { (order(a) - order(b)).unsigned_abs() as u32 }
}

fn compare(path: &Path, launch: &Launch, own: &[Vec<u8>], theirs: &[Vec<u8>]) {
    let place = format!("{}: {}", path.display(), launch.kernel);
    for (at, (own, theirs)) in own.iter().zip(theirs).enumerate() {
        let Some(within) = launch.tolerance_ulps else {
            let byte = own.iter().zip(theirs).position(|(a, b)| a != b);
            assert_eq!(byte, None, "{place}, memory {at}: a byte differs");
            continue;
        };
        let floats = |bytes: &[u8]| -> Vec<f32> {
            bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
        };
        for (i, (a, b)) in floats(own).into_iter().zip(floats(theirs)).enumerate() {
            assert!(distance(a, b) <= within, "{place}, memory {at}, element {i}: {a} and {b}");
        }
    }
}

/// Runs NVIDIA's assembler on a text, for sm_80; skipped if it isn't installed.
fn assemble(path: &Path, ptx: &str) {
    let Some(ptxas) = std::env::var_os("PTXAS") else {
        skipped::skip("there is no ptxas; pip install nvidia-cuda-nvcc-cu12, and set PTXAS to it");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(ptxas)
        .args(["-c", "--opt-level", "0", "-arch=sm_80", "-o"])
        .arg(folder.path().join("out.cubin"))
        .arg("-")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(ptx.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: ptxas: {messages}\n{ptx}", path.display());
}

/// NVRTC's PTX for sm_80, without contraction.
fn compile_with_nvrtc(nvrtc: &Nvrtc, source: &str) -> String {
    let options = ["--gpu-architecture=compute_80", "--std=c++17", "--fmad=false", "-w"];
    nvrtc.compile(source, &options).unwrap_or_else(|log| panic!("NVRTC: {log}\n{source}"))
}

/// Checks a file that NVRTC accepts and this compiler must reject, with a message that contains
/// `words`.
fn check_refused(source: &str, words: &str) {
    let errors = cuda_c::compile(source, &CompileOptions::default()).expect_err(words);
    assert!(errors[0].to_string().contains(words), "{}", errors[0]);
    if let Some(nvrtc) = nvrtc() {
        compile_with_nvrtc(nvrtc, source);
    }
}

/// Compiles every file, assembles the PTX, runs it and compares the results with NVRTC's.
/// `CORPUS=words` selects the files whose path contains these words.
#[test]
fn kernels_of_the_corpus() {
    let only = std::env::var("CORPUS").unwrap_or_default();
    let mut ran = std::collections::BTreeSet::new();
    for path in files().into_iter().filter(|path| path.display().to_string().contains(&only)) {
        let source = fs::read_to_string(&path).unwrap();
        if let Some(words) = source.lines().find_map(|line| line.strip_prefix("// refused: ")) {
            check_refused(&source, words);
            continue;
        }
        assemble(&path, &compile(&source));
        // Each compiler may contract a different product with a subtraction.
        let own =
            compile_with(&source, &CompileOptions { fmad: false, ..CompileOptions::default() });
        let nvidias = nvrtc().map(|nvrtc| compile_with_nvrtc(nvrtc, &source));
        for launch in launches(&source) {
            let kernel = find_kernel(&own, &launch.kernel);
            let (found, _) = run_with(&own, &kernel, launch.shape, &launch.arguments);
            if let Some(nvidias) = &nvidias {
                let (expected, _) = run_with(
                    nvidias,
                    &find_kernel(nvidias, &launch.kernel),
                    launch.shape,
                    &launch.arguments,
                );
                compare(&path, &launch, &found, &expected);
            }
            ran.insert((path.clone(), kernel));
        }
    }
    assert!(!only.is_empty() || ran.len() >= 300, "{} kernels are launched", ran.len());
}
