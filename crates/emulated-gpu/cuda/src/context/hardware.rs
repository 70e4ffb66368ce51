//! The emulated hardware: the devices' memory, the emulator that runs kernels on it, and records of both. Contexts
//! hold it; it refers to no context.

use std::sync::Arc;

use ptx_emulator::{Emulator, Memory, Options};

use crate::device::kernel_counts::Register;
use crate::device::settings::Settings;
use crate::memory::allocations::Allocations;
use crate::memory::graph_usage::Taken;
use crate::memory::virtual_memory::Handles;

/// The devices.
#[derive(Debug)]
pub(crate) struct Hardware {
    pub(crate) settings: Settings,
    pub(crate) emulator: Emulator,
    pub(crate) allocations: Arc<Allocations>,
    /// Of physical memory.
    pub(crate) handles: Handles,
    pub(crate) graph_memory: Taken,
    pub(crate) counts: Register,
}

impl Hardware {
    /// As the settings say.
    pub(crate) fn new(settings: Settings) -> Self {
        let memory = settings.memory_of_each();
        let emulator = Emulator::new(Options {
            threads: settings.threads,
            deterministic: settings.deterministic,
            seed: settings.seed,
            checks: settings.checks,
            instruction_limit: settings.instruction_limit,
            memory: Some(memory),
            reserve_addresses: true,
            capability: Some(settings.capability),
            ..Options::default()
        });
        emulator.set_statistics(settings.statistics.is_some());
        Self {
            allocations: Arc::new(Allocations::new(emulator.clone(), memory)),
            emulator,
            handles: Handles::default(),
            graph_memory: Taken::default(),
            counts: Register::default(),
            settings,
        }
    }

    /// What kernels access.
    pub(crate) fn memory(&self) -> &Memory {
        self.emulator.memory()
    }
}
