//! Struct templates: selects the definition for the arguments, and instantiates it.

use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

use super::{Lowered, Lowerer, Symbol};
use crate::source::Span;
use crate::syntax::{ExprKind, StructTemplate, TemplateArgument, TemplateParameter, TypeExpr};
use crate::types::{QualifiedType, Struct, TemplateValue, Type};

/// Names and their meanings, such as the parameters of a template and their arguments.
pub(super) type Bindings = HashMap<Rc<str>, Symbol>;

impl Symbol {
    pub(super) fn from_argument(value: &TemplateValue) -> Self {
        match value {
            TemplateValue::Type(ty) => Self::Alias(ty.clone()),
            TemplateValue::Number(ty, bits) => Self::Constant(ty.clone(), *bits),
        }
    }

    fn value(self) -> Option<TemplateValue> {
        match self {
            Self::Alias(ty) => Some(TemplateValue::Type(ty)),
            Self::Constant(ty, bits) => Some(TemplateValue::Number(ty, bits)),
            Self::Variable(_) | Self::Global(..) => None,
        }
    }
}

impl Lowerer<'_> {
    pub(super) fn struct_template(&mut self, template: &Rc<StructTemplate>) -> Lowered<()> {
        let all = self.templates.entry(template.name.clone()).or_default();
        let general = all.iter().position(|other| other.arguments.is_none());
        match general.filter(|_| template.arguments.is_none()) {
            Some(place) if all[place].declaration.is_none() => all[place] = template.clone(),
            Some(_) if template.declaration.is_none() => {}
            Some(_) => {
                let message = format!("there are two templates `{}`", template.name);
                return self.error(template.span, message, "rename one");
            }
            None => all.push(template.clone()),
        }
        Ok(())
    }

    /// Runs `inner` with only the names outside of functions visible, plus `bound`.
    pub(super) fn in_outer_scope<T>(
        &mut self,
        bound: Bindings,
        inner: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let caller = self.scopes.split_off(1);
        self.scopes.push(bound);
        let result = inner(self);
        self.scopes.truncate(1);
        self.scopes.extend(caller);
        result
    }

    /// The instance `name<float, 4>` of a struct template.
    pub(super) fn instantiate(
        &mut self,
        name: &Rc<str>,
        arguments: &[TemplateArgument],
        span: Span,
    ) -> Lowered<Type> {
        let all = self.templates.get(name).cloned().unwrap_or_default();
        let Some(general) = all.iter().find(|one| one.arguments.is_none()) else {
            let message = format!("the template `{name}` is declared, but not defined");
            return self.error(span, message, "define it before it is used");
        };
        let given = self.complete_arguments(&general.parameters, arguments, name, span)?;
        let known =
            self.applied.iter().find(|own| own.template_arguments() == Some((name, &given)));
        if let Some(known) = known.cloned() {
            return Ok(Type::Struct(self.complete(&known)));
        }
        let (template, bound) = self.select_definition(&all, general, &given, span)?;
        let Some(declaration) = template.declaration.clone() else {
            let message =
                format!("the template `{name}` is declared, but not defined for these arguments");
            return self.error(span, message, "define it before it is used");
        };
        let own = self.one_level_deeper(span, |lowerer| {
            lowerer.in_outer_scope(bound, |lowerer| {
                lowerer.define_struct(&declaration, Some((name.clone(), given)))
            })
        })?;
        Ok(Type::Struct(own))
    }

    /// The arguments of a template, with the defaults filled in.
    fn complete_arguments(
        &mut self,
        parameters: &[TemplateParameter],
        arguments: &[TemplateArgument],
        name: &str,
        span: Span,
    ) -> Lowered<Vec<TemplateValue>> {
        if arguments.len() > parameters.len() {
            let message = format!(
                "the template `{name}` has {} parameters, and {} are given",
                parameters.len(),
                arguments.len()
            );
            return self.error(span, message, "delete the extra arguments");
        }
        let mut bound = Bindings::default();
        let mut given = Vec::new();
        for (index, parameter) in parameters.iter().enumerate() {
            let symbol = match (arguments.get(index), &parameter.default) {
                (Some(argument), _) => self.template_argument(parameter, argument, span)?,
                (None, Some(default)) => self.in_outer_scope(bound.clone(), |lowerer| {
                    lowerer.template_argument(parameter, default, span)
                })?,
                (None, None) => {
                    let message = format!(
                        "the template argument `{}` of `{name}` is missing",
                        parameter.name
                    );
                    return self.error(span, message, "write it between `<` and `>`");
                }
            };
            bound.insert(parameter.name.clone(), symbol.clone());
            given.extend(symbol.value());
        }
        Ok(given)
    }

    /// Selects the definition for these arguments: a specialisation if one matches, or the general
    /// definition.
    fn select_definition(
        &mut self,
        all: &[Rc<StructTemplate>],
        general: &Rc<StructTemplate>,
        given: &[TemplateValue],
        span: Span,
    ) -> Lowered<(Rc<StructTemplate>, Bindings)> {
        let mut fitting: Vec<(Rc<StructTemplate>, Bindings)> = Vec::new();
        for template in all {
            let Some(patterns) = &template.arguments else { continue };
            if let Some(bound) = self.match_specialisation(template, patterns, given, span)? {
                fitting.push((template.clone(), bound));
            }
        }
        fitting.sort_by_key(|(template, _)| template.parameters.len());
        match fitting.as_slice() {
            [] => {
                let names = general.parameters.iter().map(|parameter| parameter.name.clone());
                Ok((general.clone(), names.zip(given.iter().map(Symbol::from_argument)).collect()))
            }
            [(a, _), (b, _), ..] if a.parameters.len() == b.parameters.len() => {
                let message = format!("several specialisations of `{}` fit", general.name);
                self.error(span, message, "write one for exactly these arguments")
            }
            [first, ..] => Ok(first.clone()),
        }
    }

    /// Deduces the parameters of a partial specialisation; `None` if it is for other arguments.
    fn match_specialisation(
        &mut self,
        template: &Rc<StructTemplate>,
        patterns: &[TemplateArgument],
        given: &[TemplateValue],
        span: Span,
    ) -> Lowered<Option<Bindings>> {
        let mut bindings = Bindings::default();
        for (pattern, value) in patterns.iter().zip(given) {
            self.match_argument(pattern, value, &template.parameters, &mut bindings);
        }
        if template.parameters.iter().any(|parameter| !bindings.contains_key(&parameter.name)) {
            return Ok(None);
        }
        // The patterns must equal the arguments when the deduced parameters are inserted.
        let same = self.in_outer_scope(bindings.clone(), |lowerer| {
            for (pattern, value) in patterns.iter().zip(given) {
                let same = match (pattern, value) {
                    (TemplateArgument::Type(ty), TemplateValue::Type(own)) => {
                        lowerer.plain_type(ty, span)? == *own
                    }
                    (TemplateArgument::Value(number), TemplateValue::Number(_, bits)) => {
                        match number.kind {
                            // Literals are compared directly, so that thousands of specialisations
                            // don't need a block each.
                            ExprKind::Integer(number, _) => number == *bits,
                            _ => lowerer.constant(number, "a template argument")?.1 == *bits,
                        }
                    }
                    _ => false,
                };
                if !same {
                    return Ok(false);
                }
            }
            Ok(patterns.len() == given.len())
        })?;
        Ok(same.then_some(bindings))
    }

    /// The type `T::name`.
    pub(super) fn inner_type(
        &mut self,
        outer: &TypeExpr,
        name: &Rc<str>,
        span: Span,
    ) -> Lowered<QualifiedType> {
        let outer = self.plain_type(outer, span)?;
        if let Type::Struct(own) = &outer.ty
            && let Some(Symbol::Alias(ty)) = self.inner_name(own, name)
        {
            return Ok(ty);
        }
        self.error(span, format!("`{}` names no type `{name}`", outer.ty.name()), "")
    }

    /// The meaning of a name that a struct declares and that isn't a member.
    pub(super) fn inner_name(&self, own: &Rc<Struct>, name: &str) -> Option<Symbol> {
        self.struct_names.get(&own.id).and_then(|names| names.get(name)).cloned()
    }

    /// The names that are visible in the member functions of a struct.
    pub(super) fn names_of(&self, ty: &Type) -> Bindings {
        match ty {
            Type::Struct(own) => self.struct_names.get(&own.id).cloned().unwrap_or_default(),
            _ => Bindings::default(),
        }
    }
}
