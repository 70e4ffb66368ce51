//! Launch with parameters and buffers as bytes, for tests that compare a page's emulator with the program.

use ptx_emulator::source::Source;
use ptx_emulator::{Emulator, Launch};
use serde_json::{Value, json};

use crate::exchange;

/// Launches a kernel as one block of `threads` threads. Its parameters are the addresses of the buffers, followed by the
/// bytes of `tail`. Bytes are in hexadecimal. Returns `{"buffers": […]}` or `{"fault": …}`.
pub(crate) fn launch(
    text: &str,
    kernel: &str,
    threads: u32,
    buffers: &[String],
    tail: &str,
) -> Result<Value, String> {
    let emulator = Emulator::new(exchange::options(&exchange::printed()));
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
        None => "the kernel can't be loaded".to_owned(),
    })?;
    let kernel = loaded.kernel(kernel).ok_or_else(|| format!("the text has no kernel {kernel}"))?;
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
    pairs
        .map(|pair| {
            byte(pair).ok_or_else(|| "bytes have to be pairs of hexadecimal digits".to_owned())
        })
        .collect()
}
