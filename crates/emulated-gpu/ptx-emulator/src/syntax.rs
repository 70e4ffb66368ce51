//! The syntax tree: the content of a PTX text, before any name is looked up.

use crate::program::{Linkage, Space, Type};
use crate::source::Span;
use crate::texture::Opaque;

/// A word of the text and its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'a> {
    pub text: &'a str,
    pub span: Span,
}

/// A whole file.
#[derive(Debug, Default)]
pub(crate) struct File<'a> {
    /// `.version`
    pub version: Option<((u32, u32), Span)>,
    /// The first word of `.target`, such as `sm_90a`.
    pub target: Option<Name<'a>>,
    /// Whether `.target` includes `texmode_independent`.
    pub independent: bool,
    /// The words of directives and declarations that some versions or targets don't have.
    pub directives: Vec<Name<'a>>,
    /// All other items, in order.
    pub items: Vec<Item<'a>>,
    /// The position of each item.
    pub spans: Vec<Span>,
}

/// An item at module scope.
#[derive(Debug)]
pub(crate) enum Item<'a> {
    Variable(Declaration<'a>),
    Function(Function<'a>),
    /// `.file 1 "name"`
    File(u32, String),
    /// `.alias new, old;`
    Alias(Name<'a>, Name<'a>),
}

/// A declaration of variables, registers or one parameter.
#[derive(Debug)]
pub(crate) struct Declaration<'a> {
    pub linkage: Linkage,
    pub space: Space,
    pub align: Option<(u64, Span)>,
    /// The number of elements: 1, or the length of `.v2`, `.v4` or `.v8`.
    pub lanes: u32,
    pub ty: Type,
    pub ty_span: Span,
    /// Set for `.texref`, `.surfref`, and the state space `.tex`.
    pub opaque: Option<Opacity>,
    pub names: Vec<Declarator<'a>>,
}

/// How a declaration marks a variable as a texture or a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opacity {
    Type(Opaque),
    /// `.tex .u32 name`, as before PTX 1.5.
    Space,
}

/// One name that a declaration declares.
#[derive(Debug)]
pub(crate) struct Declarator<'a> {
    pub name: Name<'a>,
    /// `%r<10>`
    pub range: Option<u64>,
    /// `[4][]`: the lengths of an array; `None` for an open length.
    pub lengths: Vec<(Option<Node<'a>>, Span)>,
    pub initial: Option<Initializer<'a>>,
}

/// `= …`
#[derive(Debug)]
pub(crate) enum Initializer<'a> {
    Value(Node<'a>),
    List(Vec<Initializer<'a>>, Span),
    /// `{ width = 4, filter_mode = linear }`
    Fields(Vec<(Name<'a>, Node<'a>)>, Span),
}

/// `.entry` or `.func`.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub linkage: Linkage,
    pub entry: bool,
    pub name: Name<'a>,
    pub results: Vec<Declaration<'a>>,
    pub parameters: Vec<Declaration<'a>>,
    pub directives: Vec<Directive<'a>>,
    pub body: Option<Block<'a>>,
}

/// A performance-tuning directive and its numbers.
#[derive(Debug)]
pub(crate) struct Directive<'a> {
    pub name: Name<'a>,
    pub values: Vec<(u32, Span)>,
}

/// `{ … }`
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub statements: Vec<Statement<'a>>,
}

/// A statement of a body.
#[derive(Debug)]
pub(crate) enum Statement<'a> {
    Label(Name<'a>),
    Declaration(Declaration<'a>),
    Block(Block<'a>),
    Instruction(Instruction<'a>),
    /// `.loc file line column`
    Location {
        file: u32,
        line: u32,
    },
    /// `.pragma "used_bytes_mask 15";`: the bytes that the following load uses, lowest first.
    UsedBytes(u32),
    /// `name: .branchtargets a, b;`
    BranchTargets(Name<'a>, Vec<Name<'a>>),
    /// `name: .calltargets f, g;`
    CallTargets(Name<'a>, Vec<Name<'a>>),
    /// `name: .callprototype (…) _ (…);`
    CallPrototype(Name<'a>, Signature<'a>),
}

/// The signature of a call through a register.
#[derive(Debug)]
pub(crate) struct Signature<'a> {
    pub results: Vec<Declaration<'a>>,
    pub parameters: Vec<Declaration<'a>>,
}

/// One instruction.
#[derive(Debug)]
pub(crate) struct Instruction<'a> {
    /// The predicate, and whether it is negated.
    pub guard: Option<(Name<'a>, bool)>,
    pub opcode: Name<'a>,
    /// The modifiers, without their dots.
    pub modifiers: Vec<Name<'a>>,
    pub operands: Vec<Operand<'a>>,
    /// The position, without the `;`.
    pub span: Span,
}

/// An operand.
#[derive(Debug)]
pub(crate) struct Operand<'a> {
    pub kind: OperandKind<'a>,
    pub span: Span,
}

impl<'a> Operand<'a> {
    /// The expression, if the operand is a plain expression.
    pub(crate) fn node(&self) -> Option<&Node<'a>> {
        if let OperandKind::Plain(node) = &self.kind { Some(node) } else { None }
    }

    /// The name, if the operand is a plain name.
    pub(crate) fn name(&self) -> Option<&'a str> {
        match self.node()?.expression {
            Expression::Name(name) => Some(name),
            _ => None,
        }
    }
}

/// The syntax of an operand.
#[derive(Debug)]
pub(crate) enum OperandKind<'a> {
    /// A register, a symbol, a constant, `!p`, `p|q`, `_`.
    Plain(Node<'a>),
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `{a, b}|p`
    VectorPair(Vec<Operand<'a>>, Node<'a>),
    /// `[a+4]`; only the operands of texture instructions have more operands in the brackets.
    Address(Node<'a>, Vec<Operand<'a>>),
    /// `name[index]`: the address of an element.
    Element(Name<'a>, Node<'a>),
    /// `(a, b)` in a call.
    List(Vec<Operand<'a>>),
}

/// An expression and its position.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub expression: Expression<'a>,
    pub span: Span,
}

/// An expression (PTX ISA, "Constant Expressions").
#[derive(Debug)]
pub(crate) enum Expression<'a> {
    Integer {
        value: u64,
        unsigned: bool,
    },
    Float(f64),
    Single(u32),
    Name(&'a str),
    /// `%tid.x`
    Member(&'a str, &'a str),
    /// `generic(name)`
    Generic(Name<'a>),
    /// `0xff00(name)`: one byte of an address.
    Mask {
        mask: u64,
        of: Box<Node<'a>>,
    },
    Unary(Unary, Box<Node<'a>>),
    Binary(Binary, Box<Node<'a>>, Box<Node<'a>>),
    Ternary(Box<[Node<'a>; 3]>),
    /// `(.s64) a`
    Cast {
        unsigned: bool,
        of: Box<Node<'a>>,
    },
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Plus,
    Minus,
    Not,
    Complement,
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Multiply,
    Divide,
    Remainder,
    Add,
    Subtract,
    ShiftLeft,
    ShiftRight,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Xor,
    Or,
    LogicalAnd,
    LogicalOr,
}
