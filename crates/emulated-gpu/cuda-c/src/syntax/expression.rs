//! The syntax of expressions.

use std::rc::Rc;

use super::TypeExpr;
use crate::source::Span;
use crate::types::Scalar;

/// An expression and its place.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    /// The position in the source.
    pub(crate) span: Span,
    /// The height of the tree, which is limited so that recursion doesn't overflow the stack.
    pub(crate) height: u16,
}

/// An operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Minus,
    Plus,
    Not,
    Complement,
    Dereference,
    AddressOf,
    /// `++x`
    Increment,
    /// `--x`
    Decrement,
    /// `x++`
    PostIncrement,
    /// `x--`
    PostDecrement,
}

with_rows! {
    /// An operator with two operands, and how it is written.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Binary: &'static str {
        Multiply = "*";
        Divide = "/";
        Remainder = "%";
        Add = "+";
        Subtract = "-";
        ShiftLeft = "<<";
        ShiftRight = ">>";
        Less = "<";
        Greater = ">";
        LessEqual = "<=";
        GreaterEqual = ">=";
        Equal = "==";
        NotEqual = "!=";
        And = "&";
        Xor = "^";
        Or = "|";
        LogicalAnd = "&&";
        LogicalOr = "||";
    }
}

impl Binary {
    /// The operator in the source.
    pub(crate) fn text(self) -> &'static str {
        Self::ROWS[self as usize]
    }

    /// Whether the operator is a comparison.
    pub(crate) fn compares(self) -> bool {
        use Binary::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        matches!(self, Less | Greater | LessEqual | GreaterEqual | Equal | NotEqual)
    }
}

/// The notation of a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CastStyle {
    /// A cast of a value: `(T)x`, `T(x)` or `static_cast<T>(x)`.
    Value,
    /// `reinterpret_cast<T>(x)`
    Reinterpret,
}

/// An argument of a template.
#[derive(Clone, Debug)]
pub(crate) enum TemplateArgument {
    /// A type.
    Type(TypeExpr),
    /// A value.
    Value(Rc<Expr>),
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    /// An integer and its type.
    Integer(u64, Scalar),
    /// A floating-point literal, and whether it is a `float`.
    Float(f64, bool),
    /// `true`, `false`
    Bool(bool),
    /// The bytes of a string, without the final zero.
    String(Rc<[u8]>),
    /// `nullptr`
    Null,
    /// A name, with template arguments if there are any.
    Name(Rc<str>, Option<Vec<TemplateArgument>>),
    /// `Enum::value`, `Struct<T>::constant`
    Scoped(TypeExpr, Rc<str>),
    /// A unary operator.
    Unary(Unary, Box<Expr>),
    /// A binary operator.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// An assignment `a = b`, or `a += b` with the operator.
    Assign(Option<Binary>, Box<Expr>, Box<Expr>),
    /// `a ? b : c`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `a, b`
    Comma(Box<Expr>, Box<Expr>),
    /// `a[b]`
    Index(Box<Expr>, Box<Expr>),
    /// `a.b`, `a->b`, and `a.b<4>` for a member function template.
    Member { base: Box<Expr>, name: Rc<str>, arrow: bool, template: Vec<TemplateArgument> },
    /// `f(a, b)`
    Call(Box<Expr>, Vec<Expr>),
    /// A cast.
    Cast(CastStyle, TypeExpr, Box<Expr>),
    /// A construction: `T(a, b)`, `T{a, b}` or `T()`.
    Construct(TypeExpr, Vec<Expr>),
    /// `sizeof(T)`
    SizeofType(TypeExpr),
    /// `alignof(T)`
    AlignofType(TypeExpr),
    /// `sizeof e`
    SizeofValue(Box<Expr>),
    /// A value that has already been computed, identified by its number. It has no notation in the
    /// source.
    Computed(usize),
    /// A list in braces, with the names of designated members.
    List(Vec<(Option<Rc<str>>, Expr)>),
}
