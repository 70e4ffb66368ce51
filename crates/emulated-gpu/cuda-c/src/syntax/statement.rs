//! The syntax of statements.

use std::rc::Rc;

use super::{Attributes, Expr, TypeExpr};
use crate::source::Span;

/// A statement and its position.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) kind: StatementKind,
    /// The start of the statement.
    pub(crate) span: Span,
}

/// The request of `#pragma unroll` for the next loop.
#[derive(Clone, Debug, Default)]
pub(crate) enum Unroll {
    /// There is no pragma.
    #[default]
    Unspecified,
    /// Unroll completely if the trip count is known.
    Full,
    /// Unroll by this factor.
    By(Rc<Expr>),
}

/// The parts of a loop.
#[derive(Debug)]
pub(crate) struct Loop {
    /// The statement before the loop.
    pub(crate) init: Option<Box<Statement>>,
    /// The condition for another iteration; `None` for an endless loop.
    pub(crate) condition: Option<Expr>,
    /// The expression after each iteration.
    pub(crate) step: Option<Expr>,
    pub(crate) body: Box<Statement>,
    /// Whether the condition isn't tested before the first iteration (`do … while`).
    pub(crate) body_first: bool,
    /// `#pragma unroll`
    pub(crate) unroll: Unroll,
}

/// The declaration of a variable.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) ty: TypeExpr,
    pub(crate) name: Rc<str>,
    pub(crate) attributes: Attributes,
    /// The initial value.
    pub(crate) init: Option<Expr>,
    /// The alignment, if there is an attribute.
    pub(crate) align: Option<Rc<Expr>>,
    /// The position of the name.
    pub(crate) span: Span,
}

/// A label in a `switch`.
#[derive(Debug)]
pub(crate) enum Case {
    /// `case value:`
    Value(Expr),
    /// `default:`
    Default,
}

/// Inline PTX, `asm volatile("…" : outputs : inputs)`.
#[derive(Debug)]
pub(crate) struct Asm {
    pub(crate) text: Rc<[u8]>,
    /// Constraints and places.
    pub(crate) outputs: Vec<(Rc<[u8]>, Expr)>,
    /// Constraints and values.
    pub(crate) inputs: Vec<(Rc<[u8]>, Expr)>,
    /// Whether the `asm` must be kept even if its outputs are unused.
    pub(crate) volatile: bool,
    /// Whether the `asm` may read or write memory.
    pub(crate) memory: bool,
}

/// The kinds of statements.
#[derive(Debug)]
pub(crate) enum StatementKind {
    /// `e;`
    Expression(Expr),
    /// Variables.
    Variables(Vec<Variable>),
    /// Aliases: `typedef T name, *other;` or `using name = T;`.
    Aliases(Vec<(Rc<str>, TypeExpr)>),
    /// The definition of a struct or an enum without a variable.
    Type(TypeExpr),
    /// `{ … }`
    Block(Vec<Statement>),
    /// An `if` statement, and whether it is `if constexpr`.
    If { condition: Expr, yes: Box<Statement>, no: Option<Box<Statement>>, is_constexpr: bool },
    /// `for`, `while`, `do`
    Loop(Loop),
    /// `switch`
    Switch(Expr, Box<Statement>),
    /// `case`, `default`
    Case(Case),
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return e;`
    Return(Option<Expr>),
    /// `goto label;`
    Goto(Rc<str>),
    /// `label:`
    Label(Rc<str>),
    /// `asm`
    Asm(Asm),
    /// `static_assert(e, "…")`
    StaticAssert(Expr, Option<Rc<[u8]>>),
    /// `;`
    Empty,
}
