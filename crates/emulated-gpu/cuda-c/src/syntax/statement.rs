//! Statements.

use std::rc::Rc;

use super::{Attributes, Expr, TypeExpr};
use crate::source::Span;

/// A statement and its place.
#[derive(Debug)]
pub(crate) struct Statement {
    /// What it is.
    pub(crate) kind: StatementKind,
    /// Where it begins.
    pub(crate) span: Span,
}

/// What `#pragma unroll` asks of the loop that follows.
#[derive(Clone, Debug, Default)]
pub(crate) enum Unroll {
    /// Nothing was said.
    #[default]
    Unsaid,
    /// As far as its count is known.
    Full,
    /// This many iterations at once.
    By(Rc<Expr>),
}

/// The parts of a loop.
#[derive(Debug)]
pub(crate) struct Loop {
    /// Comes first.
    pub(crate) init: Option<Box<Statement>>,
    /// Whether another iteration follows; nothing for always.
    pub(crate) condition: Option<Expr>,
    /// Comes behind the body.
    pub(crate) step: Option<Expr>,
    /// What is repeated.
    pub(crate) body: Box<Statement>,
    /// `do … while`: the condition isn't asked before the first iteration.
    pub(crate) body_first: bool,
    /// `#pragma unroll`
    pub(crate) unroll: Unroll,
}

/// A variable that is declared.
#[derive(Debug)]
pub(crate) struct Variable {
    /// Its type.
    pub(crate) ty: TypeExpr,
    /// Its name.
    pub(crate) name: Rc<str>,
    /// What was written before it.
    pub(crate) attributes: Attributes,
    /// What it begins with.
    pub(crate) init: Option<Expr>,
    /// Whether that is written in braces or brackets behind the name.
    pub(crate) align: Option<Rc<Expr>>,
    /// Where its name stands.
    pub(crate) span: Span,
}

/// Where a `switch` may jump to.
#[derive(Debug)]
pub(crate) enum Case {
    /// `case value:`
    Value(Expr),
    /// `default:`
    Default,
}

/// `asm volatile("…" : outputs : inputs)`
#[derive(Debug)]
pub(crate) struct Asm {
    /// The instructions.
    pub(crate) text: Rc<[u8]>,
    /// Constraints and what they are written to.
    pub(crate) outputs: Vec<(Rc<[u8]>, Expr)>,
    /// Constraints and what is read.
    pub(crate) inputs: Vec<(Rc<[u8]>, Expr)>,
    /// Whether it stays even where nothing reads what it writes.
    pub(crate) volatile: bool,
    /// Whether it may read or write memory.
    pub(crate) memory: bool,
}

/// The kinds of statements.
#[derive(Debug)]
pub(crate) enum StatementKind {
    /// `e;`
    Expression(Expr),
    /// Variables.
    Variables(Vec<Variable>),
    /// `typedef T name, *other;` or `using name = T;`
    Aliases(Vec<(Rc<str>, TypeExpr)>),
    /// A struct or an enum that is defined and has no variable.
    Type(TypeExpr),
    /// `{ … }`
    Block(Vec<Statement>),
    /// `if`, and whether it is `if constexpr`.
    If { condition: Expr, yes: Box<Statement>, no: Option<Box<Statement>>, is_constexpr: bool },
    /// `for`, `while`, `do`
    Loop(Loop),
    /// `switch`
    Switch(Expr, Box<Statement>),
    /// `case`, `default`, and what follows
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
