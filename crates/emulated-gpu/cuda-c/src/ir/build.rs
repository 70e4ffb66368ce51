//! Builders for values and blocks.

use super::{
    Access, BinaryOp, Block, BlockId, Compare, CompareKind, Convert, Function, Inst, Memory, Op,
    Slot, Target, Terminator, Ty, UnaryOp, Value,
};
use crate::optimise::simplify::simplify_fully;
use crate::source::Span;

impl Function {
    /// A constant. Equal constants of a type are the same value.
    pub(crate) fn constant(&mut self, ty: Ty, bits: u64) -> Value {
        let bits = match ty.bits() {
            64 => bits,
            width => bits & ((1 << width) - 1),
        };
        if let Some(&known) = self.constants.get(&(ty, bits)) {
            return known;
        }
        let value =
            self.value(Inst { op: Op::Const(bits), ty, args: Vec::new(), span: Span::default() });
        self.constants.insert((ty, bits), value);
        value
    }

    /// An integer of 32 or 64 bits.
    pub(crate) fn integer(&mut self, ty: Ty, number: i64) -> Value {
        self.constant(ty, number as u64)
    }

    /// Creates a value that isn't in any block yet.
    pub(crate) fn value(&mut self, inst: Inst) -> Value {
        self.values.push(inst);
        Value((self.values.len() - 1) as u32)
    }

    pub(crate) fn new_block(&mut self, span: Span) -> BlockId {
        let end = Terminator::Unreachable;
        self.blocks.push(Block { params: Vec::new(), insts: Vec::new(), end, span });
        BlockId((self.blocks.len() - 1) as u32)
    }

    pub(crate) fn new_slot(&mut self, size: u64, align: u64) -> u32 {
        self.slots.push(Slot { size, align, constant: None, name: None });
        (self.slots.len() - 1) as u32
    }

    pub(crate) fn block_param(&mut self, block: BlockId, ty: Ty) -> Value {
        let value =
            self.value(Inst { op: Op::BlockParam, ty, args: Vec::new(), span: Span::default() });
        self.block_mut(block).params.push(value);
        value
    }

    /// The result of an operation: either an existing value that is known to be equal, or a new
    /// instruction, which is appended to `place`.
    pub(crate) fn operation(
        &mut self,
        mut op: Op,
        ty: Ty,
        mut args: Vec<Value>,
        span: Span,
        place: &mut Vec<Value>,
    ) -> Value {
        if let (Some(value), _) = simplify_fully(self, &mut op, ty, &mut args) {
            return value;
        }
        let value = self.value(Inst { op, ty, args, span });
        place.push(value);
        value
    }

    /// Appends an operation to a block; see `operation`.
    pub(crate) fn push(
        &mut self,
        block: BlockId,
        op: Op,
        ty: Ty,
        args: Vec<Value>,
        span: Span,
    ) -> Value {
        let mut place = std::mem::take(&mut self.block_mut(block).insts);
        let value = self.operation(op, ty, args, span, &mut place);
        self.block_mut(block).insts = place;
        value
    }
}

/// Appends instructions to the current block, `at`.
#[derive(Debug)]
pub(crate) struct Builder {
    pub(crate) function: Function,
    pub(crate) at: BlockId,
    pub(crate) span: Span,
}

impl Builder {
    pub(crate) fn op(&mut self, op: Op, ty: Ty, args: Vec<Value>) -> Value {
        self.function.push(self.at, op, ty, args, self.span)
    }

    pub(crate) fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        self.op(Op::binary(op), ty, vec![a, b])
    }

    pub(crate) fn unary(&mut self, op: UnaryOp, a: Value) -> Value {
        let ty = self.ty(a);
        self.op(Op::Unary(op), ty, vec![a])
    }

    pub(crate) fn compare(&mut self, op: Compare, kind: CompareKind, a: Value, b: Value) -> Value {
        self.op(Op::Compare(op, kind), Ty::Pred, vec![a, b])
    }

    pub(crate) fn convert(&mut self, convert: Convert, ty: Ty, a: Value) -> Value {
        self.op(Op::Convert(convert), ty, vec![a])
    }

    pub(crate) fn ty(&self, value: Value) -> Ty {
        self.function.inst(value).ty
    }

    pub(crate) fn integer(&mut self, ty: Ty, number: i64) -> Value {
        self.function.integer(ty, number)
    }

    pub(crate) fn bool_constant(&mut self, is: bool) -> Value {
        self.function.constant(Ty::Pred, u64::from(is))
    }

    pub(crate) fn offset(&mut self, pointer: Value, bytes: u64) -> Value {
        let bytes = self.integer(Ty::I64, bytes as i64);
        self.op(Op::PtrAdd, Ty::I64, vec![pointer, bytes])
    }

    pub(crate) fn load(&mut self, memory: Memory, volatile: bool, address: Value) -> Value {
        let access = Access { volatile, ..Access::plain(memory) };
        self.op(Op::Load(access), memory.ty(), vec![address])
    }

    pub(crate) fn store(&mut self, memory: Memory, volatile: bool, address: Value, value: Value) {
        let access = Access { volatile, ..Access::plain(memory) };
        self.op(Op::Store(access), Ty::None, vec![address, value]);
    }

    pub(crate) fn slot(&mut self, size: u64, align: u64) -> Value {
        let slot = self.function.new_slot(size, align);
        self.op(Op::Slot(slot), Ty::I64, Vec::new())
    }

    pub(crate) fn new_block(&mut self) -> BlockId {
        self.function.new_block(self.span)
    }

    /// Ends the current block. Further instructions must be appended to another block.
    pub(crate) fn end(&mut self, end: Terminator) {
        let span = self.span;
        let block = self.function.block_mut(self.at);
        (block.end, block.span) = (end, span);
    }

    pub(crate) fn jump(&mut self, block: BlockId) {
        self.end(Terminator::Jump(Target { block, args: Vec::new() }));
    }

    pub(crate) fn branch(&mut self, condition: Value, yes: BlockId, no: BlockId) {
        let to = |block| Target { block, args: Vec::new() };
        self.end(Terminator::Branch { condition, yes: to(yes), no: to(no) });
    }
}
