//! Counters of a launch: instructions, divergence, memory sectors, bank conflicts, for each line.

/// Counts of one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Blocks that ran.
    pub blocks: u64,
    /// Warps that ran.
    pub warps: u64,
    /// Instructions that warps executed; one for up to 32 lanes.
    pub warp_instructions: u64,
    /// The same, times the lanes that had come to that instruction.
    pub thread_instructions: u64,
    /// One entry for each instruction of the PTX that was executed, in the order of the text;
    /// empty unless statistics were asked for.
    pub lines: Vec<LineStatistics>,
}

/// Counts of one instruction of the PTX.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineStatistics {
    /// The line in the PTX, from 1.
    pub line: usize,
    /// How often a warp executed it.
    pub executions: u64,
    /// How many lanes did something, over all executions; predicated-off lanes did not.
    pub active_lanes: u64,
    /// Executions at which some lanes of the warp that still run were elsewhere.
    pub divergent: u64,
    /// Branches that sent the lanes two ways.
    pub splits: u64,
    /// Executions that accessed global memory.
    pub global_requests: u64,
    /// 32-byte sectors of global memory that they touched; 4 for each request of 32 contiguous words.
    pub global_sectors: u64,
    /// Those of them that were written to; an atomic operation's are.
    pub global_written_sectors: u64,
    /// Executions that accessed shared memory.
    pub shared_requests: u64,
    /// Passes that they took: 1 for each without a bank conflict (32 banks of 4 bytes).
    pub shared_passes: u64,
    /// Multiply-adds of floating-point numbers by the units for single numbers, in lanes that took part.
    pub fma_multiply_adds: u64,
    /// Multiply-adds by the matrix units.
    pub tensor_multiply_adds: u64,
    /// Those of both that are of other types than single precision, and TF32 on the matrix units.
    pub other_multiply_adds: u64,
    /// Floating-point additions, subtractions and products that are no part of a multiply-add.
    pub single_operations: u64,
}

impl LineStatistics {
    /// Adds another count of the same line.
    pub fn add(&mut self, other: &Self) {
        self.executions += other.executions;
        self.active_lanes += other.active_lanes;
        self.divergent += other.divergent;
        self.splits += other.splits;
        self.global_requests += other.global_requests;
        self.global_sectors += other.global_sectors;
        self.global_written_sectors += other.global_written_sectors;
        self.shared_requests += other.shared_requests;
        self.shared_passes += other.shared_passes;
        self.fma_multiply_adds += other.fma_multiply_adds;
        self.tensor_multiply_adds += other.tensor_multiply_adds;
        self.other_multiply_adds += other.other_multiply_adds;
        self.single_operations += other.single_operations;
    }
}
