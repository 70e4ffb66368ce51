//! Conversions of structs: `operator float()`, `operator T *()`.

use std::rc::Rc;

use super::{Lowered, Lowerer, Typed};
use crate::ir::Value;
use crate::source::Span;
use crate::syntax::{Function, StructDeclaration};
use crate::types::{QualifiedType, Type};

impl Lowerer<'_> {
    /// Records the conversion operators of a struct, while the names in its scope can be resolved.
    pub(super) fn conversions_of(&mut self, own: &StructDeclaration, id: u32) -> Lowered<()> {
        let mut conversions = Vec::new();
        for function in &own.conversions {
            let (ty, _) = self.resolve(&function.result, function.span)?;
            conversions.push((ty.ty, function.clone()));
        }
        self.conversions.insert(id, conversions);
        Ok(())
    }

    pub(super) fn conversions(&self, from: &Type) -> &[(Type, Rc<Function>)] {
        match from {
            Type::Struct(own) => self.conversions.get(&own.id).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// The conversion operator from a struct to a type: the operator to exactly that type, or the
    /// operator with the lowest cost.
    pub(super) fn conversion(&self, from: &Type, to: &Type) -> Option<Rc<Function>> {
        let nearest = || {
            let plain = |ty: &Type| !matches!(ty, Type::Struct(_));
            let all = self.conversions(from).iter().filter(|(ty, _)| plain(ty) && plain(to));
            let costs = all.filter_map(|(ty, own)| self.cost(ty, to).map(|cost| (cost, own)));
            costs.min_by_key(|(cost, _)| *cost).map(|(_, own)| own.clone())
        };
        self.conversion_to(from, to).or_else(nearest)
    }

    /// The conversion operator from a struct to exactly that type.
    pub(super) fn conversion_to(&self, from: &Type, to: &Type) -> Option<Rc<Function>> {
        self.conversions(from).iter().find(|(ty, _)| ty == to).map(|(_, own)| own.clone())
    }

    pub(super) fn converted(&mut self, typed: Typed, to: &Type, span: Span) -> Lowered<Value> {
        let Some(function) = self.conversion(&typed.ty, to) else { return Ok(typed.value) };
        let ty: QualifiedType = typed.ty.clone().into();
        let template = self.names_of(&typed.ty);
        let chosen = super::overload::SelectedFunction { function, template };
        let this = Some((typed.value, self.completed(&ty)));
        let operand = self.inline_call(&chosen, Vec::new(), &[], this, span)?;
        let result = self.read(operand);
        self.cast(result, to, span)
    }

    /// Converts a struct to a number or a pointer if it has such an implicit conversion. Of two
    /// conversions to pointers that only differ in `const`, the one to non-`const` is used.
    pub(super) fn as_number(&mut self, typed: Typed, span: Span) -> Lowered<Typed> {
        let all = self.conversions(&typed.ty).iter();
        let implicit = all.filter(|(_, own)| !own.attributes.is_explicit).map(|(ty, _)| ty.clone());
        let ty = match implicit.collect::<Vec<Type>>().as_slice() {
            [only] => only.clone(),
            [Type::Pointer(a), Type::Pointer(b)] if a.ty == b.ty => {
                Type::Pointer(if a.is_const { b.clone() } else { a.clone() })
            }
            _ => return Ok(typed),
        };
        let value = self.converted(typed, &ty, span)?;
        Ok(Typed { ty, value })
    }
}
