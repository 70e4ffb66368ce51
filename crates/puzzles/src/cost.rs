//! Cost of a kernel, in counts that are the same on every machine.

use ptx_emulator::Statistics;
use serde::{Deserialize, Serialize};

/// The cost of a kernel: counts, summed over all sizes on which the puzzle is tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Instructions that warps executed, each of which counts once for up to 32 lanes.
    pub warp_instructions: u64,
    /// Instructions that threads executed: each warp instruction counts once for each active lane.
    pub thread_instructions: u64,
    /// Sectors of 32 bytes of global memory that accesses touched.
    pub sectors: u64,
    /// Accesses of warps to shared memory.
    pub shared_accesses: u64,
    /// Extra passes of accesses to shared memory, because lanes needed different words of one bank.
    pub bank_conflicts: u64,
}

/// A count of a [`Cost`] that a puzzle may limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// [`Cost::warp_instructions`]
    WarpInstructions,
    /// [`Cost::thread_instructions`]
    ThreadInstructions,
    /// [`Cost::sectors`]
    Sectors,
    /// [`Cost::shared_accesses`]
    SharedAccesses,
    /// [`Cost::bank_conflicts`]
    BankConflicts,
}

impl Measure {
    /// All counts, in the order in which they are shown.
    pub const ALL: [Self; 5] = [
        Self::WarpInstructions,
        Self::ThreadInstructions,
        Self::Sectors,
        Self::SharedAccesses,
        Self::BankConflicts,
    ];

    /// The measure's name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WarpInstructions => "instructions of warps",
            Self::ThreadInstructions => "instructions of threads",
            Self::Sectors => "sectors of global memory",
            Self::SharedAccesses => "accesses to shared memory",
            Self::BankConflicts => "bank conflicts",
        }
    }

    /// The value of this measure in a cost.
    #[must_use]
    pub fn count(self, cost: &Cost) -> u64 {
        match self {
            Self::WarpInstructions => cost.warp_instructions,
            Self::ThreadInstructions => cost.thread_instructions,
            Self::Sectors => cost.sectors,
            Self::SharedAccesses => cost.shared_accesses,
            Self::BankConflicts => cost.bank_conflicts,
        }
    }
}

impl Cost {
    /// Adds the counts of another cost.
    pub(crate) fn join(&mut self, other: &Self) {
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        self.sectors += other.sectors;
        self.shared_accesses += other.shared_accesses;
        self.bank_conflicts += other.bank_conflicts;
    }

    /// Adds the counts of a launch.
    pub(crate) fn add(&mut self, statistics: &Statistics) {
        self.warp_instructions += statistics.warp_instructions;
        self.thread_instructions += statistics.thread_instructions;
        for line in &statistics.lines {
            self.sectors += line.global_sectors;
            self.shared_accesses += line.shared_requests;
            self.bank_conflicts += line.shared_passes.saturating_sub(line.shared_requests);
        }
    }
}
