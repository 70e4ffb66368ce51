//! The syntax tree: what was written, before any name has been looked up.

mod expression;
mod statement;

pub(crate) use expression::{Binary, CastStyle, Expr, ExprKind, TemplateArgument, Unary};
pub(crate) use statement::{Asm, Case, Loop, Statement, StatementKind, Unroll, Variable};

use std::rc::Rc;

use crate::source::Span;
use crate::types::Scalar;

/// A type as it is written.
#[derive(Clone, Debug)]
pub(crate) enum TypeExpr {
    /// `float`, `unsigned long long`, …
    Scalar(Scalar),
    /// `void`
    Void,
    /// `auto`
    Auto,
    /// A struct, enum, alias or template parameter by its name.
    Named(Rc<str>, Span),
    /// `name<float, 4>`: a struct of a template.
    Applied(Rc<str>, Rc<[TemplateArgument]>, Span),
    /// `T::name`: a type that is named in a struct.
    Inner(Box<TypeExpr>, Rc<str>, Span),
    /// A struct that is defined here.
    Struct(Rc<StructDeclaration>),
    /// An enum that is defined here.
    Enum(Rc<EnumDeclaration>),
    /// `T *`
    Pointer(Box<TypeExpr>),
    /// `T &`
    Reference(Box<TypeExpr>),
    /// `T [n]`, or `T []`
    Array(Box<TypeExpr>, Option<Rc<Expr>>),
    /// `const T`, `volatile T`
    Qualified { inner: Box<TypeExpr>, is_const: bool, is_volatile: bool },
    /// `decltype(e)`
    Decltype(Rc<Expr>),
}

/// `struct name { … };`
#[derive(Clone, Debug)]
pub(crate) struct StructDeclaration {
    /// Its name; made up where there is none.
    pub(crate) name: Rc<str>,
    /// Types, names and places of its members.
    pub(crate) fields: Vec<(TypeExpr, Rc<str>, Span)>,
    /// What members are set to where nothing else is said, by their place in `fields`.
    pub(crate) defaults: Vec<(usize, Expr)>,
    /// Alignments of members, by their place in `fields`.
    pub(crate) aligned: Vec<(usize, Rc<Expr>)>,
    /// Its member functions.
    pub(crate) methods: Vec<Rc<Function>>,
    /// Functions that make one; `T() = default` is none of them.
    pub(crate) constructors: Vec<Rc<Function>>,
    /// `operator float()`: what it becomes by itself.
    pub(crate) conversions: Vec<Rc<Function>>,
    /// Whether `T() = default` is written.
    pub(crate) has_default: bool,
    /// Types and constants that are named in it.
    pub(crate) names: Vec<InnerName>,
    /// Its alignment, and whether its members are packed.
    pub(crate) layout: Layout,
    /// A union: all members begin at its beginning.
    pub(crate) is_union: bool,
    /// Where its name stands.
    pub(crate) span: Span,
}

/// Whether this is the name of a struct or an enum that was written without one.
#[must_use]
pub(crate) fn is_unnamed(name: &str) -> bool {
    name.starts_with('(')
}

/// What a struct names besides its members.
#[derive(Clone, Debug)]
pub(crate) enum InnerName {
    /// `using name = T;`
    Alias(Rc<str>, TypeExpr, Span),
    /// `static constexpr T name = value;`
    Constant(Rc<str>, TypeExpr, Expr, Span),
    /// A struct or an enum that is defined in it.
    Type(TypeExpr, Span),
    /// `static_assert(…);`
    Assert(Rc<Statement>),
}

/// What attributes say of where something lies in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// `__align__(n)`, `alignas(n)`, `__attribute__((aligned(n)))`
    pub(crate) align: Option<Rc<Expr>>,
    /// `__attribute__((packed))`
    pub(crate) packed: bool,
}

/// `template <typename T> struct name { … };`
#[derive(Debug)]
pub(crate) struct StructTemplate {
    /// Its name.
    pub(crate) name: Rc<str>,
    /// Its parameters.
    pub(crate) parameters: Vec<TemplateParameter>,
    /// `struct name<T *, 4>`: the arguments for which it stands instead of the general one.
    pub(crate) arguments: Option<Vec<TemplateArgument>>,
    /// The struct; nothing where it is only declared.
    pub(crate) declaration: Option<Rc<StructDeclaration>>,
    /// Where its name stands.
    pub(crate) span: Span,
}

