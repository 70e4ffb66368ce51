//! The matrix units of a warp: all 32 lanes together, whose registers hold the matrices.

mod memory;
mod number;
mod product;
mod sparse;

pub(super) use memory::{Moved, Tile, Transposed};
pub(super) use product::Product;

use super::core::{Core, Outcome, Problem};
use crate::fault::FaultKind;

/// One of their instructions.
pub(super) enum MatrixStep {
    Product(Box<Product>),
    Transposed(Transposed),
    /// `ldmatrix`, `stmatrix`
    Moved(Box<Moved>),
    /// `wmma.load`, `wmma.store`
    Tile(Box<Tile>),
}

/// Does it. All lanes have come that are to come.
pub(super) fn run(core: &mut Core<'_>, step: &MatrixStep, active: u32) -> Outcome {
    if active != u32::MAX {
        let message = format!(
            "lanes {active:#010x} of a warp execute this, and it takes all 32: each holds a part of the matrices"
        );
        return Err(Problem::new(FaultKind::InactiveLane, message)
            .lane(active.trailing_zeros() as usize)
            .note("launch whole warps, and let no lane exit or branch away before it"));
    }
    match step {
        MatrixStep::Product(product) => return product.run(&mut core.registers),
        MatrixStep::Transposed(transposed) => transposed.run(&mut core.registers),
        MatrixStep::Moved(moved) => return moved.run(core),
        MatrixStep::Tile(tile) => return tile.run(core),
    }
    Ok(())
}
