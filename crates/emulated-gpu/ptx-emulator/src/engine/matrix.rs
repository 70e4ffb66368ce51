//! Matrix instructions of a warp (tensor cores). All 32 lanes together hold the matrices in their
//! registers.

mod memory;
mod number;
mod product;
mod sparse;

pub(super) use memory::{RowTransfer, TileTransfer, Transpose};
pub(super) use product::Product;

use super::core::{Core, Outcome, Problem};
use crate::fault::FaultKind;

/// A matrix instruction.
pub(super) enum MatrixStep {
    Product(Box<Product>),
    Transpose(Transpose),
    /// `ldmatrix`, `stmatrix`
    RowTransfer(Box<RowTransfer>),
    /// `wmma.load`, `wmma.store`
    TileTransfer(Box<TileTransfer>),
}

/// Runs a matrix instruction, after all lanes that can arrive have done so.
pub(super) fn run(core: &mut Core<'_>, step: &MatrixStep, active: u32) -> Outcome {
    if active != u32::MAX {
        let message = format!(
            "only lanes {active:#010x} of a warp execute this, but it needs all 32: each holds a part of the matrices"
        );
        return Err(Problem::new(FaultKind::InactiveLane, message)
            .lane(active.trailing_zeros() as usize)
            .note("launch whole warps, and let no lane exit or branch away before it"));
    }
    match step {
        MatrixStep::Product(product) => return product.run(&mut core.registers),
        MatrixStep::Transpose(transposed) => transposed.run(&mut core.registers),
        MatrixStep::RowTransfer(moved) => return moved.run(core),
        MatrixStep::TileTransfer(tile) => return tile.run(core),
    }
    Ok(())
}
