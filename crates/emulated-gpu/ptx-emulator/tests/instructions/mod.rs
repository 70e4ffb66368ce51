//! A small test for each instruction and type, with operands and the results that the ISA defines. The tests
//! run through the whole emulator, with and without the host's AVX2.
//!
//! The rows are in `rows/`: some are computed by `oracle.py`, the others are handwritten.

mod coverage;
pub(crate) mod matrix;
mod page;
mod ptxas;
mod since;
mod table;
mod textures;

use std::fs;
use std::path::Path;
use std::process::Command;

use emulated_gpu_test_support::record;
use ptx_emulator::source::Source;
use ptx_emulator::{Emulator, Kernel, Launch, RunOptions};
use table::{Case, Float, HEADER, SLOT, width};

/// The maximum number of failures that are shown.
const MAX_SHOWN: usize = 40;

/// Runs a case, and returns the bits of every result of every vector.
fn run(
    emulator: &Emulator,
    text: &str,
    kernel: &Kernel,
    case: &Case,
) -> Result<Vec<Vec<u128>>, String> {
    let (count, inputs, outputs) = (case.vectors.len(), case.inputs.len(), case.outputs.len());
    let operands: Vec<u8> = case
        .vectors
        .iter()
        .flat_map(|vector| vector.operands.iter().flat_map(|bits| bits.to_le_bytes()))
        .collect();
    let memory = emulator.memory();
    let from = memory.allocate((count * inputs * SLOT) as u64, 16).unwrap();
    let size = count * outputs * SLOT;
    let to = memory.allocate(size as u64, 16).unwrap();
    let scratch = memory.allocate((count * 64) as u64, 16).unwrap();
    memory.write(from, &operands).unwrap();
    let mut parameters: Vec<u8> =
        [from, to, scratch].iter().flat_map(|address| address.to_le_bytes()).collect();
    parameters.resize(32, 0);
    parameters.extend(100..116);
    let launch =
        Launch { grid: [1; 3], block: [count as u32, 1, 1], parameters, ..Launch::default() };
    let outcome = record::launch(emulator, text, kernel, &launch);
    let mut bytes = vec![0; size];
    memory.read(to, &mut bytes).unwrap();
    for address in [from, to, scratch] {
        memory.free(address).unwrap();
    }
    outcome.map_err(|fault| fault.to_string())?;
    Ok(bytes
        .chunks(SLOT * outputs)
        .map(|row| {
            row.chunks(SLOT).map(|slot| u128::from_le_bytes(slot.try_into().unwrap())).collect()
        })
        .collect())
}

fn options(portable: bool) -> RunOptions {
    RunOptions { threads: 1, portable, instruction_limit: Some(1 << 20), ..RunOptions::default() }
}

#[test]
fn every_row_has_its_results_with_and_without_vector_instructions() {
    let emulators = [Emulator::new(options(false)), Emulator::new(options(true))];
    emulators.iter().for_each(textures::create_resources);
    let mut failures: Vec<String> = Vec::new();
    let (mut cases, mut vectors) = (0, 0);
    for case in table::all() {
        assert!((1..=1024).contains(&case.vectors.len()), "{}: rows", case.place);
        let text = format!("// {}: {}\n{HEADER}{}", case.place, case.text, case.entry("k"));
        cases += 1;
        vectors += case.vectors.len();
        let mut found = Vec::new();
        for emulator in &emulators {
            let source = Source { name: case.place.clone(), text: text.clone() };
            let results = match emulator.load(source) {
                Err(diagnostics) => Err(diagnostics[0].to_string()),
                Ok(loaded) => run(emulator, &text, &loaded.kernel("k").unwrap(), &case),
            };
            found.push(results);
        }
        let [fast, portable] = &found[..] else { unreachable!() };
        if fast != portable {
            failures.push(format!(
                "{}: {}: the results with and without vector instructions differ",
                case.place, case.text
            ));
        }
        let rows = match fast {
            Ok(rows) => rows,
            Err(message) => {
                failures.push(format!("{}: {}: {message}", case.place, case.text));
                continue;
            }
        };
        let float = Float::of_result(&case.text);
        for (vector, row) in case.vectors.iter().zip(rows) {
            for ((register, expected), &bits) in case.outputs.iter().zip(&vector.results).zip(row) {
                if !expected.agrees(bits, width(register), float) {
                    failures.push(format!(
                        "{}: {}: {:#x?}: %{register} is {bits:#x}, expected {expected:x?}",
                        vector.place, case.text, vector.operands
                    ));
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures[..failures.len().min(MAX_SHOWN)].join("\n")
    );
    println!("{cases} instructions, {vectors} rows");
}

#[test]
fn the_rows_match_the_output_of_the_oracle() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions");
    let fresh = tempfile::tempdir().unwrap();
    let Some(python) = skipped::python() else { return };
    let oracle = Command::new(python).arg(folder.join("oracle.py")).arg(fresh.path()).output();
    let output = oracle.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut count = 0;
    for entry in fs::read_dir(fresh.path()).unwrap() {
        let path = entry.unwrap().path();
        let kept = folder.join("rows").join(path.file_name().unwrap());
        let (new, old) = (fs::read_to_string(&path).unwrap(), fs::read_to_string(&kept).unwrap());
        assert!(new == old, "{} is not what oracle.py writes: run it", kept.display());
        count += 1;
    }
    assert!(count >= 8, "{count} files");
}
