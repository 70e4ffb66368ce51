//! Launch of a test case on its own emulated device, with every sanitizer.

use ptx_emulator::record::Record;
use ptx_emulator::source::Source;
use ptx_emulator::{Checks, Emulator, Fault, Kernel, Launch, Loaded, RunOptions, Statistics};

use crate::attempt::Limits;
use crate::case::{Argument, Buffer, Case, Data};
use crate::printed::Printed;

/// An emulated device with a loaded program, whose memory contains the buffers of a case.
pub(crate) struct Device {
    emulator: Emulator,
    loaded: Loaded,
    /// Address of each buffer, in the order of the arguments; `None` for an argument that is a
    /// number.
    pub(crate) addresses: Vec<Option<u64>>,
}

/// A failure before the launch.
#[derive(Debug)]
pub(crate) enum NotLaunched {
    /// The PTX text has errors.
    Program(Vec<ptx_emulator::Diagnostic>),
    /// The kernel is missing, or its parameters differ from the frame's.
    Kernel(String),
    /// The device is out of memory.
    Memory(String),
}

impl Device {
    /// Loads a PTX text, and allocates and fills the buffers of a case.
    pub(crate) fn new(
        source: &Source,
        case: &Case,
        limits: &Limits,
        printed: &Printed,
    ) -> Result<Self, NotLaunched> {
        let emulator = Emulator::new(RunOptions {
            threads: 1,
            deterministic: true,
            checks: Checks { initialisation: true, races: true, synchronisation: true },
            statistics: true,
            instruction_limit: Some(limits.instructions),
            memory: Some(limits.memory),
            output: printed.output(),
            ..RunOptions::default()
        });
        let loaded = emulator.load(source.clone()).map_err(NotLaunched::Program)?;
        let addresses: Result<_, _> = case
            .arguments
            .iter()
            .map(|argument| match argument {
                Argument::Buffer(buffer) => place(&emulator, buffer).map(Some),
                Argument::U32(..) | Argument::F32(..) => Ok(None),
            })
            .collect();
        Ok(Self { emulator, loaded, addresses: addresses? })
    }

    /// The kernel with this name, if its parameters match the arguments of the case.
    pub(crate) fn kernel(&self, name: &str, case: &Case) -> Result<Kernel, NotLaunched> {
        let names = self.loaded.kernels();
        let found = names.iter().find(|kernel| cuda_c::source_name(kernel) == name);
        let Some(kernel) = found.and_then(|name| self.loaded.kernel(name)) else {
            return Err(NotLaunched::Kernel(format!("The source has no kernel called `{name}`.")));
        };
        let wanted: Vec<&str> = case.arguments.iter().map(Argument::name).collect();
        let (wanted, layouts) = (wanted.join(", "), kernel.parameters());
        if layouts.len() != case.arguments.len() {
            let (has, takes) = (layouts.len(), case.arguments.len());
            return Err(NotLaunched::Kernel(format!(
                "`{name}` has {has} parameters, but is launched with {takes}: {wanted}."
            )));
        }
        for (layout, argument) in layouts.iter().zip(&case.arguments) {
            let size = if matches!(argument, Argument::Buffer(_)) { 8 } else { 4 };
            if layout.size != size {
                let (name, has) = (argument.name(), layout.size);
                return Err(NotLaunched::Kernel(format!(
                    "The parameter `{name}` has {has} bytes, but is launched with {size}."
                )));
            }
        }
        Ok(kernel)
    }

    /// Launches the kernel.
    pub(crate) fn launch(&self, kernel: &Kernel, case: &Case) -> Result<Statistics, Fault> {
        self.emulator.launch(kernel, &self.shape(kernel, case))
    }

    /// Launches the kernel, and records at most `most` steps of a block.
    pub(crate) fn record(
        &self,
        kernel: &Kernel,
        case: &Case,
        block: [u32; 3],
        most: usize,
    ) -> Result<(Record, Result<Statistics, Fault>), Fault> {
        self.emulator.record(kernel, &self.shape(kernel, case), block, most)
    }

    fn shape(&self, kernel: &Kernel, case: &Case) -> Launch {
        let mut parameters = vec![0; kernel.parameter_bytes() as usize];
        let values = kernel.parameters().iter().zip(&case.arguments).zip(&self.addresses);
        for ((layout, argument), address) in values {
            let bytes = match argument {
                Argument::U32(_, value) => value.to_le_bytes().to_vec(),
                Argument::F32(_, value) => value.to_le_bytes().to_vec(),
                Argument::Buffer(_) => address.unwrap_or_default().to_le_bytes().to_vec(),
            };
            let at = layout.offset as usize;
            parameters[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        Launch {
            grid: case.grid,
            block: case.block,
            parameters,
            cooperative: case.cooperative,
            ..Launch::default()
        }
    }

    /// The contents of a buffer after the launch; `None` if the argument at `index` is a number.
    pub(crate) fn read(&self, index: usize, buffer: &Buffer) -> Option<Data> {
        let address = self.addresses[index]?;
        let mut bytes = vec![0; buffer.before.len() * 4];
        self.emulator.memory().read(address, &mut bytes).ok()?;
        Some(buffer.before.decode(&bytes))
    }
}

fn place(emulator: &Emulator, buffer: &Buffer) -> Result<u64, NotLaunched> {
    let memory = emulator.memory();
    let bytes = buffer.before.bytes();
    let address = memory
        .allocate(bytes.len() as u64, 256)
        .map_err(|error| NotLaunched::Memory(error.to_string()))?;
    if buffer.written {
        memory.write(address, &bytes).map_err(|error| NotLaunched::Memory(error.to_string()))?;
    }
    Ok(address)
}
