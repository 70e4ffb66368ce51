//! The emulated hardware: the devices' memory, the emulator that runs kernels on it, and the driver's records about
//! both. Contexts have references to the hardware, but the hardware refers to no context.

use std::sync::Arc;

use ptx_emulator::{Emulator, Memory, RunOptions};

use crate::device::kernel_counts::KernelCounts;
use crate::device::settings::Settings;
use crate::memory::allocations::Allocations;
use crate::memory::graph_usage::GraphUsage;
use crate::memory::virtual_memory::Handles;

/// The emulated devices.
#[derive(Debug)]
pub(crate) struct Hardware {
    pub(crate) settings: Settings,
    pub(crate) emulator: Emulator,
    pub(crate) allocations: Arc<Allocations>,
    /// The registry of handles of physical memory.
    pub(crate) handles: Handles,
    pub(crate) graph_memory: GraphUsage,
    pub(crate) counts: KernelCounts,
}

impl Hardware {
    /// Creates the hardware that the settings describe.
    pub(crate) fn new(settings: Settings) -> Self {
        let memory = settings.memory_of_each();
        let emulator = Emulator::new(RunOptions {
            threads: settings.threads,
            deterministic: settings.deterministic,
            seed: settings.seed,
            checks: settings.checks,
            instruction_limit: settings.instruction_limit,
            memory: Some(memory),
            reserve_addresses: true,
            capability: Some(settings.capability),
            ..RunOptions::default()
        });
        emulator.set_statistics(settings.statistics.is_some());
        Self {
            allocations: Arc::new(Allocations::new(emulator.clone(), memory)),
            emulator,
            handles: Handles::default(),
            graph_memory: GraphUsage::default(),
            counts: KernelCounts::default(),
            settings,
        }
    }

    /// The memory of all devices.
    pub(crate) fn memory(&self) -> &Memory {
        self.emulator.memory()
    }
}
