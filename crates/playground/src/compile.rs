//! Diagnostics of PTX and CUDA C, and the compiled PTX.

use ptx_emulator::source::Source;
use serde_json::{Value, json};

use crate::exchange::{cuda_diagnostic, ptx_diagnostic};

/// Whether a file with this name is CUDA C.
fn is_cuda_c(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|end| end == "cu")
}

/// Checks a text: `{"diagnostics": […], "kernels": […]}`. The kernels are the names of the entry points, and empty if
/// there are errors.
pub(crate) fn check(name: &str, text: &str) -> Value {
    if is_cuda_c(name) {
        let mut answer = compile(name, text);
        if let Some(answer) = answer.as_object_mut() {
            answer.remove("ptx");
        }
        return answer;
    }
    let source = Source { name: name.to_owned(), text: text.to_owned() };
    match ptx_emulator::parse(&source) {
        Ok(module) => {
            let entries = module.functions.iter().filter(|function| function.entry);
            let names: Vec<&str> = entries.map(|function| function.name.as_str()).collect();
            json!({ "diagnostics": [], "kernels": names })
        }
        Err(found) => {
            let list: Vec<Value> = found.iter().map(ptx_diagnostic).collect();
            json!({ "diagnostics": list, "kernels": [] })
        }
    }
}

/// Compiles CUDA C: as [`check`], with `"ptx"` if the text compiles.
pub(crate) fn compile(name: &str, text: &str) -> Value {
    let options = cuda_c::CompileOptions { name, ..cuda_c::CompileOptions::default() };
    match cuda_c::compile(text, &options) {
        Ok(ptx) => {
            // Compiled PTX can only have errors in inline PTX, which the user wrote.
            debug_assert!(
                text.contains("asm") || check("made.ptx", &ptx.text)["diagnostics"] == json!([]),
                "cuda-c made PTX that the emulator rejects:\n{}",
                ptx.text
            );
            let list: Vec<Value> = ptx.warnings.iter().map(cuda_diagnostic).collect();
            json!({ "diagnostics": list, "kernels": ptx.kernels, "ptx": ptx.text })
        }
        Err(found) => {
            let list: Vec<Value> = found.iter().map(cuda_diagnostic).collect();
            json!({ "diagnostics": list, "kernels": [] })
        }
    }
}
