//! Compiles the kernels of cudarc's tests and examples, and compares their results with NVRTC's.

use std::path::{Path, PathBuf};

use crate::kernel::{
    Argument, as_floats, compile, drawn, float, floats, load, run_with, size, word,
};
use crate::reference::{compile_with_nvrtc, nvrtc};

type Shape = ([u32; 3], [u32; 3], u32);

/// The folder into which cargo has unpacked cudarc's source.
fn cudarc() -> Option<PathBuf> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lock =
        package.ancestors().find_map(|it| std::fs::read_to_string(it.join("Cargo.lock")).ok())?;
    let entry = lock.split("name = \"cudarc\"\nversion = \"").nth(1)?;
    let name = format!("cudarc-{}", entry.split('"').next()?);
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))?;
    let sources = std::fs::read_dir(home.join("registry/src")).ok()?.flatten();
    sources.map(|source| source.path().join(&name)).find(|path| path.is_dir())
}

/// The string literals of a Rust file that contain a kernel.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find('"') {
        rest = &rest[at + 1..];
        let mut text = String::new();
        let mut characters = rest.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    rest = &rest[at + 1..];
                    break;
                }
                '\\' => match characters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, other)) => text.push(other),
                    None => break,
                },
                other => text.push(other),
            }
        }
        if text.contains("__global__") {
            found.push(text);
        }
    }
    found
}

/// The shape and the arguments with which a kernel of cudarc is launched. The kernels check their
/// arguments with assertions.
fn launch(kernel: &str) -> Option<(Shape, Vec<Argument>)> {
    let line: Shape = ([4, 1, 1], [32, 1, 1], 0);
    let (out, x) = (floats(&[0.0; 128]), floats(&drawn(128, 3)));
    let counting: Vec<f32> = (0..128u8).map(f32::from).collect();
    let value = |bytes: &[u8]| Argument::Value(bytes.to_vec());
    Some(match kernel {
        "sin_kernel" => (line, vec![out, x, size(100)]),
        "polynomial_kernel" => (line, vec![out, x, word(100)]),
        "matmul" => (([2, 2, 1], [4, 4, 1], 0), vec![x.clone(), x, out, word(8)]),
        "int_8bit" => (
            ([1, 1, 1], [1, 1, 1], 0),
            vec![value(&[128]), value(&[127]), value(&[0]), value(&[255])],
        ),
        "int_16bit" => (
            ([1, 1, 1], [1, 1, 1], 0),
            vec![
                value(&i16::MIN.to_le_bytes()),
                value(&i16::MAX.to_le_bytes()),
                value(&[0, 0]),
                value(&[255, 255]),
            ],
        ),
        "int_32bit" => (
            ([1, 1, 1], [1, 1, 1], 0),
            vec![word(0x8000_0000), word(0x7fff_ffff), word(0), word(u32::MAX)],
        ),
        "int_64bit" => (
            ([1, 1, 1], [1, 1, 1], 0),
            vec![size(1 << 63), size(u64::MAX >> 1), size(0), size(u64::MAX)],
        ),
        "floating" => (
            ([1, 1, 1], [1, 1, 1], 0),
            vec![float(1.234_567_8), value(&(-10.123_456_789_876_543_f64).to_le_bytes())],
        ),
        "halfs" => (([1, 1, 1], [1, 1, 1], 0), vec![value(&[0xf0, 0x3c])]),
        "kernel" => (([1, 1, 1], [128, 1, 1], 0), vec![floats(&counting)]),
        "slow_worker" => (([1, 1, 1], [1, 1, 1], 0), vec![x, size(7), out]),
        "my_custom_kernel" => {
            let mut bytes = 1.0f32.to_le_bytes().to_vec();
            bytes.extend([0; 4]);
            bytes.extend(2.34f64.to_le_bytes());
            bytes.extend(57u64.to_le_bytes());
            bytes.extend(420u64.to_le_bytes());
            (([1, 1, 1], [1, 1, 1], 0), vec![value(&bytes)])
        }
        // The argument describes three dimensions, whose sizes and strides are increasing numbers.
        "meta" => {
            let numbers = std::iter::once(3).chain(0..128).chain(0..128u64);
            let bytes: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
            (([1, 1, 1], [1, 1, 1], 0), vec![value(&bytes)])
        }
        "hello_world" => (([1, 1, 1], [1, 1, 1], 0), vec![word(3)]),
        _ => return None,
    })
}

#[test]
fn kernels_of_cudarc() {
    let Some(folder) = cudarc() else {
        return skipped::skip("cudarc's source is not in cargo's registry (CARGO_HOME names it)");
    };
    let mut sources = Vec::new();
    for file in [
        "src/driver/safe/unified_memory.rs",
        "src/driver/safe/launch.rs",
        "src/nvrtc/safe.rs",
        "src/nvrtc/result.rs",
        "examples/nvrtc-compile.rs",
        "examples/matmul-kernel.rs",
        "examples/05-device-repr.rs",
        "examples/06-threading.rs",
    ] {
        let text = std::fs::read_to_string(folder.join(file))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        sources.extend(literals(&text));
    }
    for file in ["examples/sin.cu", "examples/constant_memory.cu"] {
        sources.push(std::fs::read_to_string(folder.join(file)).unwrap());
    }
    let (mut ran, mut compiled) = (0, 0);
    for source in sources {
        // One of the sources is incomplete, and must not compile.
        if source.trim_end().ends_with('(') {
            assert!(cuda_c::compile(&source, &cuda_c::CompileOptions::default()).is_err());
            continue;
        }
        let own = compile(&source);
        let emulator = ptx_emulator::Emulator::new(ptx_emulator::RunOptions::default());
        compiled += load(&emulator, "kernel", &own).kernels().len();
        for kernel in source.split("__global__ void ").skip(1) {
            let name = kernel.split('(').next().unwrap().trim();
            let of_struct = kernel.contains("meta");
            let known = launch(if of_struct { "meta" } else { name });
            let Some((shape, arguments)) = known else { continue };
            // The loop of a million iterations is shortened to a thousand.
            let source = source.replace("1000000", "1000");
            let own = compile(&source);
            let fails = kernel.contains("assert(0)");
            if fails || kernel.trim_end().ends_with("{ }") || kernel.contains("{}") {
                continue;
            }
            let (found, _) = run_with(&own, name, shape, &arguments);
            ran += 1;
            let Some(nvrtc) = nvrtc() else { continue };
            let (expected, _) =
                run_with(&compile_with_nvrtc(nvrtc, &source), name, shape, &arguments);
            for (found, expected) in found.iter().zip(&expected) {
                for (a, b) in as_floats(found).iter().zip(as_floats(expected)) {
                    // The sine is not bit-identical.
                    let near = (a - b).abs() <= 3e-7 || a.to_bits() == b.to_bits();
                    assert!(near, "{name}: {a} and {b}\n{own}");
                }
            }
        }
    }
    assert!(compiled >= 20 && ran >= 12, "{compiled} kernels, of which {ran} ran");
    println!("{compiled} kernels of cudarc, {ran} launches compared with NVRTC's");
}
