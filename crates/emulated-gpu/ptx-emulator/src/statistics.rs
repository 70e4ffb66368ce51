//! Counters of a launch: instructions, divergence, memory sectors and bank conflicts of each line.

/// Counts of one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Blocks that ran.
    pub blocks: u64,
    /// Warps that ran.
    pub warps: u64,
    /// Instructions that warps executed, each for up to 32 lanes.
    pub warp_instructions: u64,
    /// Executed instructions, each counted once for every lane that reached it.
    pub thread_instructions: u64,
    /// One entry for each executed instruction of the PTX, in the order of the text; empty unless counting is
    /// enabled.
    pub lines: Vec<LineStatistics>,
}

/// Counts of one instruction of the PTX.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineStatistics {
    /// The line in the PTX, from 1.
    pub line: usize,
    /// The number of executions by warps.
    pub executions: u64,
    /// The number of active lanes over all executions. Lanes whose predicate is false are not active.
    pub active_lanes: u64,
    /// Executions while other running lanes of the warp were at another instruction.
    pub divergent: u64,
    /// Branches at which the lanes diverged.
    pub splits: u64,
    /// Executions that accessed global memory.
    pub global_requests: u64,
    /// 32-byte sectors of global memory that were accessed; 4 for a request of 32 contiguous words.
    pub global_sectors: u64,
    /// The sectors among these that were written to, including by atomic operations.
    pub global_written_sectors: u64,
    /// Executions that accessed shared memory.
    pub shared_requests: u64,
    /// Passes of these accesses: 1 for each without a bank conflict (32 banks of 4 bytes).
    pub shared_passes: u64,
    /// Floating-point multiply-adds of the scalar units, in active lanes.
    pub fma_multiply_adds: u64,
    /// Multiply-adds of the matrix units.
    pub tensor_multiply_adds: u64,
    /// The part of both that is not single precision (or, on the matrix units, not TF32).
    pub other_multiply_adds: u64,
    /// Floating-point additions, subtractions and products that are not part of a multiply-add.
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
