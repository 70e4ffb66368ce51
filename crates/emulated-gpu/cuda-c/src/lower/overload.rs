//! Overload resolution and the deduction of template arguments.

use std::rc::Rc;

use super::expression::Operand;
use super::out_of_line::same_argument;
use super::template::Bindings;
use super::{Lowered, Lowerer, Symbol};
use crate::diagnostic::Problem;
use crate::source::Span;
use crate::syntax::{ExprKind, Function, TemplateArgument, TemplateParameter, TypeExpr};
use crate::types::{QualifiedType, Scalar, TemplateValue, Type};

/// A function that was chosen for a call, and the arguments of its template.
#[derive(Clone, Debug)]
pub(super) struct SelectedFunction {
    pub(super) function: Rc<Function>,
    pub(super) template: Bindings,
}

pub(super) fn type_of(operand: &Operand) -> Type {
    match operand {
        Operand::Lvalue(place) => place.ty.ty.clone(),
        Operand::Value(typed) => typed.ty.clone(),
    }
}

/// The type that a parameter passed by value gets: an array becomes a pointer.
pub(super) fn decayed(operand: &Operand) -> Type {
    match operand {
        Operand::Lvalue(place) => match &place.ty.ty {
            Type::Array(element, _) => Type::Pointer(element.clone()),
            other => other.clone(),
        },
        Operand::Value(typed) => typed.ty.clone(),
    }
}

