//! The number of floating-point operations of an instruction, and the unit of the card that executes them.

use super::asynchronous::Asynchronous;
use super::matrix::{Element, Matrix, Multiply};
use super::modes::FloatBinary;
use super::op::Op;
use super::texture::TextureOp;
use super::types::{Space, Type};

/// The operations of an instruction in one lane, and whether it stores. For the matrix units, a lane has 1/32
/// of the warp's operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCounts {
    /// Multiply-adds of the scalar units: `fma`, and `mad` of floats. A packed instruction counts as two.
    pub fma: u32,
    /// Multiply-adds of the matrix units: m·n·k for all lanes together. The zeros that `mma.sp` skips are
    /// included, as they are in a card's stated speed for sparse matrices.
    pub tensor: u32,
    /// The part of both that is not single precision (or, on the matrix units, not TF32).
    pub other: u32,
    /// Additions, subtractions and products that are not part of a multiply-add.
    pub single: u32,
    /// Whether the instruction writes to memory: a store, an atomic operation, or a copy to global memory.
    pub stores: bool,
}

/// The number of lanes of a warp.
const LANES: usize = 32;

impl Op {
    /// The number of operations in the instruction. Divisions, roots, exponentials, comparisons, conversions and
    /// integer operations (except on the matrix units) are not counted, because a card has no single instruction for
    /// some of these, and executes others on other units.
    #[must_use]
    pub fn operation_counts(&self) -> OperationCounts {
        match self {
            Self::Fma { ty, .. } => {
                let fma = numbers(*ty);
                let other = if *ty == Type::F32 { 0 } else { fma };
                OperationCounts { fma, other, ..OperationCounts::default() }
            }
            Self::FloatBinary {
                op: FloatBinary::Add | FloatBinary::Sub | FloatBinary::Mul,
                ty,
                ..
            } => OperationCounts { single: numbers(*ty), ..OperationCounts::default() },
            Self::Matrix(Matrix::Multiply(multiply)) => products(multiply),
            Self::Store { .. }
            | Self::Atomic { .. }
            | Self::Matrix(Matrix::Store { .. } | Matrix::StoreFragment { .. }) => {
                OperationCounts { stores: true, ..OperationCounts::default() }
            }
            Self::Asynchronous(step) => match &**step {
                Asynchronous::Bulk { to: (Space::Global, _), .. } => {
                    OperationCounts { stores: true, ..OperationCounts::default() }
                }
                _ => OperationCounts::default(),
            },
            Self::Texture(texture) => match **texture {
                TextureOp::Store { .. } | TextureOp::Reduce { .. } => {
                    OperationCounts { stores: true, ..OperationCounts::default() }
                }
                _ => OperationCounts::default(),
            },
            _ => OperationCounts::default(),
        }
    }
}

/// The number of values in a register of this type.
const fn numbers(ty: Type) -> u32 {
    match ty {
        Type::F16x2 | Type::Bf16x2 => 2,
        _ => 1,
    }
}

fn products(multiply: &Multiply) -> OperationCounts {
    // For `mma.sp`, the fragment of `a` only has the stored elements, so take the shape from `b`.
    let shape = multiply.fragments[1].shape;
    // `m8n8k4` with half precision is four products, each computed by eight lanes (PTX ISA, "mma.m8n8k4 .f16").
    let times = match (shape.m, shape.n, shape.k, multiply.fragments[0].element) {
        (8, 8, 4, Element::F16) => 4,
        _ => 1,
    };
    let tensor = (times * shape.m * shape.n * shape.k / LANES) as u32;
    let tf32 = multiply.fragments[0].element == Element::Tf32;
    OperationCounts { tensor, other: if tf32 { 0 } else { tensor }, ..OperationCounts::default() }
}
