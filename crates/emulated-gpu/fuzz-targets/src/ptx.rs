//! Fuzz target for PTX: texts are parsed, checked, and run if they are valid.

use std::sync::{Arc, Mutex};

use emulated_gpu_test_support::diagnostics::check;
use ptx_emulator::program::Module;
use ptx_emulator::source::Source;
use ptx_emulator::{Checks, Emulator, Launch, Output, RunOptions};

/// The size of each buffer that is passed to a kernel, in bytes.
const BUFFER: u64 = 4096;
/// The instruction limit of a warp.
const INSTRUCTIONS: u64 = 2000;
/// The maximum size of all variables in bytes. A module with larger variables is only checked, not
/// run.
const VARIABLES: u64 = 1 << 20;

/// Parses a text and, if it is valid, runs all of its kernels.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let source = Source { name: "fuzzed.ptx".into(), text };
    match ptx_emulator::parse(&source) {
        Ok(module) => {
            link(&source);
            run_kernels(module, source);
        }
        Err(diagnostics) => {
            assert!(!diagnostics.is_empty());
            diagnostics.iter().for_each(|diagnostic| check(diagnostic, &source.text));
        }
    }
}

/// Links the text with an empty text, which must succeed, and with itself, which may fail.
fn link(source: &Source) {
    let nothing = ".version 6.0\n.target sm_30\n".to_owned();
    let nothing = Source { name: "nothing.ptx".into(), text: nothing };
    let text = ptx_emulator::link(&[source.clone(), nothing]).expect("an empty text can be linked");
    let linked = Source { name: "linked.ptx".into(), text };
    if let Err(diagnostics) = ptx_emulator::parse(&linked) {
        panic!("{}\n{}", diagnostics[0], linked.text);
    }
    if let Ok(text) = ptx_emulator::link(&[source.clone(), source.clone()]) {
        let _ = ptx_emulator::parse(&Source { text, ..linked });
    }
}

/// The total size of all variables in a module.
fn size(module: &Module) -> u64 {
    let own = module.functions.iter().flat_map(|function| &function.variables);
    module.variables.iter().chain(own).map(|v| v.size).fold(0, u64::saturating_add)
}

/// Runs each kernel twice; one of the two runs may have sanitizers enabled.
fn run_kernels(module: Module, source: Source) {
    if size(&module) > VARIABLES {
        return;
    }
    // The text determines which sanitizers run, so that a finding is reproducible.
    let chosen = source.text.bytes().fold(0_u8, u8::wrapping_add);
    let emulator = Emulator::new(RunOptions {
        deterministic: true,
        portable: chosen & 1 != 0,
        statistics: chosen & 2 != 0,
        seed: (chosen & 4 != 0).then_some(u64::from(chosen)),
        checks: Checks {
            initialisation: chosen & 8 != 0,
            races: chosen & 16 != 0,
            synchronisation: chosen & 32 != 0,
        },
        instruction_limit: Some(INSTRUCTIONS),
        output: Output::to(Arc::new(Mutex::new(std::io::sink()))),
        ..RunOptions::default()
    });
    let Ok(loaded) = emulator.load_module(module, source) else { return };
    let memory = emulator.memory();
    let buffers = [(); 2].map(|()| memory.allocate(BUFFER, 256).expect("little is allocated"));
    for buffer in buffers {
        memory.fill(buffer, &[1, 2, 3, 4], BUFFER / 4).expect("it is allocated");
    }
    for name in loaded.kernels() {
        let kernel = loaded.kernel(&name).expect("it is listed");
        let mut parameters = vec![0; kernel.parameter_bytes() as usize];
        for (index, layout) in kernel.parameters().iter().enumerate() {
            let value = match layout.size {
                8 => buffers[index % 2],
                _ => 7 + index as u64,
            };
            let at = layout.offset as usize;
            let bytes = parameters.iter_mut().skip(at).take(layout.size as usize);
            bytes.zip(value.to_le_bytes()).for_each(|(byte, value)| *byte = value);
        }
        let block = [[32, 1, 1], [33, 1, 1], [1, 1, 1], [8, 4, 2]][usize::from(chosen >> 6)];
        let launch = Launch { grid: [2, 1, 1], block, parameters, ..Launch::default() };
        if let Err(fault) = emulator.launch(&kernel, &launch) {
            assert!(!fault.to_string().is_empty());
        }
    }
}
