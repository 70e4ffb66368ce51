//! A test bench that runs PTX directly on the emulator, without a driver, with every check.

#![allow(dead_code, reason = "each file of tests uses a part")]

use ptx_emulator::source::Source;
use ptx_emulator::{Checks, Emulator, Fault, Launch, Loaded, RunOptions, Statistics};

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg {
    U32(u32),
    U64(u64),
    F32(f32),
}

/// A device with a loaded module.
pub(crate) struct Bench {
    pub(crate) emulator: Emulator,
    pub(crate) loaded: Loaded,
}

/// Options with every check.
pub(crate) fn checked() -> RunOptions {
    let checks = Checks { initialisation: true, races: true, synchronisation: true };
    RunOptions { checks, ..RunOptions::default() }
}

impl Bench {
    /// Loads PTX; panics with the messages if it is invalid.
    pub(crate) fn new(name: &str, ptx: &str, options: RunOptions) -> Self {
        let emulator = Emulator::new(RunOptions { instruction_limit: Some(1 << 24), ..options });
        let source = Source { name: name.into(), text: ptx.into() };
        let loaded = emulator.load(source).unwrap_or_else(|errors| {
            let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
            panic!("{}", shown.join("\n"))
        });
        Self { emulator, loaded }
    }

    /// Allocates uninitialised memory for `count` numbers.
    pub(crate) fn allocate(&self, count: usize) -> u64 {
        self.emulator.memory().allocate(4 * count as u64, 256).unwrap()
    }

    /// Copies numbers to device memory.
    pub(crate) fn floats(&self, values: &[f32]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let address = self.allocate(values.len());
        self.emulator.memory().write(address, &bytes).unwrap();
        address
    }

    /// Copies words of 64 bits to device memory.
    pub(crate) fn words(&self, values: &[u64]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let address = self.allocate(2 * values.len());
        self.emulator.memory().write(address, &bytes).unwrap();
        address
    }

    /// Allocates zeros.
    pub(crate) fn zeros(&self, count: usize) -> u64 {
        self.floats(&vec![0.0; count])
    }

    /// Reads numbers from device memory.
    pub(crate) fn read(&self, address: u64, count: usize) -> Vec<f32> {
        let mut bytes = vec![0; 4 * count];
        self.emulator.memory().read(address, &mut bytes).unwrap();
        bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    }

    /// Launches a kernel, with its arguments laid out as the kernel declares its parameters.
    pub(crate) fn try_launch(
        &self,
        name: &str,
        grid: [u32; 3],
        block: u32,
        shared: u32,
        cooperative: bool,
        args: &[Arg],
    ) -> Result<Statistics, Fault> {
        let kernel = self.loaded.kernel(name).unwrap_or_else(|| panic!("no kernel {name}"));
        let layouts = kernel.parameters();
        assert_eq!(layouts.len(), args.len(), "arguments of {name}");
        let mut parameters = vec![0; kernel.parameter_bytes() as usize];
        for (arg, layout) in args.iter().zip(layouts) {
            let bytes = match arg {
                Arg::U32(value) => value.to_le_bytes().to_vec(),
                Arg::U64(value) => value.to_le_bytes().to_vec(),
                Arg::F32(value) => value.to_le_bytes().to_vec(),
            };
            let at = layout.offset as usize;
            parameters[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        let block = [block, 1, 1];
        let dynamic_shared = shared;
        let launch =
            Launch { grid, block, dynamic_shared, parameters, cooperative, ..Launch::default() };
        self.emulator.launch(&kernel, &launch)
    }

    /// Like [`try_launch`](Self::try_launch), but panics if the kernel has a fault.
    pub(crate) fn launch(&self, name: &str, grid: [u32; 3], block: u32, args: &[Arg]) {
        if let Err(fault) = self.try_launch(name, grid, block, 0, false, args) {
            panic!("{fault}");
        }
    }
}
