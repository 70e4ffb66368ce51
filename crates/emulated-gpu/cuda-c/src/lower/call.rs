//! Calls: of what is built in, of functions that are written out.

use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

use super::expression::Any;
use super::overload::Chosen;
use super::{Lowered, Lowerer, Lvalue, Symbol, Typed};
use crate::diagnostic::{Problem, closest};
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, Function};
use crate::types::{QualifiedType, Type};

impl Lowerer<'_> {
    pub(super) fn call(&mut self, callee: &Expr, arguments: &[Expr], span: Span) -> Lowered<Any> {
        if let ExprKind::Member { base, name, arrow, template } = &callee.kind {
            return self.method(base, name, *arrow, (template, arguments), span);
        }
        if let ExprKind::Scoped(ty, name) = &callee.kind {
            return self.static_method(ty, name, arguments, span);
        }
        let ExprKind::Name(name, template) = &callee.kind else {
            return self.called_value(callee, arguments, span);
        };
        let global: Option<Rc<str>> = name.strip_prefix("::").map(Rc::from);
        let name = global.as_ref().unwrap_or(name);
        if global.is_none() {
            if let Some(Symbol::Alias(_)) = self.lookup(name) {
                return self.error(callee.span, format!("`{name}` is a type, not a function"), "");
            }
            if self.lookup(name).is_some() {
                return self.called_value(callee, arguments, span);
            }
            if let Some(found) = self.sibling(name, template.as_deref(), arguments, span)? {
                return Ok(found);
            }
        }
        let mut own = self.functions.get(name).cloned().unwrap_or_default();
        // The library means its own functions, whatever a source adds to their names.
        if callee.span.file == self.library {
            own.retain(|one| one.span.file == self.library);
        }
        let built_in = template.is_none() && super::builtin::is_known(name);
        if own.is_empty() {
            return match self.built_in(name, arguments, span)? {
                Some(found) => Ok(Any::Value(found)),
                None => self.unknown_function(name, callee.span),
            };
        }
        let given = self.all(arguments)?;
        if built_in {
            let fitting = self.fitting(&own, &[], &given, None, span)?;
            let best = fitting.first().filter(|(_, chosen)| chosen.function.body.is_some());
            let best = best.map_or(u32::MAX, |(cost, _)| *cost);
            if self.cost_of_built_in(name, &given).is_some_and(|cost| 4 * cost < best) {
                return self.built_in_of(name, given, arguments, span);
            }
        }
        let template = template.as_deref().unwrap_or_default();
        let chosen = self.choose_function(name, &own, template, &given, None, span)?;
        self.write_out(&chosen, given, arguments, None, span)
    }

    /// A call of a function that is built in, with what has been computed already.
    fn built_in_of(
        &mut self,
        name: &str,
        given: Vec<Any>,
        arguments: &[Expr],
        span: Span,
    ) -> Lowered<Any> {
        let known = self.computed.len();
        self.computed.extend(given);
        let computed = arguments.iter().enumerate().map(|(index, one)| {
            let kind = ExprKind::Computed(known + index);
            Expr { kind, span: one.span, height: 1 }
        });
        let computed: Vec<Expr> = computed.collect();
        let found = self.built_in(name, &computed, span);
        self.computed.truncate(known);
        match found? {
            Some(found) => Ok(Any::Value(found)),
            None => self.unknown_function(name, span),
        }
    }

    fn unknown_function(&mut self, name: &str, span: Span) -> Lowered<Any> {
        if let Some(help) = crate::unsupported::refused(name) {
            return self.error(span, format!("`{name}` isn't built"), help);
        }
        let own: Vec<Rc<str>> = self.functions.keys().cloned().collect();
        let mut known: Vec<&str> = own.iter().map(|name| &**name).collect();
        for name in super::builtin::names() {
            known.push(name);
        }
        let help = closest(name, known);
        let help = help.map(|name| format!("did you mean `{name}`?"));
        let problem = Problem::new(self.place_of(span), format!("there is no function `{name}`"));
        self.fail(problem.maybe_help(help))
    }

    /// An operator on structs that is defined as a function.
    pub(super) fn overloaded(
        &mut self,
        name: &str,
        arguments: Vec<Typed>,
        written: &[&Expr],
        span: Span,
    ) -> Lowered<Option<Typed>> {
        let Some(candidates) = self.functions.get(name).cloned() else { return Ok(None) };
        let given = bound(arguments);
        let chosen = self.choose_function(name, &candidates, &[], &given, None, span)?;
        let written: Vec<Expr> = written.iter().map(|one| (*one).clone()).collect();
        let result = self.write_out(&chosen, given, &written, None, span)?;
        Ok(Some(self.read(result)))
    }

    /// What the best of the operators of this name has to convert: 0 if nothing, nothing if none fits.
    pub(super) fn cost_of_operator(
        &mut self,
        name: &str,
        arguments: Vec<Typed>,
        span: Span,
    ) -> Lowered<Option<u32>> {
        let Some(candidates) = self.functions.get(name).cloned() else { return Ok(None) };
        let fitting = self.fitting(&candidates, &[], &bound(arguments), None, span)?;
        Ok(fitting.first().map(|(cost, _)| cost / 4))
    }

    /// Writes a function's body out, with its parameters bound to what is given.
    pub(super) fn write_out(
        &mut self,
        chosen: &Chosen,
        given: Vec<Any>,
        written: &[Expr],
        this: Option<(crate::ir::Value, QualifiedType)>,
        span: Span,
    ) -> Lowered<Any> {
        let function = &chosen.function;
        if function.attributes.global {
            let message = format!("`{}` is a kernel, which only the host launches", function.name);
            return self.error(span, message, "make what both need a `__device__` function");
        }
        if function.body.is_none() {
            let message = format!("`{}` is declared, and its body isn't there", function.name);
            return self.error(
                span,
                message,
                "define it in this file, or include the file that does",
            );
        }
        let own = this.as_ref().map_or(0, |(_, ty)| number_of(ty));
        if self.is_apart(chosen, own) {
            return self.call_apart(chosen, given, written, this, span);
        }
        self.deeper(span, |lowerer| lowerer.write_out_inner(chosen, given, written, this, span))
    }

    fn write_out_inner(
        &mut self,
        chosen: &Chosen,
        given: Vec<Any>,
        written: &[Expr],
        this: Option<(crate::ir::Value, QualifiedType)>,
        span: Span,
    ) -> Lowered<Any> {
        let function = chosen.function.clone();
        let mut bound = HashMap::default();
        for (name, symbol) in &chosen.template {
            bound.insert(name.clone(), symbol.clone());
        }
        let own = this.as_ref().map_or(0, |(_, ty)| number_of(ty));
        if let Some((address, ty)) = this {
            let slot = self.builder.slot(8, 8);
            self.builder.store(crate::ir::Memory::B64, false, slot, address);
            let place = Lvalue { ty: Type::pointer(ty).into(), address: slot };
            bound.insert(Rc::from("this"), Symbol::Variable(place));
        }
        // The names of the caller mean nothing in there.
        let caller = self.scopes.split_off(1);
        self.scopes.push(bound);
        let library = function.span.file == self.library && self.standing.is_none();
        if library {
            self.standing = Some(span);
        }
        let result = self.bind_and_write(chosen, given, written, own, span);
        if library {
            self.standing = None;
        }
        self.scopes.truncate(1);
        self.scopes.extend(caller);
        self.stand(span);
        result
    }

    fn bind_and_write(
        &mut self,
        chosen: &Chosen,
        given: Vec<Any>,
        written: &[Expr],
        own: u32,
        span: Span,
    ) -> Lowered<Any> {
        let function = &chosen.function;
        for (name, place, _) in self.places(function, given, written, span)? {
            self.bind(&name, Symbol::Variable(place));
        }
        let (result, reference) = self.resolve(&function.result, function.span)?;
        let slot = self.body(function, result.clone(), reference, own, &chosen.template)?;
        match slot {
            None => Ok(Any::Value(self.void())),
            Some(slot) if reference => {
                let address = self.load_reference(slot);
                Ok(Any::Lvalue(Lvalue { ty: result, address }))
            }
            Some(slot) => {
                let place =
                    Lvalue { ty: QualifiedType { is_const: false, ..result }, address: slot };
                Ok(Any::Value(self.read(Any::Lvalue(place))))
            }
        }
    }

    /// Where the parameters of a function are that is called with these, and whether each is a
    /// reference.
    pub(super) fn places(
        &mut self,
        function: &Rc<Function>,
        given: Vec<Any>,
        written: &[Expr],
        span: Span,
    ) -> Lowered<Vec<(Rc<str>, Lvalue, bool)>> {
        let mut given = given.into_iter();
        let mut symbols = Vec::new();
        for (index, parameter) in function.parameters.iter().enumerate() {
            let (ty, reference) = self.resolve(&parameter.ty, parameter.span)?;
            let place_of = written.get(index).map_or(span, |one| one.span);
            let any = match given.next() {
                Some(any) => any,
                None => match &parameter.default {
                    Some(default) => self.any(&default.clone())?,
                    None => return self.error(span, "an argument is missing", ""),
                },
            };
            let place = match any {
                Any::Lvalue(place) if reference && Self::binds(&place.ty.ty, &ty.ty) => {
                    if place.ty.is_const && !ty.is_const {
                        let help = "make the parameter a `const` reference";
                        return self.error(
                            place_of,
                            "this is `const`, and the function may change it",
                            help,
                        );
                    }
                    Lvalue { ty, address: place.address }
                }
                _ if reference && !ty.is_const => {
                    let message = format!("this has to be a variable of type `{}`", ty.ty.name());
                    return self.error(
                        place_of,
                        message,
                        "the function changes it: pass a variable",
                    );
                }
                any => {
                    let typed = self.read(any);
                    let address = self.temporary(&ty.ty);
                    let place =
                        Lvalue { ty: QualifiedType { is_const: false, ..ty.clone() }, address };
                    self.put(&place, typed, place_of)?;
                    Lvalue { ty, address }
                }
            };
            symbols.push((parameter.name.clone(), place, reference));
        }
        Ok(symbols)
    }
}

/// The number of a struct; 0 of what is none.
pub(super) fn number_of(ty: &QualifiedType) -> u32 {
    match &ty.ty {
        Type::Struct(own) => own.id,
        _ => 0,
    }
}

/// Arguments as operators take them: what is a place may be bound to a reference.
fn bound(arguments: Vec<Typed>) -> Vec<Any> {
    let bound = arguments.into_iter().map(|typed| match &typed.ty {
        Type::Struct(_) => {
            Any::Lvalue(Lvalue { ty: typed.ty.clone().into(), address: typed.value })
        }
        _ => Any::Value(typed),
    });
    bound.collect()
}
