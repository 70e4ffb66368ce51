//! Calls: of built-in functions, and of functions that are inlined.

use std::rc::Rc;

use super::expression::Operand;
use super::overload::SelectedFunction;
use super::{Lowered, Lowerer, Lvalue, Symbol, Typed};
use crate::diagnostic::Problem;
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, Function};
use crate::types::{QualifiedType, Type};

impl Lowerer<'_> {
    pub(super) fn call(
        &mut self,
        callee: &Expr,
        arguments: &[Expr],
        span: Span,
    ) -> Lowered<Operand> {
        if let ExprKind::Member { base, name, arrow, template } = &callee.kind {
            return self.method(base, name, *arrow, (template, arguments), span);
        }
        if let ExprKind::Scoped(ty, name) = &callee.kind {
            return self.static_method(ty, name, arguments, span);
        }
        let ExprKind::Name(name, template) = &callee.kind else {
            return self.call_value(callee, arguments, span);
        };
        let global: Option<Rc<str>> = name.strip_prefix("::").map(Rc::from);
        let name = global.as_ref().unwrap_or(name);
        if global.is_none() {
            if let Some(Symbol::Alias(_)) = self.lookup(name) {
                return self.error(callee.span, format!("`{name}` is a type, not a function"), "");
            }
            if self.lookup(name).is_some() {
                return self.call_value(callee, arguments, span);
            }
            if let Some(found) =
                self.call_sibling_method(name, template.as_deref(), arguments, span)?
            {
                return Ok(found);
            }
        }
        let mut own = self.functions.get(name).cloned().unwrap_or_default();
        // The library only calls its own functions, even if a source overloads their names.
        if callee.span.file == self.library {
            own.retain(|one| one.span.file == self.library);
        }
        let built_in = template.is_none() && super::builtin::is_known(name);
        if own.is_empty() {
            return match self.built_in(name, arguments, span)? {
                Some(found) => Ok(Operand::Value(found)),
                None => self.unknown_function(name, callee.span),
            };
        }
        let given = self.operands(arguments)?;
        if built_in {
            let fitting = self.viable_candidates(&own, &[], &given, None, span)?;
            let best = fitting.first().filter(|(_, chosen)| chosen.function.body.is_some());
            let best = best.map_or(u32::MAX, |(cost, _)| *cost);
            if self.cost_of_built_in(name, &given).is_some_and(|cost| 4 * cost < best) {
                return self.built_in_with_lowered(name, given, arguments, span);
            }
        }
        let template = template.as_deref().unwrap_or_default();
        let chosen = self.choose_function(name, &own, template, &given, None, span)?;
        self.inline_call(&chosen, given, arguments, None, span)
    }

    /// Calls a built-in function with arguments that have been lowered already.
    fn built_in_with_lowered(
        &mut self,
        name: &str,
        given: Vec<Operand>,
        arguments: &[Expr],
        span: Span,
    ) -> Lowered<Operand> {
        let known = self.computed.len();
        self.computed.extend(given);
        let computed = arguments.iter().enumerate().map(|(index, one)| {
            let kind = ExprKind::Computed(known + index);
            Expr { kind, span: one.span, height: 1 }
        });
        let computed: Vec<Expr> = computed.collect();
        let result = self.built_in(name, &computed, span);
        self.computed.truncate(known);
        match result? {
            Some(result) => Ok(Operand::Value(result)),
            None => self.unknown_function(name, span),
        }
    }

    fn unknown_function(&mut self, name: &str, span: Span) -> Lowered<Operand> {
        if let Some(help) = crate::unsupported::alternative(name) {
            return self.error(span, format!("`{name}` isn't supported"), help);
        }
        let problem = Problem::new(self.place_of(span), format!("there is no function `{name}`"));
        let known = self.functions.keys().map(|name| &**name).chain(super::builtin::names());
        let problem = problem.did_you_mean(name, known);
        self.fail(problem)
    }

    /// Calls an overloaded operator on structs, if there is one.
    pub(super) fn overloaded(
        &mut self,
        name: &str,
        arguments: Vec<Typed>,
        written: &[&Expr],
        span: Span,
    ) -> Lowered<Option<Typed>> {
        let Some(candidates) = self.functions.get(name).cloned() else { return Ok(None) };
        let given = as_operands(arguments);
        let chosen = self.choose_function(name, &candidates, &[], &given, None, span)?;
        let written: Vec<Expr> = written.iter().map(|one| (*one).clone()).collect();
        let result = self.inline_call(&chosen, given, &written, None, span)?;
        Ok(Some(self.read(result)))
    }

    /// The conversion cost of the best overload of an operator: 0 if nothing is converted, `None`
    /// if none fits.
    pub(super) fn cost_of_operator(
        &mut self,
        name: &str,
        arguments: Vec<Typed>,
        span: Span,
    ) -> Lowered<Option<u32>> {
        let Some(candidates) = self.functions.get(name).cloned() else { return Ok(None) };
        let fitting =
            self.viable_candidates(&candidates, &[], &as_operands(arguments), None, span)?;
        Ok(fitting.first().map(|(cost, _)| cost / 4))
    }

    /// Inlines a call: binds the parameters to the arguments, and lowers the function's body.
    pub(super) fn inline_call(
        &mut self,
        chosen: &SelectedFunction,
        given: Vec<Operand>,
        written: &[Expr],
        this: Option<(crate::ir::Value, QualifiedType)>,
        span: Span,
    ) -> Lowered<Operand> {
        let function = &chosen.function;
        if function.attributes.global {
            let message =
                format!("`{}` is a kernel, which only the host can launch", function.name);
            return self.error(span, message, "move the shared code into a `__device__` function");
        }
        if function.body.is_none() {
            let message = format!("`{}` is declared, but not defined", function.name);
            let help = "define it in this file, or include the file that does";
            return self.error(span, message, help);
        }
        let own = this.as_ref().map_or(0, |(_, ty)| number_of(ty));
        if self.is_out_of_line(chosen, own) {
            return self.call_out_of_line(chosen, given, written, this, span);
        }
        self.one_level_deeper(span, |lowerer| {
            lowerer.inline_call_inner(chosen, given, written, this, span)
        })
    }

    fn inline_call_inner(
        &mut self,
        chosen: &SelectedFunction,
        given: Vec<Operand>,
        written: &[Expr],
        this: Option<(crate::ir::Value, QualifiedType)>,
        span: Span,
    ) -> Lowered<Operand> {
        let mut bound = chosen.template.clone();
        let own = this.as_ref().map_or(0, |(_, ty)| number_of(ty));
        if let Some((address, ty)) = this {
            let slot = self.builder.slot(8, 8);
            self.builder.store(crate::ir::Memory::B64, false, slot, address);
            let place = Lvalue { ty: Type::pointer(ty).into(), address: slot };
            bound.insert(Rc::from("this"), Symbol::Variable(place));
        }
        let library = chosen.function.span.file == self.library && self.library_call.is_none();
        if library {
            self.library_call = Some(span);
        }
        let result = self.in_outer_scope(bound, |lowerer| {
            lowerer.bind_and_lower(chosen, given, written, own, span)
        });
        if library {
            self.library_call = None;
        }
        self.set_place(span);
        result
    }

    fn bind_and_lower(
        &mut self,
        chosen: &SelectedFunction,
        given: Vec<Operand>,
        written: &[Expr],
        own: u32,
        span: Span,
    ) -> Lowered<Operand> {
        let function = &chosen.function;
        for (name, place, _) in self.bind_arguments(function, given, written, span)? {
            self.bind(&name, Symbol::Variable(place));
        }
        let (result, reference) = self.resolve(&function.result, function.span)?;
        let slot = self.body(function, result.clone(), reference, own, &chosen.template)?;
        match slot {
            None => Ok(Operand::Value(self.void())),
            Some(slot) if reference => {
                let address = self.builder.load(crate::ir::Memory::B64, false, slot);
                Ok(Operand::Lvalue(Lvalue { ty: result, address }))
            }
            Some(slot) => {
                let place = Lvalue { ty: result.mutable(), address: slot };
                Ok(Operand::Value(self.read(Operand::Lvalue(place))))
            }
        }
    }

    /// The places of a function's parameters for these arguments, and whether each is a reference.
    pub(super) fn bind_arguments(
        &mut self,
        function: &Rc<Function>,
        given: Vec<Operand>,
        written: &[Expr],
        span: Span,
    ) -> Lowered<Vec<(Rc<str>, Lvalue, bool)>> {
        let mut given = given.into_iter();
        let mut symbols = Vec::new();
        for (index, parameter) in function.parameters.iter().enumerate() {
            let (ty, reference) = self.resolve(&parameter.ty, parameter.span)?;
            let place_of = written.get(index).map_or(span, |one| one.span);
            let operand = match given.next() {
                Some(operand) => operand,
                None => match &parameter.default {
                    Some(default) => self.operand(&default.clone())?,
                    None => return self.error(span, "an argument is missing", ""),
                },
            };
            let place = match operand {
                Operand::Lvalue(place)
                    if reference && Self::reference_can_bind(&place.ty.ty, &ty.ty) =>
                {
                    if place.ty.is_const && !ty.is_const {
                        let help = "make the parameter a `const` reference";
                        let message = "this is `const`, and the function may change it";
                        return self.error(place_of, message, help);
                    }
                    Lvalue { ty, address: place.address }
                }
                _ if reference && !ty.is_const => {
                    let message = format!("this has to be a variable of type `{}`", ty.ty.name());
                    let help = "the function changes it: pass a variable";
                    return self.error(place_of, message, help);
                }
                operand => {
                    let typed = self.read(operand);
                    let address = self.temporary(&ty.ty);
                    let place = Lvalue { ty: ty.clone().mutable(), address };
                    self.store_converted(&place, typed, place_of)?;
                    Lvalue { ty, address }
                }
            };
            symbols.push((parameter.name.clone(), place, reference));
        }
        Ok(symbols)
    }
}

/// The number that identifies a struct type; 0 for other types.
pub(super) fn number_of(ty: &QualifiedType) -> u32 {
    match &ty.ty {
        Type::Struct(own) => own.id,
        _ => 0,
    }
}

/// The arguments of an operator. Structs become places, so that they can be bound to references.
fn as_operands(arguments: Vec<Typed>) -> Vec<Operand> {
    let bound = arguments.into_iter().map(|typed| match &typed.ty {
        Type::Struct(_) => {
            Operand::Lvalue(Lvalue { ty: typed.ty.clone().into(), address: typed.value })
        }
        _ => Operand::Value(typed),
    });
    bound.collect()
}
