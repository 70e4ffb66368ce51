//! Floating-point operations of an instruction, and the unit of the card that does them.

use super::asynchronous::Asynchronous;
use super::matrix::{Element, Matrix, Multiply};
use super::modes::FloatBinary;
use super::op::Op;
use super::texture::TextureOp;
use super::types::{Space, Type};

/// What an instruction calculates, and whether it stores. Of a lane, which for the matrix units is a
/// thirty-second of what the warp does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Multiply-adds of the units for single numbers: `fma`, and `mad` of floats, one for each of two
    /// packed numbers.
    pub fma: u32,
    /// Multiply-adds of the matrix units: m·n·k in all lanes together. Of `mma.sp` the zeros that are
    /// left out count too, as they do where a card's speed for sparse matrices is stated.
    pub tensor: u32,
    /// Those of both that are of other types than single precision, and TF32 on the matrix units.
    pub other: u32,
    /// Additions, subtractions and products that are no part of a multiply-add.
    pub single: u32,
    /// It writes to memory: a store, an atomic operation, or a copy to global memory.
    pub stores: bool,
}

/// Lanes of a warp.
const LANES: usize = 32;

impl Op {
    /// What it calculates. Divisions, roots, exponentials, comparisons, conversions and whatever is of
    /// integers (but for the matrix units) are not counted: a card has no single instruction for some of
    /// these, and other units for the rest.
    #[must_use]
    pub fn work(&self) -> Work {
        match self {
            Self::Fma { ty, .. } => {
                let fma = numbers(*ty);
                let other = if *ty == Type::F32 { 0 } else { fma };
                Work { fma, other, ..Work::default() }
            }
            Self::FloatBinary {
                op: FloatBinary::Add | FloatBinary::Sub | FloatBinary::Mul,
                ty,
                ..
            } => Work { single: numbers(*ty), ..Work::default() },
            Self::Matrix(Matrix::Multiply(multiply)) => products(multiply),
            Self::Store { .. }
            | Self::Atomic { .. }
            | Self::Matrix(Matrix::Store { .. } | Matrix::StoreFragment { .. }) => {
                Work { stores: true, ..Work::default() }
            }
            Self::Asynchronous(step) => match &**step {
                Asynchronous::Bulk { to: (Space::Global, _), .. } => {
                    Work { stores: true, ..Work::default() }
                }
                _ => Work::default(),
            },
            Self::Texture(texture) => match **texture {
                TextureOp::Store { .. } | TextureOp::Reduce { .. } => {
                    Work { stores: true, ..Work::default() }
                }
                _ => Work::default(),
            },
            _ => Work::default(),
        }
    }
}

/// How many numbers a register of a type holds.
const fn numbers(ty: Type) -> u32 {
    match ty {
        Type::F16x2 | Type::Bf16x2 => 2,
        _ => 1,
    }
}

fn products(multiply: &Multiply) -> Work {
    // Of `mma.sp` the fragment of `a` is only what is kept of it.
    let shape = multiply.fragments[1].shape;
    // `m8n8k4` of halves is four products, each of eight lanes (PTX ISA, "mma.m8n8k4 .f16").
    let times = match (shape.m, shape.n, shape.k, multiply.fragments[0].element) {
        (8, 8, 4, Element::F16) => 4,
        _ => 1,
    };
    let tensor = (times * shape.m * shape.n * shape.k / LANES) as u32;
    let tf32 = multiply.fragments[0].element == Element::Tf32;
    Work { tensor, other: if tf32 { 0 } else { tensor }, ..Work::default() }
}
