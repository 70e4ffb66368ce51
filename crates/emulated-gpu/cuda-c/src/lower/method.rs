//! Member functions of structs: named functions, operators, constructors.

use std::rc::Rc;

use super::expression::Operand;
use super::overload::type_of;
use super::{Lowered, Lowerer, Lvalue, Symbol, Typed};
use crate::ir::{Ty, Value};
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, Function, StructDeclaration, TemplateArgument, TypeExpr};
use crate::types::{QualifiedType, Type};

/// The declaration of a struct; `None` for other types and for built-in structs.
fn declaration(ty: &Type) -> Option<&Rc<StructDeclaration>> {
    match ty {
        Type::Struct(own) => own.declaration.as_ref(),
        _ => None,
    }
}

/// The member functions with a name.
fn methods_named(ty: &Type, name: &str) -> Vec<Rc<Function>> {
    let all = declaration(ty).map(|own| own.methods.iter());
    all.into_iter().flatten().filter(|method| &*method.name == name).cloned().collect()
}

impl Lowerer<'_> {
    pub(super) fn method(
        &mut self,
        base: &Expr,
        name: &Rc<str>,
        arrow: bool,
        (explicit, arguments): (&[TemplateArgument], &[Expr]),
        span: Span,
    ) -> Lowered<Operand> {
        let (address, ty) = if arrow {
            let pointer = self.rvalue(base)?;
            match &pointer.ty {
                Type::Pointer(to) => (pointer.value, self.completed(to)),
                other => {
                    let message = format!("`->` is for pointers, and this is `{}`", other.name());
                    return self.error(base.span, message, "write `.`");
                }
            }
        } else {
            let operand = self.operand(base)?;
            self.object(&operand)
        };
        if methods_named(&ty.ty, name).is_empty()
            && let Type::Struct(own) = &ty.ty
            && own.member(name).is_some()
        {
            // A data member with `operator()`.
            let own = own.clone();
            let place = self.field(&own, name, &ty, address, span)?;
            return self.call_operator(Operand::Lvalue(place), arguments, span);
        }
        self.call_method((address, ty), name, explicit, arguments, span)
    }

    /// Calls a member function of the struct at an address.
    pub(super) fn call_method(
        &mut self,
        (address, ty): (Value, QualifiedType),
        name: &str,
        explicit: &[TemplateArgument],
        arguments: &[Expr],
        span: Span,
    ) -> Lowered<Operand> {
        let candidates = methods_named(&ty.ty, name);
        if candidates.is_empty() {
            let message = format!("`{}` has no function `{name}`", ty.ty.name());
            return self.error(span, message, "");
        }
        let given = self.operands(arguments)?;
        let chosen = self.choose_function(name, &candidates, explicit, &given, Some(&ty), span)?;
        let function = &chosen.function;
        if ty.is_const && !function.is_const && !function.attributes.is_static {
            let message = format!("this is `const`, and `{name}` may change it");
            let help = "write `const` after the parameters of the function";
            return self.error(span, message, help);
        }
        self.inline_call(&chosen, given, arguments, Some((address, ty)), span)
    }

    /// `T::name(a, b)`
    pub(super) fn static_method(
        &mut self,
        ty: &TypeExpr,
        name: &Rc<str>,
        arguments: &[Expr],
        span: Span,
    ) -> Lowered<Operand> {
        if let TypeExpr::Named(outer, _) = ty
            && self.lookup(outer).is_none()
        {
            let help = "the C++ library isn't supported; write the function yourself";
            return self.error(span, format!("there is no `{outer}::{name}`"), help);
        }
        let ty = self.plain_type(ty, span)?;
        let ty = self.completed(&ty);
        let candidates = methods_named(&ty.ty, name);
        if candidates.iter().any(|candidate| !candidate.attributes.is_static) {
            let message = format!("`{name}` is a member function of `{}`", ty.ty.name());
            return self.error(span, message, "call it with `.`, or make it `static`");
        }
        let address = self.builder.integer(Ty::I64, 0);
        self.call_method((address, ty), name, &[], arguments, span)
    }

    /// Calls a member function of the same struct without `this->`.
    pub(super) fn call_sibling_method(
        &mut self,
        name: &Rc<str>,
        explicit: Option<&[TemplateArgument]>,
        arguments: &[Expr],
        span: Span,
    ) -> Lowered<Option<Operand>> {
        let Some((this, to)) = self.this_object() else { return Ok(None) };
        if methods_named(&to.ty, name).is_empty() {
            let Some(member) = self.member_of_this(name, span)? else { return Ok(None) };
            return self.call_operator(member, arguments, span).map(Some);
        }
        let address = self.load(&this.ty, this.address);
        let explicit = explicit.unwrap_or_default();
        self.call_method((address, to), name, explicit, arguments, span).map(Some)
    }

    /// Calls a value: a struct with `operator()`.
    pub(super) fn call_value(
        &mut self,
        callee: &Expr,
        arguments: &[Expr],
        span: Span,
    ) -> Lowered<Operand> {
        let operand = self.operand(callee)?;
        if !matches!(type_of(&operand), Type::Struct(_)) {
            return match &callee.kind {
                ExprKind::Name(name, _) => {
                    let message = format!("`{name}` is a variable, not a function");
                    self.error(callee.span, message, "")
                }
                _ => self.error(callee.span, "only functions can be called", ""),
            };
        }
        self.call_operator(operand, arguments, span)
    }

    fn call_operator(
        &mut self,
        operand: Operand,
        arguments: &[Expr],
        span: Span,
    ) -> Lowered<Operand> {
        let object = self.object(&operand);
        self.call_method(object, "operator()", &[], arguments, span)
    }

    /// Calls an operator that is a member function of its left operand.
    pub(super) fn operator_method(
        &mut self,
        left: &Typed,
        operator: &str,
        right: &[&Expr],
        span: Span,
    ) -> Lowered<Option<Operand>> {
        let ty: QualifiedType = left.ty.clone().into();
        let ty = self.completed(&ty);
        let name = format!("operator{operator}");
        let fits = |one: &Rc<Function>| one.parameters.len() == right.len();
        if !methods_named(&ty.ty, &name).iter().any(fits) {
            return Ok(None);
        }
        let arguments: Vec<Expr> = right.iter().map(|one| (*one).clone()).collect();
        self.call_method((left.value, ty), &name, &[], &arguments, span).map(Some)
    }

    pub(super) fn has_method(ty: &Type, name: &str) -> bool {
        !methods_named(ty, name).is_empty()
    }

    pub(super) fn has_constructors(ty: &Type) -> bool {
        declaration(ty).is_some_and(|own| !own.constructors.is_empty())
    }

    /// Whether a constructor can be called without arguments.
    pub(super) fn has_default_constructor(ty: &Type) -> bool {
        let plain =
            |one: &Rc<Function>| one.parameters.iter().all(|parameter| parameter.default.is_some());
        declaration(ty).is_some_and(|own| own.constructors.iter().any(plain))
    }

    /// Calls a constructor of a struct, for the object at a place.
    pub(super) fn construct_by(
        &mut self,
        place: &Lvalue,
        arguments: &[Expr],
        span: Span,
    ) -> Lowered<()> {
        let ty = self.completed(&place.ty.clone().mutable());
        let Some(own) = declaration(&ty.ty).cloned() else { return Ok(()) };
        self.default_members(place)?;
        if arguments.is_empty()
            && own.has_default
            && own.constructors.iter().all(|constructor| !constructor.parameters.is_empty())
        {
            return Ok(());
        }
        let given = self.operands(arguments)?;
        self.construct_with(place, given, arguments, span)
    }

    /// Whether a constructor converts one type to the other implicitly.
    pub(super) fn converts(&self, from: &Type, to: &Type) -> bool {
        let Some(own) = declaration(to) else { return false };
        from != to
            && own.constructors.iter().any(|constructor| {
                !constructor.attributes.is_explicit
                    && constructor.parameters.len() == 1
                    && self.accepts(constructor, from, to)
            })
    }

    /// Whether the single parameter of a constructor accepts a type. The parameter is resolved in
    /// the scope of its struct.
    fn accepts(&self, constructor: &Function, from: &Type, to: &Type) -> bool {
        let mut written = &constructor.parameters[0].ty;
        while let TypeExpr::Reference(inner) | TypeExpr::Qualified { inner, .. } = written {
            written = inner;
        }
        // A conversion by a struct can't implicitly follow another such conversion.
        let is_struct = matches!(from, Type::Struct(_));
        match (written, from) {
            (TypeExpr::Named(name, _), _) => {
                let names = self.names_of(to);
                let named = names.get(name).or_else(|| self.scopes[0].get(name));
                match named {
                    Some(Symbol::Alias(ty)) => {
                        ty.ty == *from
                            || !matches!(ty.ty, Type::Struct(_))
                                && !is_struct
                                && self.cost(from, &ty.ty).is_some()
                    }
                    _ => constructor.template.iter().any(|one| one.name == *name),
                }
            }
            (TypeExpr::Applied(name, ..), Type::Struct(own)) => {
                own.template_arguments().is_some_and(|(template, _)| template == name)
            }
            (TypeExpr::Scalar(scalar), from) if !is_struct => {
                self.cost(from, &Type::Scalar(*scalar)).is_some()
            }
            _ => false,
        }
    }

    /// Like `construct_by`, for arguments that have been lowered already.
    pub(super) fn construct_with(
        &mut self,
        place: &Lvalue,
        given: Vec<Operand>,
        arguments: &[Expr],
        span: Span,
    ) -> Lowered<()> {
        let ty = self.completed(&place.ty.clone().mutable());
        let Some(own) = declaration(&ty.ty).cloned() else { return Ok(()) };
        // A struct of the same type is copied.
        if let [only] = given.as_slice() {
            let typed = self.read(only.clone());
            if typed.ty == ty.ty {
                return self.store_converted(&Lvalue { ty, address: place.address }, typed, span);
            }
            // A conversion operator is preferred to a constructor.
            if self.conversion_to(&typed.ty, &ty.ty).is_some() {
                let value = self.converted(typed, &ty.ty, span)?;
                let typed = Typed { ty: ty.ty.clone(), value };
                return self.store_converted(&Lvalue { ty, address: place.address }, typed, span);
            }
        }
        let name = own.name.clone();
        let chosen =
            self.choose_function(&name, &own.constructors, &[], &given, Some(&ty), span)?;
        self.inline_call(&chosen, given, arguments, Some((place.address, ty)), span)?;
        Ok(())
    }

    /// Lowers the initialisers of a constructor, `: member(value)`.
    pub(super) fn initialise_members(&mut self, function: &Function) -> Lowered<()> {
        for (name, value, span) in &function.initialisers {
            let found = self.member_of_this(name, *span)?;
            let Some(Operand::Lvalue(place)) = found else {
                return self.error(*span, format!("there is no member `{name}`"), "");
            };
            match &value.kind {
                ExprKind::List(elements) if elements.len() == 1 && !place.ty.ty.is_aggregate() => {
                    self.initialise(&place, &elements[0].1)?;
                }
                _ => self.initialise(&place, value)?,
            }
        }
        Ok(())
    }

    /// `Enum::value`, `Struct<T>::constant`
    pub(super) fn scoped_value(
        &mut self,
        ty: &TypeExpr,
        name: &Rc<str>,
        span: Span,
    ) -> Lowered<Operand> {
        let mut full = name.to_string();
        let mut found = None;
        if let TypeExpr::Named(outer, _) = ty {
            full = format!("{outer}::{name}");
            found = self.lookup(&full).cloned();
            if found.is_none() && self.lookup(outer).is_none() {
                return self.error(
                    span,
                    format!("there is no `{full}`"),
                    "the C++ library isn't supported; values of an `enum class` are written `Enum::value`",
                );
            }
        }
        if found.is_none() {
            let outer = self.plain_type(ty, span)?.ty;
            full = format!("{}::{name}", outer.name());
            found = match &outer {
                Type::Struct(own) => self.inner_name(own, name),
                Type::Enum(own, _) => {
                    self.lookup(&format!("{own}::{name}")).or_else(|| self.lookup(name)).cloned()
                }
                _ => None,
            };
        }
        let found = found.filter(|symbol| !matches!(symbol, Symbol::Variable(_)));
        match found.and_then(|symbol| self.operand_of(symbol)) {
            Some(operand) => Ok(operand),
            None => self.error(
                span,
                format!("there is no `{full}`"),
                "check the names that the type declares",
            ),
        }
    }
}
