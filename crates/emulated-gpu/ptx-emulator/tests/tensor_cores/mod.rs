//! The instructions of the matrix units, tested through the whole emulator.

mod held;
mod isa;
mod misplaced;
mod moves;
mod products;
mod sparse;
mod tiles;
mod vectors;
mod warp;

use crate::instructions::matrix as forms;
