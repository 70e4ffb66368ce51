//! Operands that name registers.

use super::{Check, Width};
use crate::check::context::Result;
use crate::check::scope::Binding;
use crate::check::{special, types};
use crate::diagnostic::Problem;
use crate::program::{Register, RegisterInfo, Type};
use crate::source::Span;
use crate::syntax::{Expression, Node, Unary};

impl<'a> Check<'_, 'a> {
    pub(super) fn info(&self, register: Register) -> &RegisterInfo {
        &self.body.function.registers[register.0 as usize]
    }

    pub(in crate::check) fn register_type(&self, register: Register) -> Type {
        self.info(register).ty
    }

    pub(super) fn mismatch(
        &self,
        register: Register,
        ty: Type,
        width: Width,
        span: Span,
    ) -> Problem {
        let (name, register_type) = (&self.info(register).name, self.register_type(register));
        let (wide, want) = (register_type.bits(), ty.bits());
        let (kind, title) = (register_type.name(), self.title());
        let is_predicate = register_type == Type::Pred || ty == Type::Pred;
        let fits = if width == Width::Relaxed { wide >= want } else { wide == want };
        let message = if is_predicate || fits {
            format!("`{name}` is .{kind}, `{title}` expects .{} here", ty.name())
        } else {
            format!("`{name}` has {wide} bits, `{title}` expects {want} here")
        };
        let help = match (register_type, ty) {
            (_, Type::Pred) => "make a predicate of it with setp.ne".into(),
            (Type::Pred, _) => "make a number of it with selp: selp.b32 d, 1, 0, p;".into(),
            _ if fits => format!("convert its value with cvt, or move its bits with mov.b{want}"),
            _ => {
                let (from, to) = (converted(register_type), converted(ty));
                let round = match (types::is_float(from), types::is_float(to)) {
                    (true, false) => ".rzi",
                    (false, true) => ".rn",
                    (true, true) if want < wide => ".rn",
                    _ => "",
                };
                let (from, to) = (from.name(), to.name());
                format!(
                    "convert it first, with cvt{round}.{to}.{from}, or use a register of {want} bits"
                )
            }
        };
        Problem::new(span, message).label(format!("declared .{kind}")).help(help)
    }

    /// Resolves a destination operand: a declared, writable register that holds `ty`.
    pub(in crate::check) fn written_register(
        &mut self,
        node: &Node<'a>,
        ty: Type,
        width: Width,
    ) -> Result<Register> {
        let register = self.any_register(node)?;
        self.fitting(register, ty, width, node.span)
    }

    /// Resolves a destination operand: a declared, writable register of any type.
    pub(in crate::check) fn any_register(&mut self, node: &Node<'a>) -> Result<Register> {
        let binding = match &node.expression {
            Expression::Name(name) => {
                if special::find_special(name, None).is_some() && self.body.find(name).is_none() {
                    return Err(read_only(node.span, name));
                }
                self.body.find(name)
            }
            Expression::Member(name, member) => match self.body.find(name) {
                Some(Binding::Vector(registers)) => {
                    Some(Binding::Register(element(&registers, name, member, node.span)?))
                }
                Some(_) => return Err(no_vector(node.span, name)),
                None if special::find_special(name, Some(member)).is_some() => {
                    return Err(read_only(node.span, &format!("{name}.{member}")));
                }
                None => return Err(self.body.undeclared(self.context, name, node.span)),
            },
            _ => {
                return Err(Problem::new(node.span, "the result needs a register")
                    .help("name a register that takes the result"));
            }
        };
        match (binding, &node.expression) {
            (Some(Binding::Register(register)), _) => Ok(register),
            (Some(Binding::Vector(_)), Expression::Name(name)) => {
                Err(Problem::new(node.span, format!("`{name}` is a vector"))
                    .help(format!("name one element: {name}.x")))
            }
            (None, Expression::Name(name)) => {
                Err(self.body.undeclared(self.context, name, node.span))
            }
            _ => Err(Problem::new(node.span, "the result needs a register")
                .help("name a register that takes the result")),
        }
    }

    /// The register that an expression names; `None` if it may be a constant.
    pub(in crate::check) fn read_register(&mut self, node: &Node<'a>) -> Result<Option<Register>> {
        let (name, member) = match &node.expression {
            Expression::Name("WARP_SZ") => return Ok(None),
            Expression::Name(name) => (*name, None),
            Expression::Member(name, member) => (*name, Some(*member)),
            Expression::Unary(Unary::Minus | Unary::Not, of) if self.is_register(of) => {
                return Err(Problem::new(node.span, "a register can't be negated here")
                    .help("negate it first, with neg or not"));
            }
            _ => return Ok(None),
        };
        match (self.body.find(name), member) {
            (Some(Binding::Register(register)), None) => Ok(Some(register)),
            (Some(Binding::Vector(registers)), Some(member)) => {
                element(&registers, name, member, node.span).map(Some)
            }
            (Some(Binding::Vector(_)), None) => {
                Err(Problem::new(node.span, format!("`{name}` is a vector"))
                    .help(format!("name one element: {name}.x")))
            }
            (Some(Binding::Register(_)), Some(_)) => Err(no_vector(node.span, name)),
            (Some(Binding::Variable(_) | Binding::Static(_)), _) => {
                Err(self.memory(node.span, name))
            }
            (Some(_), _) => {
                Err(Problem::new(node.span, format!("`{name}` is a label, not a value"))
                    .help("name a register or a constant"))
            }
            (None, member) => {
                if special::find_special(name, member).is_some() {
                    return Err(Problem::new(
                        node.span,
                        format!("`{}` can't read a special register", self.title()),
                    )
                    .help("move it into a register first: mov.u32 r, %tid.x;"));
                }
                if self.context.names.contains_key(name) {
                    return Err(self.memory(node.span, name));
                }
                if name == "_" {
                    return Err(Problem::new(node.span, "`_` can't be read")
                        .help("name a register or write a constant"));
                }
                Err(self.body.undeclared(self.context, name, node.span))
            }
        }
    }

    pub(super) fn memory(&self, span: Span, name: &str) -> Problem {
        Problem::new(span, format!("`{name}` is in memory"))
            .help("load its value with ld, or take its address with mov")
    }

    pub(in crate::check) fn is_register(&mut self, node: &Node<'a>) -> bool {
        let (Expression::Name(name) | Expression::Member(name, _)) = node.expression else {
            return false;
        };
        matches!(self.body.find(name), Some(Binding::Register(_) | Binding::Vector(_)))
    }
}

fn element(registers: &[Register], name: &str, member: &str, span: Span) -> Result<Register> {
    let index = match member {
        "x" | "r" => 0,
        "y" | "g" => 1,
        "z" | "b" => 2,
        "w" | "a" => 3,
        _ => usize::MAX,
    };
    registers.get(index).copied().ok_or_else(|| {
        Problem::new(span, format!("`{name}` has no element .{member}"))
            .help(format!("it has {}: .x, .y, .z, .w", registers.len()))
    })
}

fn read_only(span: Span, name: &str) -> Problem {
    Problem::new(span, format!("`{name}` can't be written"))
        .label("a special register")
        .help("name a register of your own")
}

fn no_vector(span: Span, name: &str) -> Problem {
    Problem::new(span, format!("`{name}` is not a vector")).help("remove the component")
}

/// The typed equivalent of an untyped type, for the name of a conversion.
fn converted(ty: Type) -> Type {
    match ty {
        Type::B8 => Type::U8,
        Type::B16 => Type::U16,
        Type::B32 => Type::U32,
        Type::B64 => Type::U64,
        other => other,
    }
}
