//! Default initialisation of variables and members.

use super::{Lowered, Lowerer, Lvalue};
use crate::types::{QualifiedType, Type};

impl Lowerer<'_> {
    /// Stores the default values of a struct's members: those declared as in `struct { int x = 3;
    /// }`, and those of members that are structs themselves.
    pub(super) fn default_members(&mut self, place: &Lvalue) -> Lowered<()> {
        let place = Lvalue { ty: self.completed(&place.ty), address: place.address };
        let open = |ty: &QualifiedType| ty.clone().mutable();
        let own = match &place.ty.ty {
            Type::Struct(own) => own.clone(),
            Type::Array(element, count) if self.has_defaults(&element.ty) => {
                for index in 0..*count {
                    let address = self.builder.offset(place.address, index * element.ty.size());
                    self.default_value(&Lvalue { ty: open(element), address })?;
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        let Some(declaration) = own.declaration.clone() else { return Ok(()) };
        for (index, field) in own.fields.iter().enumerate() {
            let value = declaration.defaults.iter().find(|(own, _)| *own == index);
            let address = self.builder.offset(place.address, field.offset);
            let field = Lvalue { ty: open(&field.ty), address };
            match value {
                Some((_, value)) => self.initialise(&field, value)?,
                None if !declaration.is_union => self.default_value(&field)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Default-initialises a variable or a member.
    fn default_value(&mut self, place: &Lvalue) -> Lowered<()> {
        if Self::has_default_constructor(&place.ty.ty) {
            return self.construct_by(place, &[], self.builder.span);
        }
        self.default_members(place)
    }

    /// Whether default initialisation of a type stores anything.
    fn has_defaults(&self, ty: &Type) -> bool {
        match ty {
            Type::Array(element, _) => self.has_defaults(&element.ty),
            Type::Struct(own) => {
                let own = self.complete(own);
                let has_initialisers =
                    own.declaration.as_ref().is_some_and(|own| !own.defaults.is_empty());
                has_initialisers
                    || Self::has_default_constructor(ty)
                    || own.fields.iter().any(|field| self.has_defaults(&field.ty.ty))
            }
            _ => false,
        }
    }
}
