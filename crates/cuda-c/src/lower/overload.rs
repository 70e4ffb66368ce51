//! Which of several functions of a name is meant, and what the parameters of a template are.

use std::collections::HashMap;
use std::rc::Rc;

use super::expression::Any;
use super::{Lowered, Lowerer, Symbol};
use crate::diagnostic::Problem;
use crate::source::Span;
use crate::syntax::{Function, TemplateArgument, TypeExpr};
use crate::types::{QualifiedType, Scalar, Type};

/// A function, and what the parameters of its template are.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) function: Rc<Function>,
    pub(super) template: HashMap<Rc<str>, Symbol>,
}

fn type_of(any: &Any) -> Type {
    match any {
        Any::Place(place) => place.ty.ty.clone(),
        Any::Value(typed) => typed.ty.clone(),
    }
}

/// What a value parameter gets: an array becomes a pointer.
fn decayed(any: &Any) -> Type {
    match any {
        Any::Place(place) => match &place.ty.ty {
            Type::Array(element, _) => Type::Pointer(element.clone()),
            other => other.clone(),
        },
        Any::Value(typed) => typed.ty.clone(),
    }
}

impl Lowerer<'_> {
    pub(super) fn choose_function(
        &mut self,
        name: &str,
        candidates: &[Rc<Function>],
        explicit: &[TemplateArgument],
        given: &[Any],
        span: Span,
    ) -> Lowered<Chosen> {
        let mut best: Vec<(u32, Chosen)> = Vec::new();
        for function in candidates {
            let needed = function.parameters.iter().filter(|one| one.default.is_none()).count();
            if given.len() < needed || given.len() > function.parameters.len() {
                continue;
            }
            if function.body.is_none() && candidates.iter().any(|other| other.body.is_some()) {
                continue;
            }
            let Some(template) = self.deduce(function, explicit, given, span)? else { continue };
            let chosen = Chosen { function: function.clone(), template };
            if let Some(cost) = self.total_cost(&chosen, given)? {
                let cost = 2 * cost + u32::from(!function.template.is_empty());
                best.push((cost, chosen));
            }
        }
        best.sort_by_key(|(cost, _)| *cost);
        let twice = best.len() > 1 && best[0].0 == best[1].0;
        match best.into_iter().next() {
            Some(_) if twice => {
                let types: Vec<String> = given.iter().map(|any| type_of(any).name()).collect();
                let message = format!("several functions `{name}` fit ({})", types.join(", "));
                self.error(
                    span,
                    message,
                    "cast the arguments to the types of the one that is meant",
                )
            }
            Some((_, chosen)) => Ok(chosen),
            None => self.none_fits(name, candidates, given, span),
        }
    }

    fn none_fits<T>(
        &mut self,
        name: &str,
        candidates: &[Rc<Function>],
        given: &[Any],
        span: Span,
    ) -> Lowered<T> {
        let types: Vec<String> = given.iter().map(|any| type_of(any).name()).collect();
        let [one] = candidates else {
            let message = format!("no function `{name}` takes ({})", types.join(", "));
            return self.error(span, message, "cast the arguments, or write such a function");
        };
        let needed = one.parameters.len();
        if given.len() != needed && one.parameters.iter().all(|one| one.default.is_none()) {
            let plural = if needed == 1 { "" } else { "s" };
            let message =
                format!("`{name}` has {needed} parameter{plural}, and {} are given", given.len());
            return self.error(span, message, "");
        }
        let problem = Problem::new(
            self.place_of(span),
            format!("`{name}` doesn't take ({})", types.join(", ")),
        );
        self.fail(problem.help("cast the arguments to the types of its parameters"))
    }

    /// How much has to be converted; nothing where it can't be.
    fn total_cost(&mut self, chosen: &Chosen, given: &[Any]) -> Lowered<Option<u32>> {
        let caller = self.scopes.split_off(1);
        self.scopes.push(chosen.template.clone());
        let mut total = 0;
        let mut result = Ok(Some(()));
        for (parameter, any) in chosen.function.parameters.iter().zip(given) {
            let (ty, reference) = match self.resolve(&parameter.ty, parameter.span) {
                Ok(found) => found,
                Err(stop) => {
                    result = Err(stop);
                    break;
                }
            };
            let is_place = matches!(any, Any::Place(_));
            let cost = if reference
                && Self::binds(&type_of(any), &ty.ty)
                && (is_place || ty.is_const)
            {
                Some(0)
            } else if reference && !ty.is_const {
                None
            } else {
                let zero = |any: &Any| match any {
                    Any::Value(typed) => self.builder.function.constant_of(typed.value) == Some(0),
                    Any::Place(_) => false,
                };
                let from = decayed(any);
                match &ty.ty {
                    Type::Pointer(_) if from.is_integer() && zero(any) => Some(3),
                    _ => self.cost(&from, &ty.ty),
                }
            };
            match cost {
                Some(cost) => total += cost,
                None => {
                    result = Ok(None);
                    break;
                }
            }
        }
        self.scopes.truncate(1);
        self.scopes.extend(caller);
        Ok(result?.map(|()| total))
    }

    /// What the parameters of a function's template are; nothing where they don't fit.
    pub(super) fn deduce(
        &mut self,
        function: &Rc<Function>,
        explicit: &[TemplateArgument],
        given: &[Any],
        span: Span,
    ) -> Lowered<Option<HashMap<Rc<str>, Symbol>>> {
        let mut found: HashMap<Rc<str>, Symbol> = HashMap::new();
        if explicit.len() > function.template.len() {
            return Ok(None);
        }
        for (parameter, argument) in function.template.iter().zip(explicit) {
            let symbol = match (argument, &parameter.value) {
                (TemplateArgument::Type(ty), None) => Symbol::Alias(self.plain_type(ty, span)?),
                (TemplateArgument::Value(value), None) => {
                    let help = "write a type";
                    return self.error(value.span, format!("`{}` is a type", parameter.name), help);
                }
                (TemplateArgument::Value(value), Some(_)) => {
                    let (ty, bits) = self.constant(value, "an argument of a template")?;
                    self.template_value(parameter, ty, bits, span)?
                }
                (TemplateArgument::Type(_), Some(_)) => {
                    let message = format!("`{}` is a number, and a type is given", parameter.name);
                    return self.error(span, message, "write a number");
                }
            };
            found.insert(parameter.name.clone(), symbol);
        }
        for (parameter, any) in function.parameters.iter().zip(given) {
            let reference = matches!(parameter.ty, TypeExpr::Reference(_));
            let ty = if reference { type_of(any) } else { decayed(any) };
            self.match_type(&parameter.ty, &ty.into(), function, &mut found);
        }
        for parameter in &function.template {
            if found.contains_key(&parameter.name) {
                continue;
            }
            let symbol = match &parameter.default {
                Some(TemplateArgument::Type(ty)) => {
                    Symbol::Alias(self.plain_type(&ty.clone(), span)?)
                }
                Some(TemplateArgument::Value(value)) => {
                    let (ty, bits) = self.constant(&value.clone(), "an argument of a template")?;
                    self.template_value(parameter, ty, bits, span)?
                }
                None => return Ok(None),
            };
            found.insert(parameter.name.clone(), symbol);
        }
        Ok(Some(found))
    }

    fn template_value(
        &mut self,
        parameter: &crate::syntax::TemplateParameter,
        from: Type,
        bits: u64,
        span: Span,
    ) -> Lowered<Symbol> {
        let to = match &parameter.value {
            Some(ty) => self.plain_type(&ty.clone(), span)?.ty,
            None => from.clone(),
        };
        let (Some(a), Some(b)) = (from.scalar(), to.scalar()) else {
            return self.error(span, "parameters of templates are types and integers", "");
        };
        let value = self.builder.function.constant(super::convert::scalar_ty(a), bits);
        let value = self.scalar_to_scalar(value, a, b);
        let bits = self.builder.function.constant_of(value).unwrap_or(bits);
        Ok(Symbol::Constant(to, bits))
    }

    fn match_type(
        &mut self,
        pattern: &TypeExpr,
        ty: &QualifiedType,
        function: &Function,
        found: &mut HashMap<Rc<str>, Symbol>,
    ) {
        match (pattern, &ty.ty) {
            (TypeExpr::Named(name, _), _) => {
                let is_type = |one: &crate::syntax::TemplateParameter| {
                    one.name == *name && one.value.is_none()
                };
                if function.template.iter().any(is_type) && !found.contains_key(name) {
                    let own = QualifiedType { is_const: ty.is_const, ..ty.ty.clone().into() };
                    found.insert(name.clone(), Symbol::Alias(own));
                }
            }
            (TypeExpr::Pointer(inner), Type::Pointer(to)) => {
                self.match_type(inner, to, function, found)
            }
            (TypeExpr::Reference(inner), _) => self.match_type(inner, ty, function, found),
            (TypeExpr::Qualified { inner, is_const, .. }, _) => {
                let open = QualifiedType { is_const: ty.is_const && !is_const, ..ty.clone() };
                self.match_type(inner, &open, function, found);
            }
            (TypeExpr::Array(inner, length), Type::Array(element, count)) => {
                self.match_type(inner, element, function, found);
                if let Some(crate::syntax::ExprKind::Name(name, None)) =
                    length.as_ref().map(|one| &one.kind)
                {
                    let is_value = |one: &crate::syntax::TemplateParameter| {
                        one.name == *name && one.value.is_some()
                    };
                    if function.template.iter().any(is_value) && !found.contains_key(name) {
                        let ty = Type::Scalar(Scalar::Int);
                        found.insert(name.clone(), Symbol::Constant(ty, *count));
                    }
                }
            }
            _ => {}
        }
    }
}
