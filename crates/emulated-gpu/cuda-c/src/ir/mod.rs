//! The typed intermediate form: functions of basic blocks in static single assignment.
//!
//! A block has parameters instead of φ: who jumps to it says what they are. Most `__device__`
//! functions have been written into their callers: a function here is a kernel, or one that may come
//! to call itself. Pointers are 64-bit
//! integers that only [`Op::PtrAdd`] moves, so that each can be followed back to what it points into.

mod build;
mod graph;
mod module;
mod op;

pub(crate) use build::Builder;
pub(crate) use graph::{Dominators, Graph, Loops, NaturalLoop};
pub(crate) use module::{Global, Module, Parameter, Space};
pub(crate) use op::{
    Access, BinaryOp, Callee, Compare, CompareKind, Convert, Effect, Memory, Op, Passed, Template,
    Ty, UnaryOp,
};

use rustc_hash::FxHashMap as HashMap;

use crate::source::Span;

/// A value: what an instruction computes, or a parameter of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Value(pub(crate) u32);

/// A block of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BlockId(pub(crate) u32);

/// An instruction.
#[derive(Clone, Debug)]
pub(crate) struct Inst {
    pub(crate) op: Op,
    pub(crate) ty: Ty,
    pub(crate) args: Vec<Value>,
    pub(crate) span: Span,
}

/// Where a jump goes, and what the parameters there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) block: BlockId,
    pub(crate) args: Vec<Value>,
}

/// How a block ends.
#[derive(Clone, Debug)]
pub(crate) enum Terminator {
    Jump(Target),
    Branch {
        condition: Value,
        yes: Target,
        no: Target,
    },
    Return,
    /// Nothing gets here: behind a trap.
    Unreachable,
}

impl Terminator {
    pub(crate) fn targets(&self) -> impl Iterator<Item = &Target> {
        let both = match self {
            Self::Jump(target) => [Some(target), None],
            Self::Branch { yes, no, .. } => [Some(yes), Some(no)],
            Self::Return | Self::Unreachable => [None, None],
        };
        both.into_iter().flatten()
    }

    pub(crate) fn targets_mut(&mut self) -> impl Iterator<Item = &mut Target> {
        let both = match self {
            Self::Jump(target) => [Some(target), None],
            Self::Branch { yes, no, .. } => [Some(yes), Some(no)],
            Self::Return | Self::Unreachable => [None, None],
        };
        both.into_iter().flatten()
    }

    /// Every value that it reads.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let (condition, first, second) = match self {
            Self::Jump(target) => (None, Some(target), None),
            Self::Branch { condition, yes, no } => (Some(condition), Some(yes), Some(no)),
            Self::Return | Self::Unreachable => (None, None, None),
        };
        let args = [first, second].into_iter().flatten().flat_map(|target| &mut target.args);
        condition.into_iter().chain(args)
    }

    /// Every value that it reads.
    pub(crate) fn values(&self) -> impl Iterator<Item = Value> {
        let condition = match self {
            Self::Branch { condition, .. } => Some(*condition),
            _ => None,
        };
        condition.into_iter().chain(self.targets().flat_map(|target| target.args.iter().copied()))
    }
}

/// Instructions that run one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) params: Vec<Value>,
    pub(crate) insts: Vec<Value>,
    pub(crate) end: Terminator,
    /// Of the terminator.
    pub(crate) span: Span,
}

/// What `#pragma unroll` asked of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unrolling {
    Full,
    By(u32),
}

/// Memory of a thread: a variable, as long as it isn't held in registers.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// What a `constexpr` variable holds, for constant expressions.
    pub(crate) constant: Option<Vec<u8>>,
}

/// A kernel, or a function that is called.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) is_kernel: bool,
    /// What is given to the caller; of kernels nothing.
    pub(crate) result: Option<Passed>,
    pub(crate) params: Vec<Parameter>,
    pub(crate) values: Vec<Inst>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) slots: Vec<Slot>,
    constants: HashMap<(Ty, u64), Value>,
    /// By the block that a loop's iterations begin with.
    pub(crate) unrolling: HashMap<BlockId, Unrolling>,
    /// The space of each value that is an address, as soon as it is known.
    pub(crate) spaces: Vec<Space>,
    /// Threads of a block at most, and blocks of a multiprocessor at least.
    pub(crate) bounds: Vec<u32>,
    pub(crate) span: Span,
}

impl Function {
    pub(crate) fn new(name: String, span: Span) -> Self {
        let entry =
            Block { params: Vec::new(), insts: Vec::new(), end: Terminator::Unreachable, span };
        Self {
            name,
            is_kernel: true,
            result: None,
            params: Vec::new(),
            values: Vec::new(),
            blocks: vec![entry],
            slots: Vec::new(),
            constants: HashMap::default(),
            unrolling: HashMap::default(),
            spaces: Vec::new(),
            bounds: Vec::new(),
            span,
        }
    }

    pub(crate) const ENTRY: BlockId = BlockId(0);

    pub(crate) fn inst(&self, value: Value) -> &Inst {
        &self.values[value.0 as usize]
    }

    pub(crate) fn inst_mut(&mut self, value: Value) -> &mut Inst {
        &mut self.values[value.0 as usize]
    }

    pub(crate) fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.0 as usize]
    }

    pub(crate) fn block_mut(&mut self, id: BlockId) -> &mut Block {
        &mut self.blocks[id.0 as usize]
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        (0..self.blocks.len() as u32).map(BlockId)
    }

    /// The bits of a value that is constant.
    pub(crate) fn constant_of(&self, value: Value) -> Option<u64> {
        match self.inst(value).op {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// How many instructions all blocks have.
    pub(crate) fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.insts.len() + 1).sum()
    }
}
