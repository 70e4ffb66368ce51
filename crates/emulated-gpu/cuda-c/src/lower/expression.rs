//! Lowering of expressions to values and places.

use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

use super::convert::{memory_of, ty_of};
use super::{Lowered, Lowerer, Lvalue, Symbol, Typed};
use crate::diagnostic::Problem;
use crate::ir::{Op, Ty, Value};
use crate::source::Span;
use crate::syntax::{CastStyle, Expr, ExprKind, Unary};
use crate::types::{QualifiedType, Scalar, Type};

/// The result of an expression: a place, or a value that isn't in memory.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Lvalue(Lvalue),
    Value(Typed),
}

impl Lowerer<'_> {
    /// The value of an expression. An array becomes the address of its first element.
    pub(super) fn rvalue(&mut self, expr: &Expr) -> Lowered<Typed> {
        let operand = self.operand(expr)?;
        Ok(self.read(operand))
    }

    /// The value at a place.
    pub(super) fn read(&mut self, operand: Operand) -> Typed {
        let place = match operand {
            Operand::Lvalue(place) => place,
            Operand::Value(typed) => return typed,
        };
        match &place.ty.ty {
            Type::Array(element, _) => {
                Typed { ty: Type::Pointer(element.clone()), value: place.address }
            }
            Type::Struct(_) => Typed { ty: place.ty.ty, value: place.address },
            _ => {
                let value = self.load(&place.ty, place.address);
                Typed { ty: place.ty.ty, value }
            }
        }
    }

    pub(super) fn load(&mut self, ty: &QualifiedType, address: Value) -> Value {
        let value = self.builder.load(memory_of(&ty.ty), ty.is_volatile, address);
        if ty.ty == Type::Scalar(Scalar::Bool) {
            let zero = self.builder.integer(Ty::I32, 0);
            let kind = crate::ir::CompareKind::Signed;
            return self.builder.compare(crate::ir::Compare::Ne, kind, value, zero);
        }
        value
    }

    pub(super) fn store(&mut self, ty: &QualifiedType, address: Value, value: Value) {
        let value = if ty.ty == Type::Scalar(Scalar::Bool) {
            self.builder.convert(crate::ir::Convert::FromBool, Ty::I32, value)
        } else {
            value
        };
        self.builder.store(memory_of(&ty.ty), ty.is_volatile, address, value);
    }

    /// The place that an expression denotes; an error if it only has a value.
    pub(super) fn place(&mut self, expr: &Expr, what: &str) -> Lowered<Lvalue> {
        match self.operand(expr)? {
            Operand::Lvalue(place) => Ok(place),
            Operand::Value(_) => self.error(
                expr.span,
                format!("{what} needs a variable, an element or a member"),
                "a computed value has no address: assign it to a variable first",
            ),
        }
    }

    pub(super) fn operand(&mut self, expr: &Expr) -> Lowered<Operand> {
        self.one_level_deeper(expr.span, |lowerer| lowerer.operand_inner(expr))
    }

    fn operand_inner(&mut self, expr: &Expr) -> Lowered<Operand> {
        let value = |ty: Type, value| Ok(Operand::Value(Typed { ty, value }));
        match &expr.kind {
            ExprKind::Integer(number, scalar) => {
                Ok(Operand::Value(self.typed_constant(Type::Scalar(*scalar), *number)))
            }
            ExprKind::Float(number, single) => {
                let (scalar, bits) = if *single {
                    (Scalar::Float, u64::from((*number as f32).to_bits()))
                } else {
                    (Scalar::Double, number.to_bits())
                };
                Ok(Operand::Value(self.typed_constant(Type::Scalar(scalar), bits)))
            }
            ExprKind::Bool(is) => {
                value(Type::Scalar(Scalar::Bool), self.builder.bool_constant(*is))
            }
            ExprKind::Null => value(Type::Null, self.builder.integer(Ty::I64, 0)),
            ExprKind::String(bytes) => Ok(Operand::Lvalue(self.string(bytes))),
            ExprKind::Name(name, None) => self.variable(name, expr.span),
            ExprKind::Name(name, Some(_)) => self.error(
                expr.span,
                format!("the function `{name}` is not called here"),
                "write its arguments in brackets after it",
            ),
            ExprKind::Scoped(ty, name) => self.scoped_value(ty, name, expr.span),
            ExprKind::Unary(operator, operand) => self.unary(*operator, operand, expr.span),
            ExprKind::Binary(operator, left, right) => {
                self.binary(*operator, left, right, expr.span).map(Operand::Value)
            }
            ExprKind::Assign(operator, left, right) => {
                self.assign(*operator, left, right, expr.span).map(Operand::Lvalue)
            }
            ExprKind::Conditional(condition, yes, no) => {
                self.choose(condition, yes, no, expr.span).map(Operand::Value)
            }
            ExprKind::Comma(first, second) => {
                self.operand(first)?;
                self.operand(second)
            }
            ExprKind::Index(base, index) => self.index(base, index, expr.span),
            ExprKind::Member { base, name, arrow, .. } => {
                self.member(base, name, *arrow, expr.span)
            }
            ExprKind::Call(callee, arguments) => self.call(callee, arguments, expr.span),
            ExprKind::Cast(style, ty, operand) => {
                self.explicit_cast(*style, ty, operand, expr.span)
            }
            ExprKind::Construct(ty, arguments) => {
                self.construct(ty, arguments, expr.span).map(Operand::Value)
            }
            ExprKind::SizeofType(ty) | ExprKind::AlignofType(ty) => {
                let own = self.resolve(ty, expr.span)?.0;
                let own = self.completed(&own).ty;
                if own.size() == 0 {
                    let message = format!("`{}` has no size", own.name());
                    let help = "take the size of a complete type";
                    return self.error(expr.span, message, help);
                }
                let sizeof = matches!(expr.kind, ExprKind::SizeofType(_));
                let bytes = if sizeof { own.size() } else { own.align() };
                self.size(bytes)
            }
            ExprKind::SizeofValue(inner) => {
                let own = self.type_of(inner)?;
                if own.size() == 0 {
                    return self.error(inner.span, format!("`{}` has no size", own.name()), "");
                }
                self.size(own.size())
            }
            ExprKind::Computed(number) => Ok(self.computed[*number].clone()),
            ExprKind::List(_) => self.error(
                expr.span,
                "a list in braces initialises a variable",
                "write the type before it: `T{…}`",
            ),
        }
    }

    fn size(&mut self, bytes: u64) -> Lowered<Operand> {
        Ok(Operand::Value(self.typed_constant(Type::Scalar(Scalar::UnsignedLong), bytes)))
    }

    fn variable(&mut self, name: &Rc<str>, span: Span) -> Lowered<Operand> {
        if let Some(name) = name.strip_prefix("::") {
            // `::name` is a variable outside of all functions, even if a local variable hides it.
            return self.in_outer_scope(HashMap::default(), |lowerer| {
                lowerer.variable(&name.into(), span)
            });
        }
        if let Some(symbol) = self.lookup(name).cloned() {
            return match self.operand_of(symbol) {
                Some(operand) => Ok(operand),
                None => self.error(span, format!("`{name}` is a type; a value is expected"), ""),
            };
        }
        if let Some(found) = self.built_in_variable(name) {
            return Ok(Operand::Value(found));
        }
        if let Some(found) = self.member_of_this(name, span)? {
            return Ok(found);
        }
        if self.functions.contains_key(name) || super::builtin::is_known(name) {
            let message = format!("the function `{name}` is not called here");
            let help = "pointers to functions aren't supported; call it, or choose with `switch`";
            return self.error(span, message, help);
        }
        let built_in = ["threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"];
        let problem = Problem::new(self.place_of(span), format!("there is no variable `{name}`"));
        let problem = problem.did_you_mean(name, self.names_in_scope(false).chain(built_in));
        self.fail(problem)
    }

    /// The operand that a symbol denotes; `None` for a type.
    pub(super) fn operand_of(&mut self, symbol: Symbol) -> Option<Operand> {
        Some(match symbol {
            Symbol::Variable(place) => Operand::Lvalue(place),
            Symbol::Global(global, ty) => {
                let address = self.builder.op(Op::Global(global), Ty::I64, Vec::new());
                Operand::Lvalue(Lvalue { ty, address })
            }
            Symbol::Constant(ty, bits) => Operand::Value(self.typed_constant(ty, bits)),
            Symbol::Alias(_) => return None,
        })
    }

    pub(super) fn typed_constant(&mut self, ty: Type, bits: u64) -> Typed {
        Typed { value: self.builder.function.constant(ty_of(&ty), bits), ty }
    }

    /// The variable that holds a string literal.
    pub(super) fn string(&mut self, bytes: &Rc<[u8]>) -> Lvalue {
        let number = match self.strings.get(bytes) {
            Some(&number) => number,
            None => {
                let mut init = bytes.to_vec();
                init.push(0);
                let name = format!("string_{}", self.strings.len());
                let number = self.add_global(crate::ir::Global {
                    name,
                    space: crate::ir::Space::Global,
                    size: init.len() as u64,
                    align: 1,
                    init: Some(init),
                    dynamic: false,
                    visible: false,
                });
                self.strings.insert(bytes.clone(), number);
                number
            }
        };
        let address = self.builder.op(Op::Global(number), Ty::I64, Vec::new());
        let element = QualifiedType::from(Type::Scalar(Scalar::Char)).constant();
        let ty = Type::Array(Rc::new(element), bytes.len() as u64 + 1).into();
        Lvalue { ty, address }
    }

    fn explicit_cast(
        &mut self,
        style: CastStyle,
        ty: &crate::syntax::TypeExpr,
        operand: &Expr,
        span: Span,
    ) -> Lowered<Operand> {
        let (target, reference) = self.resolve(ty, span)?;
        if reference {
            // A cast to a reference yields the operand's own address with another type.
            let place = self.place(operand, "a cast to a reference")?;
            return Ok(Operand::Lvalue(Lvalue { ty: target, address: place.address }));
        }
        if style == CastStyle::Value && Self::has_constructors(&target.ty) {
            let address = self.temporary(&target.ty);
            let place = Lvalue { ty: target.ty.clone().into(), address };
            self.construct_by(&place, std::slice::from_ref(operand), span)?;
            return Ok(Operand::Value(Typed { ty: target.ty, value: address }));
        }
        let typed = self.rvalue(operand)?;
        if typed.ty == Type::Void && target.ty != Type::Void {
            return self.error(span, "nothing is returned here that could be cast", "");
        }
        let pointers =
            matches!(typed.ty, Type::Pointer(_)) || matches!(target.ty, Type::Pointer(_));
        if style == CastStyle::Reinterpret && !pointers {
            let problem = "reinterpret_cast is between pointers, or a pointer and an integer";
            let help = "bits are kept by __float_as_uint, __uint_as_float and such";
            return self.error(span, problem, help);
        }
        self.check_widened(&target.ty, operand, &typed);
        let value = self.cast(typed, &target.ty, span)?;
        Ok(Operand::Value(Typed { ty: target.ty, value }))
    }

    fn unary(&mut self, operator: Unary, operand: &Expr, span: Span) -> Lowered<Operand> {
        match operator {
            Unary::Dereference => {
                let pointer = self.rvalue(operand)?;
                let pointer = self.as_number(pointer, span)?;
                match &pointer.ty {
                    Type::Pointer(to) if to.ty != Type::Void => {
                        let ty = self.completed(to);
                        Ok(Operand::Lvalue(Lvalue { ty, address: pointer.value }))
                    }
                    other => {
                        let message = format!(
                            "`*` reads the target of a pointer, and this is `{}`",
                            other.name()
                        );
                        self.error(span, message, "")
                    }
                }
            }
            Unary::AddressOf => {
                let place = self.place(operand, "`&`")?;
                let ty = Type::pointer(place.ty);
                Ok(Operand::Value(Typed { ty, value: place.address }))
            }
            Unary::Increment | Unary::Decrement | Unary::PostIncrement | Unary::PostDecrement => {
                self.step(operator, operand, span)
            }
            Unary::Minus | Unary::Plus | Unary::Not | Unary::Complement => {
                self.arithmetic_unary(operator, operand, span).map(Operand::Value)
            }
        }
    }

    pub(super) fn completed(&self, ty: &QualifiedType) -> QualifiedType {
        match &ty.ty {
            Type::Struct(own) => {
                QualifiedType { ty: Type::Struct(self.complete(own)), ..ty.clone() }
            }
            _ => ty.clone(),
        }
    }
}
