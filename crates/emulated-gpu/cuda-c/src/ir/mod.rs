//! The intermediate representation: typed functions of basic blocks in static single assignment
//! form.
//!
//! Blocks have parameters instead of φ functions: a jump to a block passes their values. Most
//! `__device__` functions are inlined, so a function here is a kernel or a function that stays a
//! call (recursive or `__noinline__`). Pointers are 64-bit integers that only [`Op::PtrAdd`]
//! changes, so that each can be traced back to the variable it points into.

mod build;
mod graph;
mod module;
mod op;

pub(crate) use build::Builder;
pub(crate) use graph::{Dominators, Graph, NaturalLoop, natural_loops};
pub(crate) use module::{Global, Module, Parameter, Space};
pub(crate) use op::{
    Access, BinaryOp, Callee, Compare, CompareKind, Convert, Effect, Memory, Op, Passed, Template,
    Ty, UnaryOp,
};

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap as HashMap;

use crate::source::Span;

/// A value: the result of an instruction, or a parameter of a block.
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

/// The target of a jump, and the values of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) block: BlockId,
    pub(crate) args: Vec<Value>,
}

/// The terminator of a block: the jump, branch or return at its end.
#[derive(Clone, Debug)]
pub(crate) enum Terminator {
    Jump(Target),
    Branch {
        condition: Value,
        yes: Target,
        no: Target,
    },
    Return,
    /// The end of the block is never reached, for example after a trap.
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

    /// Every value that the terminator reads.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let (condition, first, second) = match self {
            Self::Jump(target) => (None, Some(target), None),
            Self::Branch { condition, yes, no } => (Some(condition), Some(yes), Some(no)),
            Self::Return | Self::Unreachable => (None, None, None),
        };
        let args = [first, second].into_iter().flatten().flat_map(|target| &mut target.args);
        condition.into_iter().chain(args)
    }

    /// Every value that the terminator reads.
    pub(crate) fn values(&self) -> impl Iterator<Item = Value> {
        let condition = match self {
            Self::Branch { condition, .. } => Some(*condition),
            _ => None,
        };
        condition.into_iter().chain(self.targets().flat_map(|target| target.args.iter().copied()))
    }
}

/// A basic block: instructions that run one after the other, and a terminator.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) params: Vec<Value>,
    pub(crate) insts: Vec<Value>,
    pub(crate) end: Terminator,
    /// The place of the terminator.
    pub(crate) span: Span,
}

/// The request of `#pragma unroll` for a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unrolling {
    Full,
    By(u32),
}

/// Local memory of a thread: a variable that isn't in registers (yet).
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// The value of a `constexpr` variable, for constant expressions.
    pub(crate) constant: Option<Vec<u8>>,
    /// The variable's name, if the variable is in the source.
    pub(crate) name: Option<Rc<str>>,
}

/// A kernel, or a function that stays a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) is_kernel: bool,
    /// The way in which the result is passed to the caller; `None` for kernels and `void`.
    pub(crate) result: Option<Passed>,
    pub(crate) params: Vec<Parameter>,
    pub(crate) values: Vec<Inst>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) slots: Vec<Slot>,
    /// For values, the source variables to which they were assigned. They only make the output readable: no pass
    /// depends on them.
    pub(crate) variables: BTreeMap<Value, Rc<str>>,
    constants: HashMap<(Ty, u64), Value>,
    /// The `#pragma unroll` of each loop, by the first block of its iterations.
    pub(crate) unrolling: HashMap<BlockId, Unrolling>,
    /// The memory space of each value that is an address, once it is known.
    pub(crate) spaces: Vec<Space>,
    /// `__launch_bounds__`: the maximum number of threads in a block, and the minimum number of
    /// blocks on a multiprocessor.
    pub(crate) bounds: Vec<u32>,
    pub(crate) span: Span,
}

impl Function {
    pub(crate) fn new(name: String, span: Span) -> Self {
        let entry =
            Block { params: Vec::new(), insts: Vec::new(), end: Terminator::Unreachable, span };
        Self { name, is_kernel: true, blocks: vec![entry], span, ..Self::default() }
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

    /// The bits of a value, if it is a constant.
    pub(crate) fn constant_of(&self, value: Value) -> Option<u64> {
        match self.inst(value).op {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// Gives a copy of a value the name of the original's variable.
    pub(crate) fn copy_name(&mut self, from: Value, to: Value) {
        if let Some(name) = self.variables.get(&from).cloned() {
            self.variables.entry(to).or_insert(name);
        }
    }

    /// The number of instructions in all blocks, terminators included.
    pub(crate) fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.insts.len() + 1).sum()
    }
}
