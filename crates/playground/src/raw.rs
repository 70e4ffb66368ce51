//! A launch by its bytes: what tests ask for, to hold a page's emulator to the program's.

use ptx_emulator::source::Source;
use ptx_emulator::{Emulator, Launch};
use serde_json::{Value, json};

use crate::told::Printed;

/// Launches a kernel as one block of this many threads. Its parameters are the addresses of the buffers, and
/// behind them the bytes of `tail`. Bytes are written in hexadecimal. `{"buffers": […]}`, or `{"fault": …}`.
pub(crate) fn launch(
    text: &str,
    kernel: &str,
    threads: u32,
    buffers: &[String],
    tail: &str,
) -> Result<Value, String> {
    let emulator = Emulator::new(Printed::default().options());
    let memory = emulator.memory();
    let mut parameters = Vec::new();
    let mut places = Vec::new();
    for buffer in buffers {
        let bytes = from_hex(buffer)?;
        let size = bytes.len() as u64;
        let address = memory.allocate(size, 256).map_err(|error| error.to_string())?;
        memory.write(address, &bytes).map_err(|error| error.to_string())?;
        parameters.extend(address.to_le_bytes());
        places.push((address, bytes.len()));
    }
    parameters.extend(from_hex(tail)?);
    let source = Source { name: "kernel.ptx".to_owned(), text: text.to_owned() };
    let loaded = emulator.load(source).map_err(|found| match found.first() {
        Some(first) => first.to_string(),
        None => "it can't be loaded".to_owned(),
    })?;
    let kernel = loaded.kernel(kernel).ok_or_else(|| format!("there is no kernel {kernel}"))?;
    let launch = Launch { grid: [1; 3], block: [threads, 1, 1], parameters, ..Launch::default() };
    if let Err(fault) = emulator.launch(&kernel, &launch) {
        return Ok(json!({ "fault": fault.to_string() }));
    }
    let mut after = Vec::new();
    for (address, len) in places {
        let mut bytes = vec![0; len];
        memory.read(address, &mut bytes).map_err(|error| error.to_string())?;
        after.push(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    }
    Ok(json!({ "buffers": after }))
}

fn from_hex(text: &str) -> Result<Vec<u8>, String> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let digits = std::str::from_utf8(pair).ok().filter(|digits| digits.len() == 2);
        digits.and_then(|digits| u8::from_str_radix(digits, 16).ok())
    };
    pairs.map(|pair| byte(pair).ok_or_else(|| "bytes are pairs of digits".to_owned())).collect()
}
