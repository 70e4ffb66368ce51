//! Recordings of launches, which `scripts/compare-hardware.py` replays on a GPU to compare the results.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use ptx_emulator::memory::{AllocationKind, Memory};
use ptx_emulator::{Emulator, Fault, Kernel, Launch, Statistics};

/// The environment variable that names the folder for recordings; without it, nothing is recorded.
const VARIABLE: &str = "EMULATED_GPU_RECORD";

/// The maximum number of bytes in the buffers of a launch. For a launch with larger buffers, the recording has no
/// contents.
const MAX_BYTES: u64 = 1 << 20;

/// Launches a kernel of `text`. If `EMULATED_GPU_RECORD` names a folder, a file is written there whose name is a hash
/// of the launch. It contains the PTX text, the shape, the parameters, and the contents, before and after the launch,
/// of all memory that the parameters reach. If a second launch has the same hash but other results, a file is added
/// with the extension `unstable`.
///
/// # Errors
/// As for [`Emulator::launch`]. A launch that fails is not recorded.
pub fn launch(
    emulator: &Emulator,
    text: &str,
    kernel: &Kernel,
    launch: &Launch,
) -> Result<Statistics, Fault> {
    let folder = std::env::var_os(VARIABLE);
    // Only launches on the default card are recorded: tensor cores of older cards give different results.
    let is_default = emulator.options().capability.is_none_or(|capability| capability == 90);
    let Some(folder) = folder.filter(|_| is_default) else {
        return emulator.launch(kernel, launch);
    };
    let buffers = Buffers::find(emulator.memory(), &launch.parameters);
    let before = buffers.contents(emulator.memory());
    let statistics = emulator.launch(kernel, launch)?;
    let after = buffers.contents(emulator.memory());
    let [x, y, z] = launch.grid;
    let [columns, rows, planes] = launch.block;
    let mut inputs = format!(
        "kernel {}\ngrid {x} {y} {z}\nblock {columns} {rows} {planes}\nshared {}\ncooperative {}\n",
        kernel.name(),
        launch.dynamic_shared,
        u8::from(launch.cooperative),
    );
    for (buffer, contents) in buffers.0.iter().zip(&before) {
        // `variable` is empty unless the buffer is a variable of the module.
        inputs += &format!("buffer {} {}\n", contents.len(), buffer.variable);
    }
    // A card refuses parameters that are longer than the kernel's.
    let parameters =
        &launch.parameters[..launch.parameters.len().min(kernel.parameter_bytes() as usize)];
    inputs += &format!("parameters {}\ntext {}\n\n", parameters.len(), text.len());
    let mut inputs = inputs.into_bytes();
    inputs.extend_from_slice(text.as_bytes());
    inputs.extend(buffers.with_symbolic_pointers(parameters));
    before.iter().for_each(|bytes| inputs.extend(buffers.with_symbolic_pointers(bytes)));
    let results: Vec<u8> =
        after.iter().flat_map(|bytes| buffers.with_symbolic_pointers(bytes)).collect();
    write(&folder, &inputs, &results).unwrap();
    Ok(statistics)
}

/// An allocation that a launch can reach.
struct Buffer {
    address: u64,
    size: u64,
    /// The variable's name, if the buffer is a variable of the module.
    variable: String,
}

struct Buffers(Vec<Buffer>);

impl Buffers {
    /// Finds the variables, and the allocations to which the parameters or other reachable buffers point.
    fn find(memory: &Memory, parameters: &[u8]) -> Self {
        let (variables, others): (Vec<_>, Vec<_>) =
            memory.allocations().into_iter().partition(|one| {
                matches!(one.kind, AllocationKind::Variable | AllocationKind::Constant)
            });
        let mut found = Self(Vec::new());
        for one in variables {
            let variable = one.name.unwrap_or_default();
            found.0.push(Buffer { address: one.address, size: one.size, variable });
        }
        let mut searched = 0;
        let mut bytes = parameters.to_vec();
        loop {
            for value in bytes.chunks_exact(8) {
                let value = u64::from_le_bytes(value.try_into().unwrap());
                let holds = |start: u64, size: u64| value >= start && value - start < size.max(1);
                let known = found.0.iter().any(|buffer| holds(buffer.address, buffer.size));
                let Some(one) = others.iter().find(|one| !known && holds(one.address, one.size))
                else {
                    continue;
                };
                found.0.push(Buffer {
                    address: one.address,
                    size: one.size,
                    variable: String::new(),
                });
            }
            let Some(next) = found.0.get(searched) else { return found };
            bytes = next.contents(memory);
            searched += 1;
        }
    }

    fn contents(&self, memory: &Memory) -> Vec<Vec<u8>> {
        self.0.iter().map(|buffer| buffer.contents(memory)).collect()
    }

    /// Replaces each aligned pointer into a buffer by `0x5eed`, the index of the buffer in 16 bits, and the offset in
    /// 32 bits.
    fn with_symbolic_pointers(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for word in bytes.chunks_exact_mut(8) {
            let value = u64::from_le_bytes((&*word).try_into().unwrap());
            let inside = |one: &Buffer| value >= one.address && value - one.address <= one.size;
            if let Some(index) = self.0.iter().position(inside) {
                let offset = value - self.0[index].address;
                let symbol = 0x5eed << 48 | (index as u64) << 32 | offset;
                word.copy_from_slice(&symbol.to_le_bytes());
            }
        }
        bytes
    }
}

impl Buffer {
    fn contents(&self, memory: &Memory) -> Vec<u8> {
        let mut bytes = vec![0; self.size as usize];
        // An error is ignored: memory that can't be read is not compared.
        let _ = memory.read(self.address, &mut bytes);
        bytes
    }
}

fn write(folder: &OsStr, inputs: &[u8], results: &[u8]) -> std::io::Result<()> {
    let mut hasher = DefaultHasher::new();
    inputs.hash(&mut hasher);
    let path = Path::new(folder).join(format!("{:016x}.launch", hasher.finish()));
    if (inputs.len() + results.len()) as u64 > MAX_BYTES {
        return fs::write(path.with_extension("large"), "");
    }
    if let Ok(former) = fs::read(&path) {
        if !former.ends_with(results) {
            fs::write(path.with_extension("unstable"), results)?;
        }
        return Ok(());
    }
    let program = std::env::current_exe()?;
    let program = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let program = program.rsplit_once('-').map_or(program.as_str(), |(name, _)| name);
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    let mut all = format!("test {program}::{test}\n").into_bytes();
    all.extend_from_slice(inputs);
    all.extend_from_slice(results);
    // The temporary name is unique, because other threads and processes may record the same launch.
    let own = path.with_extension(format!("{}-{:?}", std::process::id(), thread.id()));
    fs::write(&own, all)?;
    fs::rename(own, path)
}
