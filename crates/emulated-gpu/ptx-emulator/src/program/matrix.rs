//! Operations of the matrix units.

use super::modes::Rounding;
use super::operand::{Address, Destination, Operand, Read, Written, base};
use super::types::{Space, Type};

named! {
    /// The type of an element of a matrix.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[expect(missing_docs, reason = "each is the PTX type of the same name")]
    pub enum Element {
        F16 = "f16";
        Bf16 = "bf16";
        Tf32 = "tf32";
        F32 = "f32";
        F64 = "f64";
        E4m3 = "e4m3";
        E5m2 = "e5m2";
        S8 = "s8";
        U8 = "u8";
        S4 = "s4";
        U4 = "u4";
        B1 = "b1";
        S32 = "s32";
    }
}

impl Element {
    /// The width of the element type in bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::B1 => 1,
            Self::S4 | Self::U4 => 4,
            Self::S8 | Self::U8 | Self::E4m3 | Self::E5m2 => 8,
            Self::F16 | Self::Bf16 => 16,
            Self::Tf32 | Self::F32 | Self::S32 => 32,
            Self::F64 => 64,
        }
    }

    /// The type of the register that holds one or several elements.
    #[must_use]
    pub const fn register(self) -> Type {
        match self {
            Self::F64 => Type::F64,
            Self::F32 => Type::F32,
            Self::S32 => Type::S32,
            Self::F16 => Type::F16x2,
            _ => Type::B32,
        }
    }

    /// The number of elements in a register.
    #[must_use]
    pub const fn in_register(self) -> usize {
        let bits = self.bits() as usize;
        if bits == 64 { 1 } else { 32 / bits }
    }
}

/// The shape of a product: rows of `a` (m), columns of `b` (n), and columns of `a` or rows of `b` (k).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "named as the ISA names them")]
pub struct MatrixShape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

/// The inner product of a row and a column, which an element of the result sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InnerProduct {
    /// The products of the elements.
    Multiply,
    /// `.xor.popc`: the number of bits that differ.
    Xor,
    /// `.and.popc`: the number of bits that are set in both.
    And,
}

/// The role of a matrix in a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "named as the ISA names them")]
pub enum Role {
    A,
    B,
    /// The role of both `c` and `d`.
    C,
}

/// The layout of a fragment: which lane holds which element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FragmentLayout {
    /// The layout that the ISA draws for `mma`.
    Mma,
    /// The layout of `wmma`, which the ISA leaves open.
    Wmma,
}

/// A matrix, or the part of it that a warp holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// The role of the matrix in the product.
    pub role: Role,
    /// The shape of the product.
    pub shape: MatrixShape,
    /// The type of the matrix's elements.
    pub element: Element,
    /// Whether it is row-major: `.row`, in memory, and in the registers of `mma.m8n8k4` with half precision.
    pub by_rows: bool,
    /// The layout.
    pub layout: FragmentLayout,
}

/// Which elements of `a` are stored in `mma.sp`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metadata {
    /// The metadata word of each lane.
    pub metadata: Operand,
    /// Selects the lanes, among each four, whose metadata is used.
    pub selector: u32,
    /// `::ordered_metadata`: the positions in a chunk are in ascending order.
    pub ordered: bool,
}

/// `mma.sync`, `mma.sp.sync` and `wmma.mma.sync`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the matrices are named as the ISA names them")]
pub struct Multiply {
    /// The terms that an element of `d` sums up.
    pub inner_product: InnerProduct,
    /// `.satfinite`
    pub saturate: bool,
    /// The rounding in double precision.
    pub rounding: Rounding,
    pub fragments: [Fragment; 3],
    /// The type of the result, which may differ from the type of `c`.
    pub result: Element,
    /// The metadata of `mma.sp`, whose fragment of `a` only has the stored elements.
    pub sparse: Option<Metadata>,
    pub d: Vec<Destination>,
    pub a: Vec<Operand>,
    pub b: Vec<Operand>,
    pub c: Vec<Operand>,
}

/// An instruction of the matrix units.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named as the ISA names them")]
pub enum Matrix {
    /// `mma` and `wmma.mma`
    Multiply(Box<Multiply>),
    /// `ldmatrix`: one destination for each matrix.
    Load { transposed: bool, space: Space, d: Vec<Destination>, address: Address },
    /// `stmatrix`
    Store { transposed: bool, space: Space, address: Address, a: Vec<Operand> },
    /// `movmatrix`
    Transpose { d: Destination, a: Operand },
    /// `wmma.load`. Without a stride, rows (or columns) are contiguous.
    LoadFragment {
        fragment: Fragment,
        space: Space,
        d: Vec<Destination>,
        address: Address,
        stride: Option<Operand>,
    },
    /// `wmma.store`
    StoreFragment {
        fragment: Fragment,
        space: Space,
        address: Address,
        a: Vec<Operand>,
        stride: Option<Operand>,
    },
}

impl Matrix {
    /// See [`Op::reads`](super::Op::reads).
    pub(super) fn reads(&self) -> Vec<Read> {
        let all = |ty: Type, list: &[Operand]| -> Vec<Read> {
            list.iter().map(|&operand| (operand, Some(ty))).collect()
        };
        let strided = |stride: &Option<Operand>| -> Vec<Read> {
            stride.iter().map(|&stride| (stride, Some(Type::U32))).collect()
        };
        match self {
            Self::Multiply(multiply) => {
                let lists = [&multiply.a, &multiply.b, &multiply.c];
                let factors = multiply.fragments.iter().zip(lists);
                let factors =
                    factors.flat_map(|(fragment, list)| all(fragment.element.register(), list));
                let metadata =
                    multiply.sparse.iter().map(|sparse| (sparse.metadata, Some(Type::B32)));
                factors.chain(metadata).collect()
            }
            Self::Load { address, .. } => base(address),
            Self::Store { address, a, .. } => [base(address), all(Type::B32, a)].concat(),
            Self::Transpose { a, .. } => all(Type::B32, &[*a]),
            Self::LoadFragment { address, stride, .. } => [base(address), strided(stride)].concat(),
            Self::StoreFragment { fragment, address, a, stride, .. } => {
                [base(address), all(fragment.element.register(), a), strided(stride)].concat()
            }
        }
    }

    /// See [`Op::writes`](super::Op::writes).
    pub(super) fn writes(&self) -> Vec<Written> {
        let all = |ty: Type, list: &[Destination]| -> Vec<Written> {
            list.iter().flatten().map(|&register| (register, Some(ty))).collect()
        };
        match self {
            Self::Multiply(multiply) => all(multiply.result.register(), &multiply.d),
            Self::Load { d, .. } => all(Type::B32, d),
            Self::Transpose { d, .. } => all(Type::B32, &[*d]),
            Self::LoadFragment { fragment, d, .. } => all(fragment.element.register(), d),
            Self::Store { .. } | Self::StoreFragment { .. } => Vec::new(),
        }
    }
}
