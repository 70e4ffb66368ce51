//! Assignments, increments and decrements.

use super::expression::Operand;
use super::{Lowered, Lowerer, Lvalue, Typed};
use crate::source::Span;
use crate::syntax::{Binary, Expr, ExprKind, Unary};
use crate::types::{QualifiedType, Scalar, Type};

impl Lowerer<'_> {
    pub(super) fn check_writable(&mut self, ty: &QualifiedType, span: Span) -> Lowered<()> {
        if ty.is_const {
            let message = format!("this is `{}`, which can't be changed", ty.name());
            let help = "declare it without `const`, or write to another variable";
            return self.error(span, message, help);
        }
        if matches!(ty.ty, Type::Array(..)) {
            let message = "an array can't be assigned as a whole";
            return self.error(span, message, "assign its elements in a loop");
        }
        Ok(())
    }

    pub(super) fn assign(
        &mut self,
        operator: Option<Binary>,
        left: &Expr,
        right: &Expr,
        span: Span,
    ) -> Lowered<Lvalue> {
        if let ExprKind::Name(name, None) = &left.kind
            && let Some(super::Symbol::Constant(..)) = self.lookup(name)
        {
            let message = format!("`{name}` is a constant, which can't be changed");
            return self.error(left.span, message, "declare it without `const`");
        }
        let Some(operator) = operator else {
            // The right side comes first, because the place may depend on its side effects.
            if let ExprKind::List(_) = right.kind {
                let place = self.place(left, "`=`")?;
                self.check_writable(&place.ty, left.span)?;
                self.initialise(&place, right)?;
                return Ok(place);
            }
            let typed = self.rvalue(right)?;
            let place = self.place(left, "`=`")?;
            self.check_writable(&place.ty, left.span)?;
            self.check_widened(&place.ty.ty, right, &typed);
            self.store_converted(&place, typed, right.span)?;
            return Ok(place);
        };
        let place = self.place(left, "an assignment")?;
        self.check_writable(&place.ty, left.span)?;
        if matches!(place.ty.ty, Type::Struct(_)) {
            let own = Typed { ty: place.ty.ty.clone(), value: place.address };
            let operator = operator.text();
            if self.operator_method(&own, &format!("{operator}="), &[right], span)?.is_some() {
                return Ok(place);
            }
            let typed = self.rvalue(right)?;
            for name in [format!("operator{operator}="), format!("operator{operator}")] {
                let arguments = vec![own.clone(), typed.clone()];
                if let Some(result) = self.overloaded(&name, arguments, &[left, right], span)? {
                    if !name.ends_with('=') {
                        self.store_converted(&place, result, span)?;
                    }
                    return Ok(place);
                }
            }
            let message = format!("there is no `{operator}=` for `{}`", place.ty.ty.name());
            return self.error(span, message, "write it out member by member");
        }
        let typed = self.rvalue(right)?;
        let current = self.read(Operand::Lvalue(place.clone()));
        let result = self.operate(operator, current, typed, span)?;
        let value = if place.ty.ty.scalar().is_some() && result.ty.scalar().is_some() {
            self.cast(result, &place.ty.ty, span)?
        } else {
            self.convert(result, &place.ty.ty, span)?
        };
        self.store(&place.ty, place.address, value);
        Ok(place)
    }

    /// Converts a value to the type of a place, and stores it there.
    pub(super) fn store_converted(
        &mut self,
        place: &Lvalue,
        typed: Typed,
        span: Span,
    ) -> Lowered<()> {
        if typed.ty == Type::Void {
            return self.error(span, "nothing is returned here that could be assigned", "");
        }
        if let Type::Struct(_) = &place.ty.ty {
            if self.converts(&typed.ty, &place.ty.ty) {
                let given = match &typed.ty {
                    Type::Struct(_) => Operand::Lvalue(Lvalue {
                        ty: crate::types::QualifiedType::from(typed.ty.clone()).constant(),
                        address: typed.value,
                    }),
                    _ => Operand::Value(typed),
                };
                return self.construct_with(place, vec![given], &[], span);
            }
            if self.conversion_to(&typed.ty, &place.ty.ty).is_some() {
                let value = self.converted(typed, &place.ty.ty, span)?;
                self.copy(&place.ty, place.address, value);
                return Ok(());
            }
            if typed.ty != place.ty.ty {
                let message =
                    format!("a `{}` doesn't become a `{}`", typed.ty.name(), place.ty.ty.name());
                return self.error(span, message, "assign it member by member");
            }
            self.copy(&place.ty, place.address, typed.value);
            return Ok(());
        }
        let value = self.convert(typed, &place.ty.ty, span)?;
        self.store(&place.ty, place.address, value);
        Ok(())
    }

    /// `++`, `--`
    pub(super) fn step(&mut self, operator: Unary, operand: &Expr, span: Span) -> Lowered<Operand> {
        let place = self.place(operand, "a step")?;
        self.check_writable(&place.ty, operand.span)?;
        let up = matches!(operator, Unary::Increment | Unary::PostIncrement);
        let before = self.read(Operand::Lvalue(place.clone()));
        if !matches!(place.ty.ty, Type::Scalar(_) | Type::Pointer(_))
            || place.ty.ty == Type::Scalar(Scalar::Bool)
        {
            let message =
                format!("a step is for numbers and pointers, and this is `{}`", place.ty.ty.name());
            return self.error(span, message, "");
        }
        let value = self.builder.integer(crate::ir::Ty::I32, 1);
        let one = Typed { ty: Type::Scalar(Scalar::Int), value };
        let by = if up { Binary::Add } else { Binary::Subtract };
        let after = self.operate(by, before.clone(), one, span)?;
        let value = self.cast(after, &place.ty.ty, span)?;
        self.store(&place.ty, place.address, value);
        Ok(match operator {
            Unary::Increment | Unary::Decrement => Operand::Lvalue(place),
            _ => Operand::Value(before),
        })
    }
}
