//! The syntax tree, before any name has been resolved.

mod expression;
mod statement;

pub(crate) use expression::{Binary, CastStyle, Expr, ExprKind, TemplateArgument, Unary};
pub(crate) use statement::{Asm, Case, Loop, Statement, StatementKind, Unroll, Variable};

use std::rc::Rc;

use crate::source::Span;
use crate::types::Scalar;

/// A type in the source.
#[derive(Clone, Debug)]
pub(crate) enum TypeExpr {
    /// An arithmetic type: `float`, `unsigned long long`, ….
    Scalar(Scalar),
    /// `void`
    Void,
    /// `auto`
    Auto,
    /// A struct, enum, alias or template parameter, by name.
    Named(Rc<str>, Span),
    /// An instance of a struct template, `name<float, 4>`.
    Applied(Rc<str>, Rc<[TemplateArgument]>, Span),
    /// A type declared in a struct, `T::name`.
    Inner(Box<TypeExpr>, Rc<str>, Span),
    /// The definition of a struct.
    Struct(Rc<StructDeclaration>),
    /// The definition of an enum.
    Enum(Rc<EnumDeclaration>),
    /// `T *`
    Pointer(Box<TypeExpr>),
    /// `T &`
    Reference(Box<TypeExpr>),
    /// An array: `T [n]`, or `T []`.
    Array(Box<TypeExpr>, Option<Rc<Expr>>),
    /// A qualified type: `const T` or `volatile T`.
    Qualified { inner: Box<TypeExpr>, is_const: bool, is_volatile: bool },
    /// `decltype(e)`
    Decltype(Rc<Expr>),
}

/// The definition of a struct, `struct name { … };`.
#[derive(Clone, Debug, Default)]
pub(crate) struct StructDeclaration {
    /// The name, which is made up for unnamed types.
    pub(crate) name: Rc<str>,
    /// The types, names and positions of the members.
    pub(crate) fields: Vec<(TypeExpr, Rc<str>, Span)>,
    /// Default values of members, by their index in `fields`.
    pub(crate) defaults: Vec<(usize, Expr)>,
    /// Alignments of members, by their index in `fields`.
    pub(crate) aligned: Vec<(usize, Rc<Expr>)>,
    pub(crate) methods: Vec<Rc<Function>>,
    /// The constructors, without `T() = default`.
    pub(crate) constructors: Vec<Rc<Function>>,
    /// The conversion operators, such as `operator float()`.
    pub(crate) conversions: Vec<Rc<Function>>,
    /// Whether there is a `T() = default`.
    pub(crate) has_default: bool,
    /// Types, constants and assertions declared in the struct.
    pub(crate) names: Vec<InnerName>,
    /// The alignment of the struct, and whether the members are packed.
    pub(crate) layout: Layout,
    /// Whether the type is a union.
    pub(crate) is_union: bool,
    /// The position of the name.
    pub(crate) span: Span,
}

/// Whether this is the made-up name of an unnamed struct or enum.
pub(crate) fn is_unnamed(name: &str) -> bool {
    name.starts_with('(')
}

/// A declaration in a struct that isn't a member.
#[derive(Clone, Debug)]
pub(crate) enum InnerName {
    /// An alias: `using name = T;`.
    Alias(Rc<str>, TypeExpr, Span),
    /// A constant: `static constexpr T name = value;`.
    Constant(Rc<str>, TypeExpr, Expr, Span),
    /// The definition of a struct or an enum.
    Type(TypeExpr, Span),
    /// `static_assert(…);`
    Assert(Rc<Statement>),
}

/// Attributes that affect the layout in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// `__align__(n)`, `alignas(n)`, `__attribute__((aligned(n)))`
    pub(crate) align: Option<Rc<Expr>>,
    /// `__attribute__((packed))`
    pub(crate) packed: bool,
}

/// A struct template: `template <typename T> struct name { … };`.
#[derive(Debug)]
pub(crate) struct StructTemplate {
    pub(crate) name: Rc<str>,
    pub(crate) parameters: Vec<TemplateParameter>,
    /// The arguments of a specialisation, as in `struct name<T *, 4>`.
    pub(crate) arguments: Option<Vec<TemplateArgument>>,
    /// The definition; `None` for a declaration.
    pub(crate) declaration: Option<Rc<StructDeclaration>>,
    /// The position of the name.
    pub(crate) span: Span,
}

/// An enum: `enum name { a, b = 2 };`.
#[derive(Clone, Debug)]
pub(crate) struct EnumDeclaration {
    /// The name, which is made up for unnamed types.
    pub(crate) name: Rc<str>,
    /// `enum class`
    pub(crate) scoped: bool,
    pub(crate) values: Vec<(Rc<str>, Option<Expr>, Span)>,
}

/// A parameter of a template.
#[derive(Clone, Debug)]
pub(crate) struct TemplateParameter {
    pub(crate) name: Rc<str>,
    /// The type of a non-type parameter; `None` for `typename T`.
    pub(crate) value: Option<TypeExpr>,
    pub(crate) default: Option<TemplateArgument>,
}

/// The attributes of a declaration.
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
    /// Whether the function is `extern "C"`, so that its name isn't mangled.
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
    /// Whether the function is `explicit`, and so isn't used for implicit conversions.
    pub(crate) is_explicit: bool,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) ty: TypeExpr,
    /// The name; may be empty.
    pub(crate) name: Rc<str>,
    /// `__restrict__`
    pub(crate) restrict: bool,
    /// The default argument.
    pub(crate) default: Option<Rc<Expr>>,
    /// The position in the source.
    pub(crate) span: Span,
}

/// A function.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: Rc<str>,
    pub(crate) attributes: Attributes,
    /// The template parameters; empty for a function that isn't a template.
    pub(crate) template: Vec<TemplateParameter>,
    /// The type of the result.
    pub(crate) result: TypeExpr,
    /// The arguments of a specialisation, as in `template <> … name<float>(…)`.
    pub(crate) specialises: Option<Vec<TemplateArgument>>,
    pub(crate) parameters: Vec<Parameter>,
    /// Whether the function is a `const` member function.
    pub(crate) is_const: bool,
    /// The member initialisers of a constructor.
    pub(crate) initialisers: Vec<(Rc<str>, Expr, Span)>,
    /// The statements; `None` for a declaration.
    pub(crate) body: Option<Vec<Statement>>,
    /// `__launch_bounds__(threads, blocks)`
    pub(crate) bounds: Vec<Expr>,
    /// The position of the name.
    pub(crate) span: Span,
    /// The end of the body.
    pub(crate) end: Span,
}

/// A declaration at the top level.
#[derive(Debug)]
pub(crate) enum Item {
    /// A function.
    Function(Rc<Function>),
    /// A struct, enum, alias or variable.
    Statement(Statement),
    /// An instance of a template.
    Instance(Instance),
    /// A struct template.
    StructTemplate(Rc<StructTemplate>),
}

/// An explicit instantiation, `template __global__ void name<float, 4>(…);`, or a name expression.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) name: Rc<str>,
    /// The explicit template arguments.
    pub(crate) arguments: Vec<TemplateArgument>,
    /// The types of the kernel's parameters; `None` for a name expression.
    pub(crate) parameters: Option<Vec<Parameter>>,
    /// The position of the name.
    pub(crate) span: Span,
    /// Whether the instance is a name expression.
    pub(crate) by_host: bool,
}