impl Lowerer<'_> {
    /// Chooses an overload. `own` is the struct whose member functions the candidates are.
    pub(super) fn choose_function(
        &mut self,
        name: &str,
        candidates: &[Rc<Function>],
        explicit: &[TemplateArgument],
        given: &[Operand],
        own: Option<&QualifiedType>,
        span: Span,
    ) -> Lowered<SelectedFunction> {
        let best = self.viable_candidates(candidates, explicit, given, own, span)?;
        let ambiguous = best.len() > 1 && best[0].0 == best[1].0;
        match best.into_iter().next() {
            Some(_) if ambiguous => {
                let types: Vec<String> =
                    given.iter().map(|operand| type_of(operand).name()).collect();
                let message = format!("several functions `{name}` fit ({})", types.join(", "));
                self.error(span, message, "cast the arguments to the types of one of them")
            }
            Some((_, chosen)) => self.specialisation(chosen, candidates, span),
            None => self.no_viable_candidate(name, candidates, given, span),
        }
    }

    /// The candidates that accept the arguments, with their conversion costs, the cheapest first. A
    /// cost below 4 means that nothing is converted.
    pub(super) fn viable_candidates(
        &mut self,
        candidates: &[Rc<Function>],
        explicit: &[TemplateArgument],
        given: &[Operand],
        own: Option<&QualifiedType>,
        span: Span,
    ) -> Lowered<Vec<(u32, SelectedFunction)>> {
        let mut best: Vec<(u32, SelectedFunction)> = Vec::new();
        let base = own.map(|own| self.names_of(&own.ty)).unwrap_or_default();
        for function in candidates.iter().filter(|candidate| candidate.specialises.is_none()) {
            let needed =
                function.parameters.iter().filter(|parameter| parameter.default.is_none()).count();
            if given.len() < needed || given.len() > function.parameters.len() {
                continue;
            }
            if function.body.is_none() && candidates.iter().any(|other| other.body.is_some()) {
                continue;
            }
            let bindings = self.deduce(function, explicit, given, base.clone(), span)?;
            let Some(template) = bindings else { continue };
            let chosen = SelectedFunction { function: function.clone(), template };
            if let Some(cost) = self.total_cost(&chosen, given)? {
                // Of two functions with the same conversions, one that isn't a template is
                // preferred, and a member function whose `const` matches the struct's.
                let constant = own.is_some_and(|own| own.is_const);
                // A function of the source hides a function of the library with the same
                // parameters.
                let library = own.is_none() && function.span.file == self.library;
                let cost = 4 * cost
                    + 2 * u32::from(!function.template.is_empty())
                    + u32::from(library || own.is_some() && function.is_const != constant);
                best.push((cost, chosen));
            }
        }
        best.sort_by_key(|(cost, _)| *cost);
        Ok(best)
    }

    /// The specialisation of a function template for these arguments, or the function itself.
    fn specialisation(
        &mut self,
        chosen: SelectedFunction,
        candidates: &[Rc<Function>],
        span: Span,
    ) -> Lowered<SelectedFunction> {
        for other in candidates {
            let Some(arguments) = &other.specialises else { continue };
            if chosen.function.template.is_empty() {
                break;
            }
            let mut matches = arguments.len() == chosen.function.template.len();
            for (parameter, argument) in chosen.function.template.iter().zip(arguments) {
                let wanted = self.template_argument(parameter, argument, span)?;
                let given = chosen.template.get(&parameter.name);
                matches &= given.is_some_and(|given| same_argument(&wanted, given));
            }
            if matches {
                return Ok(SelectedFunction {
                    function: other.clone(),
                    template: Bindings::default(),
                });
            }
        }
        Ok(chosen)
    }

    fn no_viable_candidate<T>(
        &mut self,
        name: &str,
        candidates: &[Rc<Function>],
        given: &[Operand],
        span: Span,
    ) -> Lowered<T> {
        let types: Vec<String> = given.iter().map(|operand| type_of(operand).name()).collect();
        let [one] = candidates else {
            let message = format!("no function `{name}` takes ({})", types.join(", "));
            return self.error(span, message, "cast the arguments, or write such a function");
        };
        let needed = one.parameters.len();
        if given.len() != needed
            && one.parameters.iter().all(|parameter| parameter.default.is_none())
        {
            let plural = if needed == 1 { "" } else { "s" };
            let message =
                format!("`{name}` has {needed} parameter{plural}, and {} are given", given.len());
            return self.error(span, message, "");
        }
        let message = format!("`{name}` doesn't take ({})", types.join(", "));
        let problem = Problem::new(self.place_of(span), message);
        self.fail(problem.help("cast the arguments to the types of its parameters"))
    }

    /// The total cost of converting the arguments; `None` if an argument can't be converted.
    fn total_cost(&mut self, chosen: &SelectedFunction, given: &[Operand]) -> Lowered<Option<u32>> {
        self.in_outer_scope(chosen.template.clone(), |lowerer| {
            let mut total = 0;
            for (parameter, operand) in chosen.function.parameters.iter().zip(given) {
                let (ty, reference) = lowerer.resolve(&parameter.ty, parameter.span)?;
                match lowerer.argument_cost(operand, &ty, reference) {
                    Some(cost) => total += cost,
                    None => return Ok(None),
                }
            }
            Ok(Some(total))
        })
    }

    /// The cost of converting an argument to the type of its parameter.
    fn argument_cost(&self, operand: &Operand, ty: &QualifiedType, reference: bool) -> Option<u32> {
        let is_place = matches!(operand, Operand::Lvalue(_));
        if reference
            && Self::reference_can_bind(&type_of(operand), &ty.ty)
            && (is_place || ty.is_const)
        {
            return Some(0);
        }
        if reference && !ty.is_const {
            return None;
        }
        match (operand, &ty.ty) {
            (Operand::Value(typed), Type::Pointer(_)) if self.is_zero(typed) => Some(3),
            (operand, to) => self.cost(&decayed(operand), to),
        }
    }

    /// Deduces the template arguments of a function from explicit ones and the types of the
    /// arguments; `None` if the function isn't viable.
    pub(super) fn deduce(
        &mut self,
        function: &Rc<Function>,
        explicit: &[TemplateArgument],
        given: &[Operand],
        base: Bindings,
        span: Span,
    ) -> Lowered<Option<Bindings>> {
        let mut bindings = base;
        if explicit.len() > function.template.len() {
            return Ok(None);
        }
        // A parameter of the template hides a name of the struct around it.
        for parameter in &function.template {
            bindings.remove(&parameter.name);
        }
        for (parameter, argument) in function.template.iter().zip(explicit) {
            let symbol = self.template_argument(parameter, argument, span)?;
            bindings.insert(parameter.name.clone(), symbol);
        }
        for (parameter, operand) in function.parameters.iter().zip(given) {
            let reference = matches!(parameter.ty, TypeExpr::Reference(_));
            let ty = if reference { type_of(operand) } else { decayed(operand) };
            self.match_type(&parameter.ty, &ty.into(), &function.template, &mut bindings);
        }
        for parameter in &function.template {
            if bindings.contains_key(&parameter.name) {
                continue;
            }
            let Some(default) = &parameter.default else { return Ok(None) };
            // A default may refer to earlier parameters.
            let symbol = self.in_outer_scope(bindings.clone(), |lowerer| {
                lowerer.template_argument(parameter, default, span)
            })?;
            bindings.insert(parameter.name.clone(), symbol);
        }
        Ok(Some(bindings))
    }

    /// Evaluates a template argument.
    pub(super) fn template_argument(
        &mut self,
        parameter: &TemplateParameter,
        argument: &TemplateArgument,
        span: Span,
    ) -> Lowered<Symbol> {
        match (argument, &parameter.value) {
            (TemplateArgument::Type(ty), None) => Ok(Symbol::Alias(self.plain_type(ty, span)?)),
            (TemplateArgument::Value(value), None) => {
                let message = format!("`{}` is a type", parameter.name);
                self.error(value.span, message, "write a type")
            }
            (TemplateArgument::Value(value), Some(_)) => {
                let (ty, bits) = self.constant(value, "a template argument")?;
                self.template_value(parameter, ty, bits, span)
            }
            (TemplateArgument::Type(_), Some(_)) => {
                let message = format!("`{}` is a number, and a type is given", parameter.name);
                self.error(span, message, "write a number")
            }
        }
    }

    fn template_value(
        &mut self,
        parameter: &TemplateParameter,
        from: Type,
        bits: u64,
        span: Span,
    ) -> Lowered<Symbol> {
        let to = match &parameter.value {
            Some(ty) => self.plain_type(&ty.clone(), span)?.ty,
            None => from.clone(),
        };
        let (Some(a), Some(b)) = (from.scalar(), to.scalar()) else {
            return self.error(span, "template parameters are types and integers", "");
        };
        let value = self.builder.function.constant(super::convert::scalar_ty(a), bits);
        let value = self.scalar_to_scalar(value, a, b);
        let bits = self.builder.function.constant_of(value).unwrap_or(bits);
        Ok(Symbol::Constant(to, bits))
    }

    /// Deduces template arguments from a type: finds the arguments for which `pattern` is `ty`.
    fn match_type(
        &mut self,
        pattern: &TypeExpr,
        ty: &QualifiedType,
        parameters: &[TemplateParameter],
        found: &mut Bindings,
    ) {
        match (pattern, &ty.ty) {
            (TypeExpr::Named(name, _), _) => {
                let is_type = |one: &TemplateParameter| one.name == *name && one.value.is_none();
                if parameters.iter().any(is_type) && !found.contains_key(name) {
                    let own = QualifiedType { is_const: ty.is_const, ..ty.ty.clone().into() };
                    found.insert(name.clone(), Symbol::Alias(own));
                }
            }
            (TypeExpr::Applied(name, patterns, _), Type::Struct(own)) => {
                let Some((template, arguments)) = own.template_arguments() else { return };
                if name == template {
                    for (pattern, value) in patterns.iter().zip(&arguments.clone()) {
                        self.match_argument(pattern, value, parameters, found);
                    }
                }
            }
            (TypeExpr::Pointer(inner), Type::Pointer(to)) => {
                self.match_type(inner, to, parameters, found)
            }
            (TypeExpr::Reference(inner), _) => self.match_type(inner, ty, parameters, found),
            (TypeExpr::Qualified { inner, is_const, .. }, _) => {
                let open = QualifiedType { is_const: ty.is_const && !is_const, ..ty.clone() };
                self.match_type(inner, &open, parameters, found);
            }
            (TypeExpr::Array(inner, length), Type::Array(element, count)) => {
                self.match_type(inner, element, parameters, found);
                if let Some(length) = length {
                    self.match_constant(
                        length,
                        &Type::Scalar(Scalar::Int),
                        *count,
                        parameters,
                        found,
                    );
                }
            }
            _ => {}
        }
    }

    fn match_constant(
        &mut self,
        pattern: &crate::syntax::Expr,
        ty: &Type,
        bits: u64,
        parameters: &[TemplateParameter],
        found: &mut Bindings,
    ) {
        let ExprKind::Name(name, None) = &pattern.kind else { return };
        let is_value = |one: &TemplateParameter| one.name == *name && one.value.is_some();
        if parameters.iter().any(is_value) && !found.contains_key(name) {
            found.insert(name.clone(), Symbol::Constant(ty.clone(), bits));
        }
    }

    /// Like `match_type`, for an argument of a template.
    pub(super) fn match_argument(
        &mut self,
        pattern: &TemplateArgument,
        value: &TemplateValue,
        parameters: &[TemplateParameter],
        found: &mut Bindings,
    ) {
        match (pattern, value) {
            (TemplateArgument::Type(pattern), TemplateValue::Type(ty)) => {
                self.match_type(pattern, ty, parameters, found);
            }
            (TemplateArgument::Value(pattern), TemplateValue::Number(ty, bits)) => {
                self.match_constant(pattern, ty, *bits, parameters, found);
            }
            _ => {}
        }
    }
}