/// `enum name { a, b = 2 };`
#[derive(Clone, Debug)]
pub(crate) struct EnumDeclaration {
    /// Its name; made up where there is none.
    pub(crate) name: Rc<str>,
    /// `enum class`
    pub(crate) scoped: bool,
    /// Its values.
    pub(crate) values: Vec<(Rc<str>, Option<Expr>, Span)>,
}

/// A parameter of a template.
#[derive(Clone, Debug)]
pub(crate) struct TemplateParameter {
    /// Its name.
    pub(crate) name: Rc<str>,
    /// The type of a value; nothing for `typename T`.
    pub(crate) value: Option<TypeExpr>,
    /// What it is where it isn't given.
    pub(crate) default: Option<TemplateArgument>,
}

/// Where a function runs and how it may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// `__global__`
    pub(crate) global: bool,
    /// `__device__`
    pub(crate) device: bool,
    /// `__host__`
    pub(crate) host: bool,
    /// `constexpr`
    pub(crate) is_constexpr: bool,
    /// `extern "C"`, which leaves the name as it is.
    pub(crate) extern_c: bool,
    /// `static`
    pub(crate) is_static: bool,
    /// `__shared__`
    pub(crate) shared: bool,
    /// `__constant__`
    pub(crate) constant: bool,
    /// `extern`
    pub(crate) is_extern: bool,
    /// `typedef`
    pub(crate) is_typedef: bool,
    /// `__managed__`
    pub(crate) managed: bool,
    /// `__noinline__`
    pub(crate) is_noinline: bool,
    /// `explicit`: a constructor that converts nothing by itself.
    pub(crate) is_explicit: bool,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    /// Its type.
    pub(crate) ty: TypeExpr,
    /// Its name; empty where there is none.
    pub(crate) name: Rc<str>,
    /// `__restrict__`
    pub(crate) restrict: bool,
    /// What it is where no argument is given.
    pub(crate) default: Option<Rc<Expr>>,
    /// Where it stands.
    pub(crate) span: Span,
}

/// A function.
#[derive(Debug)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: Rc<str>,
    /// What was written before it.
    pub(crate) attributes: Attributes,
    /// Those of its template, if it is one.
    pub(crate) template: Vec<TemplateParameter>,
    /// The type of what it returns.
    pub(crate) result: TypeExpr,
    /// `template <> … name<float>(…)`: the arguments for which it stands instead of the template.
    pub(crate) specialises: Option<Vec<TemplateArgument>>,
    /// Its parameters.
    pub(crate) parameters: Vec<Parameter>,
    /// A member function that leaves the struct as it is.
    pub(crate) is_const: bool,
    /// What a constructor sets members to before its statements.
    pub(crate) initialisers: Vec<(Rc<str>, Expr, Span)>,
    /// Its statements; nothing where it is only declared.
    pub(crate) body: Option<Vec<Statement>>,
    /// `__launch_bounds__(threads, blocks)`
    pub(crate) bounds: Vec<Expr>,
    /// Where its name stands.
    pub(crate) span: Span,
    /// Where its body ends.
    pub(crate) end: Span,
}

/// Something at the outermost level.
#[derive(Debug)]
pub(crate) enum Item {
    /// A function.
    Function(Rc<Function>),
    /// A struct, enum, alias or variable.
    Statement(Statement),
    /// A kernel of a template.
    Instance(Instance),
    /// A template of structs.
    StructTemplate(Rc<StructTemplate>),
}

/// `template __global__ void name<float, 4>(…);`, or the name of a kernel that the host asks for.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    /// The kernel's name.
    pub(crate) name: Rc<str>,
    /// What the parameters of its template are, as far as that is written.
    pub(crate) arguments: Vec<TemplateArgument>,
    /// The parameters that the kernel has then; nothing in a name.
    pub(crate) parameters: Option<Vec<Parameter>>,
    /// Where the name stands.
    pub(crate) span: Span,
    /// Whether the host asks for it.
    pub(crate) by_host: bool,
}
