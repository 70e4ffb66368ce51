//! Elements of arrays and members of structs.

use std::rc::Rc;

use super::expression::Operand;
use super::{Lowered, Lowerer, Lvalue, Symbol, Typed};
use crate::diagnostic::Problem;
use crate::ir::{BinaryOp, Op, Ty, Value};
use crate::source::Span;
use crate::syntax::Expr;
use crate::types::{QualifiedType, Scalar, Struct, Type};

impl Lowerer<'_> {
    pub(super) fn index(&mut self, base: &Expr, index: &Expr, span: Span) -> Lowered<Operand> {
        let operand = self.operand(base)?;
        let own = self.object(&operand);
        // A struct is indexed by its `operator[]`, or as the pointer that it converts to.
        let indexed =
            |ty: &Type| Self::has_method(ty, "operator[]") || self.conversions(ty).is_empty();
        if matches!(own.1.ty, Type::Struct(_)) && indexed(&own.1.ty) {
            let arguments = std::slice::from_ref(index);
            return self.call_method(own, "operator[]", &[], arguments, span);
        }
        let pointer = self.read(operand);
        let mut pointer = self.as_number(pointer, span)?;
        let mut number = self.rvalue(index)?;
        let mut length = None;
        if pointer.ty.is_integer() {
            std::mem::swap(&mut pointer, &mut number);
        } else if let crate::syntax::ExprKind::Name(name, _) = &base.kind
            && let Some(Symbol::Variable(Lvalue { ty, .. }) | Symbol::Global(_, ty)) =
                self.lookup(name)
            && let Type::Array(_, count) = &ty.ty
        {
            length = Some((name.clone(), *count));
        }
        let Type::Pointer(to) = &pointer.ty else {
            let message = format!(
                "only arrays and pointers have elements, and this is `{}`",
                pointer.ty.name()
            );
            return self.error(base.span, message, "");
        };
        if !number.ty.is_integer() {
            let message = format!("an index is an integer, and this is `{}`", number.ty.name());
            return self.error(index.span, message, "cast it: `(int)…`");
        }
        let to = self.completed(to);
        if to.ty == Type::Void || to.ty.size() == 0 {
            let message = format!("a `{}` has no elements of a known size", pointer.ty.name());
            return self.error(span, message, "cast the pointer to the type of the elements");
        }
        if let (Some((name, count)), Some(bits)) =
            (length, self.builder.function.constant_of(number.value))
        {
            let place = if self.builder.ty(number.value) == Ty::I32 {
                i64::from(bits as u32 as i32)
            } else {
                bits as i64
            };
            if count > 0 && (place < 0 || place as u64 >= count) {
                let message =
                    format!("`{name}` has {count} elements, and this is the one at {place}");
                let help = format!("the last one is at {}", count - 1);
                self.warn(Problem::warning(index.span, message).help(help));
            }
        }
        let address = self.advance(pointer.value, &number, to.ty.size());
        Ok(Operand::Lvalue(Lvalue { ty: to, address }))
    }

    /// Moves a pointer by `number` elements of `size` bytes.
    pub(super) fn advance(&mut self, pointer: Value, number: &Typed, size: u64) -> Value {
        let scalar = number.ty.scalar().unwrap_or(Scalar::Long);
        let wide = self.scalar_to_scalar(number.value, scalar, Scalar::Long);
        let size = self.builder.integer(Ty::I64, size as i64);
        let offset = self.builder.op(Op::Binary(BinaryOp::Mul, true), Ty::I64, vec![wide, size]);
        self.builder.op(Op::PtrAdd, Ty::I64, vec![pointer, offset])
    }

    pub(super) fn member(
        &mut self,
        base: &Expr,
        name: &Rc<str>,
        arrow: bool,
        span: Span,
    ) -> Lowered<Operand> {
        if let crate::syntax::ExprKind::Name(own, None) = &base.kind
            && !arrow
            && self.lookup(own).is_none()
            && let Some(special) = super::builtin::coordinate(own, name)
        {
            let value = self.builder.op(Op::Special(special), Ty::I32, Vec::new());
            let ty = Type::Scalar(Scalar::UnsignedInt);
            return Ok(Operand::Value(Typed { ty, value }));
        }
        let (address, ty, is_place) = if arrow {
            let pointer = self.rvalue(base)?;
            match &pointer.ty {
                Type::Pointer(to) => (pointer.value, self.completed(to), true),
                Type::Struct(_) => {
                    let message = "this is a struct, and `->` is for pointers";
                    return self.error(base.span, message, "write `.`");
                }
                other => {
                    let message = format!("`->` is for pointers, and this is `{}`", other.name());
                    return self.error(base.span, message, "");
                }
            }
        } else {
            let operand = self.operand(base)?;
            let (address, ty) = self.object(&operand);
            (address, ty, matches!(operand, Operand::Lvalue(_)))
        };
        let Type::Struct(own) = &ty.ty else {
            let pointer = matches!(ty.ty, Type::Pointer(_));
            let message = format!("a `{}` has no members", ty.ty.name());
            return self.error(
                base.span,
                message,
                if pointer { "write `->` after a pointer" } else { "" },
            );
        };
        if let Some(Symbol::Constant(ty, bits)) = self.inner_name(own, name) {
            return Ok(Operand::Value(self.typed_constant(ty, bits)));
        }
        let place = self.field(own, name, &ty, address, span)?;
        Ok(if is_place {
            Operand::Lvalue(place)
        } else {
            Operand::Value(self.read(Operand::Lvalue(place)))
        })
    }

    pub(super) fn field(
        &mut self,
        own: &Rc<Struct>,
        name: &str,
        around: &QualifiedType,
        address: Value,
        span: Span,
    ) -> Lowered<Lvalue> {
        let Some(field) = own.member(name) else {
            let problem = Problem::new(span, format!("`{}` has no member `{name}`", own.name));
            let known = own.fields.iter().map(|field| &*field.name);
            return self.fail(problem.did_you_mean(name, known));
        };
        let packed = own.declaration.as_ref().is_some_and(|own| own.layout.packed);
        let natural = field.ty.ty.align();
        if packed && (natural > own.align || !field.offset.is_multiple_of(natural)) {
            let message = format!("`{name}` isn't aligned in `{}`, which is packed", own.name);
            let help = "such members aren't supported: read it byte by byte, or remove `packed`";
            return self.error(span, message, help);
        }
        let mut ty = field.ty;
        ty.is_const |= around.is_const;
        ty.is_volatile |= around.is_volatile;
        let address = self.builder.offset(address, field.offset);
        Ok(Lvalue { ty, address })
    }

    /// The variable `this`, and the type of the object; `None` outside of member functions.
    pub(super) fn this_object(&self) -> Option<(Lvalue, QualifiedType)> {
        let Some(Symbol::Variable(this)) = self.lookup("this") else { return None };
        let Type::Pointer(to) = &this.ty.ty else { return None };
        Some((this.clone(), self.completed(to)))
    }

    /// The address and the complete type of an operand that may be a struct.
    pub(super) fn object(&self, operand: &Operand) -> (Value, QualifiedType) {
        match operand {
            Operand::Lvalue(place) => (place.address, self.completed(&place.ty)),
            Operand::Value(typed) => (typed.value, self.completed(&typed.ty.clone().into())),
        }
    }

    /// A member of the object whose member function is being lowered; `None` if there is no such
    /// member.
    pub(super) fn member_of_this(
        &mut self,
        name: &Rc<str>,
        span: Span,
    ) -> Lowered<Option<Operand>> {
        let Some((this, to)) = self.this_object() else { return Ok(None) };
        let Type::Struct(own) = &to.ty else { return Ok(None) };
        if own.member(name).is_none() {
            return Ok(None);
        }
        let address = self.load(&this.ty, this.address);
        self.field(own, name, &to, address, span).map(|place| Some(Operand::Lvalue(place)))
    }
}
