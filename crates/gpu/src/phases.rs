//! The phases of a training step, for levels that run several of them in one launch.

/// Phases of a training step, as a bit mask. It is an argument of kernels that can run several
/// phases.
pub type Phases = u32;

/// Computes `z1 a1 … zL p`.
pub const FORWARD: Phases = 1;
/// Computes `dzL dwL dbL … dz1 dw1 db1`.
pub const BACKWARD: Phases = 2;
/// Updates the parameters.
pub const UPDATE: Phases = 4;
/// All phases.
pub const STEP: Phases = FORWARD | BACKWARD | UPDATE;
