//! Helpers for handwritten PTX: build a text, load it, launch it, and read the results.

use ptx_emulator::{Emulator, Fault, Launch, Loaded, RunOptions, Statistics};

use crate::{kernel, record};

/// The directives at the beginning of a PTX text, for the newest PTX version and target that the emulator supports.
pub const HEADER: &str = ".version 8.8\n.target sm_90a\n.address_size 64\n";

/// A PTX text with a kernel `k` that has the pointer parameters `p0`, `p1`, …; `body` can use them as global
/// addresses in `%p0`, `%p1`, ….
pub fn kernel(pointers: usize, body: &str) -> String {
    kernel_with("", pointers, body)
}

/// A PTX text as from [`kernel()`], with declarations at module scope.
pub fn kernel_with(declarations: &str, pointers: usize, body: &str) -> String {
    format!("{HEADER}{declarations}{}", entry("k", pointers, body))
}

/// The text of one kernel, without a header. Its parameters and body are as for [`kernel()`].
pub fn entry(name: &str, pointers: usize, body: &str) -> String {
    let list: Vec<String> = (0..pointers).map(|i| format!(".param .u64 p{i}")).collect();
    let (list, count) = (list.join(", "), pointers.max(1));
    let loads: String = (0..pointers).map(|i| format!("ld.param.u64 %p{i}, [p{i}];\n")).collect();
    format!(".visible .entry {name}({list})\n{{\n.reg .b64 %p<{count}>;\n{loads}{body}\n}}\n")
}

/// Loads a PTX text. Panics with its diagnostics if it has errors.
pub fn load(emulator: &Emulator, text: &str) -> Loaded {
    kernel::load(emulator, "test.ptx", text)
}

/// Launches the kernel `k` of a text with these pointers as arguments.
pub fn launch(
    emulator: &Emulator,
    text: &str,
    (grid, block): ([u32; 3], [u32; 3]),
    pointers: &[u64],
) -> Result<Statistics, Fault> {
    let kernel = load(emulator, text).kernel("k").expect("the kernel k");
    let parameters = pointers.iter().flat_map(|p| p.to_le_bytes()).collect();
    let launch = Launch { grid, block, parameters, ..Launch::default() };
    record::launch(emulator, text, &kernel, &launch)
}

/// An emulated device with an instruction limit.
pub fn emulator() -> Emulator {
    Emulator::new(RunOptions { instruction_limit: Some(10_000_000), ..RunOptions::default() })
}

/// Allocates device memory with these words.
pub fn words(emulator: &Emulator, values: &[u32]) -> u64 {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let address = emulator.memory().allocate(bytes.len() as u64, 4).unwrap();
    emulator.memory().write(address, &bytes).unwrap();
    address
}

/// Reads `count` words of device memory.
pub fn read(emulator: &Emulator, address: u64, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; count * 4];
    emulator.memory().read(address, &mut bytes).unwrap();
    bytes.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Launches the kernel `k` of a text with pointers to buffers of these words, and returns their words afterwards.
pub fn run<const N: usize>(
    text: &str,
    shape: ([u32; 3], [u32; 3]),
    buffers: [&[u32]; N],
) -> Result<[Vec<u32>; N], Fault> {
    let emulator = emulator();
    let addresses = buffers.map(|values| words(&emulator, values));
    launch(&emulator, text, shape, &addresses)?;
    Ok(std::array::from_fn(|index| read(&emulator, addresses[index], buffers[index].len())))
}

/// Runs `body` in one block of `threads` threads, and returns the value of `%r0` in each.
pub fn each_thread(threads: u32, registers: &str, body: &str) -> Vec<u32> {
    let text = kernel(
        1,
        &format!(
            ".reg .b32 %r0, %out_t;\n.reg .b64 %out_a;\n{registers}\n{body}\n\
             mov.u32 %out_t, %tid.x;\nmul.wide.u32 %out_a, %out_t, 4;\nadd.u64 %out_a, %out_a, %p0;\n\
             st.global.u32 [%out_a], %r0;\nret;"
        ),
    );
    let out = vec![0xdead_beef; threads as usize];
    let [out] =
        run(&text, ([1; 3], [threads, 1, 1]), [&out]).unwrap_or_else(|fault| panic!("{fault}"));
    out
}
