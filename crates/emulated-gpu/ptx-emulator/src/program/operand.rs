//! Operands: registers, constants, addresses.

use super::special::Special;
use super::types::Type;

/// An index into [`Module::variables`](super::Module::variables).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VariableId(pub u32);

/// An index into [`Module::functions`](super::Module::functions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionId(pub u32);

/// An index into [`Function::registers`](super::Function::registers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(pub u32);

/// An index into [`Function::variables`](super::Function::variables).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocalId(pub u32);

/// An index into [`Function::body`](super::Function::body); the length of the body is the function's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// A predicate register, negated (`!p`).
    Not(Register),
    /// A constant, as the bits of the instruction's type.
    Immediate(u64),
    /// A special register.
    Special(Special),
    /// The address of a variable in its own space, plus an offset.
    Address(Symbol, i64),
    /// The address of a function.
    Function(FunctionId),
}

/// A variable, of the module or of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// A variable of the module.
    Module(VariableId),
    /// A variable of the function.
    Local(LocalId),
}

/// A destination register; `None` is `_` (discarded).
pub type Destination = Option<Register>;

/// An address: a base and a constant offset in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Address {
    /// A register, a symbol, or a constant.
    pub base: Operand,
    /// The offset that is added.
    pub offset: i64,
}

/// An operand that an instruction reads, and the type it is read as; `None` means the declared type.
pub type Read = (Operand, Option<Type>);
/// A register that an instruction writes, and the type it is written as; `None` means the declared type.
pub type Written = (Register, Option<Type>);

/// The register of an address, if its base is one.
pub(super) fn base(address: &Address) -> Vec<Read> {
    match address.base {
        Operand::Register(_) => vec![(address.base, None)],
        _ => Vec::new(),
    }
}
