//! The rows of the instruction table in WebAssembly: Node.js runs the module of
//! `crates/playground`.

use std::io::Write;
use std::process::{Command, Stdio};

use ptx_emulator::Emulator;
use ptx_emulator::source::Source;
use serde_json::{Value, json};

use super::table::{self, Case, HEADER, SLOT};
use super::{MAX_SHOWN, options, run};

/// Answers the requests of standard input, one per line. The first line of the output says whether the relaxed
/// SIMD instruction is used; the second argument says whether it should be tried.
const SCRIPT: &str = r#"
const { readFileSync } = require("node:fs");
(async () => {
  const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[1]), {});
  const { memory, room, answer, answer_len: length, ...others } = instance.exports;
  let used = false;
  if (process.argv[2] === "relaxed") {
    const [at, size] = [others.fma_module(), others.fma_module_len()];
    const bytes = new Uint8Array(memory.buffer, at, size).slice();
    if (WebAssembly.validate(bytes)) {
      const { instance } = await WebAssembly.instantiate(bytes, { emulator: { memory } });
      others.__indirect_function_table.set(others.fma_slot(), instance.exports.fma);
      used = others.use_fma() !== 0;
    } else {
      used = "unknown";
    }
  }
  const answers = [String(used)];
  for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
    const request = Buffer.from(line);
    const at = room(request.length);
    new Uint8Array(memory.buffer).set(request, at);
    const found = answer();
    answers.push(Buffer.from(new Uint8Array(memory.buffer, found, length())).toString());
  }
  process.stdout.write(answers.join("\n"));
})();
"#;

/// Older versions of Node.js need this option for relaxed SIMD, newer versions don't.
const RELAXED: &str = "--experimental-wasm-relaxed-simd";

/// The request to the module for a case, equivalent to `run` in the emulator.
fn request(case: &Case) -> Value {
    let count = case.vectors.len();
    let operands = case.vectors.iter().flat_map(|vector| vector.operands.iter());
    let operands: String =
        operands.flat_map(|bits| bits.to_le_bytes()).map(|byte| format!("{byte:02x}")).collect();
    let zeros = |bytes: usize| "00".repeat(bytes);
    let pattern: String = (100..116).map(|byte: u8| format!("{byte:02x}")).collect();
    json!({
        "do": "launch",
        "text": format!("{HEADER}{}", case.entry("k")),
        "kernel": "k",
        "threads": count,
        "buffers": [operands, zeros(count * case.outputs.len() * SLOT), zeros(count * 64)],
        "tail": zeros(8) + &pattern,
    })
}

/// All rows except those for textures, which a page does not have.
fn cases() -> Vec<Case> {
    let mut cases = table::all();
    cases.retain(|case| !case.place.starts_with("textures"));
    cases
}

#[test]
fn every_row_has_the_same_bits_in_a_page() {
    let Some(answers) = run_in_module(&[], "plain") else { return };
    assert_eq!(answers[0], "false");
    compare(&answers[1..]);
}

/// Checks every row with a fused multiply-add instruction that not every browser has.
#[test]
fn every_row_has_the_same_bits_by_relaxed_simd() {
    let knows = Command::new("node").args([RELAXED, "--version"]).output();
    let options: &[&str] =
        if knows.is_ok_and(|output| output.status.success()) { &[RELAXED] } else { &[] };
    let Some(answers) = run_in_module(options, "relaxed") else { return };
    match answers[0].as_str() {
        "unknown" => skipped::skip("this Node doesn't know relaxed SIMD"),
        // If this machine rounds twice, the emulator has detected that and doesn't use the instruction.
        "false" | "true" => compare(&answers[1..]),
        other => panic!("{other}"),
    }
}

/// The module's answers to all rows, one per line, after a line that says whether the instruction is used.
fn run_in_module(options: &[&str], which: &str) -> Option<Vec<String>> {
    let Some(module) = std::env::var_os("PLAYGROUND_MODULE") else {
        skipped::skip(
            "PLAYGROUND_MODULE does not name the module that scripts/wasm-module.sh makes",
        );
        return None;
    };
    let node = Command::new("node")
        .args(options)
        .args(["-e", SCRIPT, "--"])
        .arg(module)
        .arg(which)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut node) = node else {
        skipped::skip("there is no node");
        return None;
    };
    let requests: Vec<String> = cases().iter().map(|case| request(case).to_string()).collect();
    node.stdin.take().unwrap().write_all(requests.join("\n").as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).unwrap().lines().map(String::from).collect())
}

/// Checks that the module's answer to each row is the same as the emulator's on this machine.
fn compare(answers: &[String]) {
    let cases = cases();
    let emulator = Emulator::new(options(false));
    let (mut failures, mut compared) = (Vec::new(), 0);
    for (case, answer) in cases.iter().zip(answers) {
        let answer: Value = serde_json::from_str(answer).unwrap();
        let text = format!("{HEADER}{}", case.entry("k"));
        let source = Source { name: case.place.clone(), text: text.clone() };
        let loaded = emulator.load(source).unwrap();
        let own = run(&emulator, &text, &loaded.kernel("k").unwrap(), case).unwrap();
        let own: String = own
            .iter()
            .flatten()
            .flat_map(|bits| bits.to_le_bytes())
            .map(|byte| format!("{byte:02x}"))
            .collect();
        if answer["buffers"][1] != own.as_str() {
            failures.push(format!("{}: {}: {answer}, and here {own}", case.place, case.text));
        }
        compared += 1;
    }
    assert_eq!(compared, cases.len(), "the module did not answer all");
    assert!(
        failures.is_empty(),
        "{} differ:\n{}",
        failures.len(),
        failures[..failures.len().min(MAX_SHOWN)].join("\n")
    );
}
