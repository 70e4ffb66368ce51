//! Kernels, and the bodies of functions that are called.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::convert::memory_of;
use super::{Frame, Lowered, Lowerer, Place, Symbol};
use crate::diagnostic::Problem;
use crate::ir::{BlockId, Builder, Function as Kernel, Memory, Op, Parameter, Terminator, Ty};
use crate::syntax::{Expr, Function};
use crate::types::{QualifiedType, Type};

/// A kernel has at most as many bytes of parameters.
const PARAMETER_BYTES: u64 = 4096;

impl Lowerer<'_> {
    /// Whether there is a definition of a function that is the same, and this one adds nothing.
    pub(super) fn function_is_known(&mut self, function: &Rc<Function>) -> bool {
        let attributes = function.attributes;
        if function.name.as_ref() == "main" || !attributes.global && !attributes.device {
            if function.body.is_none() {
                return true;
            }
            if attributes.is_constexpr {
                return false;
            }
            let message = format!("`{}` is host code", function.name);
            let help = "only `__global__` and `__device__` functions are compiled: write `__device__` \
                        before it, or move it into another file";
            self.problems.push(Problem::new(function.span, message).help(help));
            return true;
        }
        false
    }

    pub(super) fn kernel(&mut self, function: &Rc<Function>) {
        if !function.template.is_empty() {
            let message =
                format!("`{}` is a template, of which the host can't know the name", function.name);
            let help =
                "make it a `__device__` function, and call it from kernels with plain parameters";
            self.problems.push(Problem::new(function.span, message).help(help));
            return;
        }
        let name = if function.attributes.extern_c {
            function.name.to_string()
        } else {
            self.mangled(function)
        };
        if self.module.functions.iter().any(|other| other.name == name) {
            let message = format!("there are two kernels `{}`", function.name);
            self.problems.push(Problem::new(function.span, message).help("rename one"));
            return;
        }
        let kernel = Kernel::new(name, function.span);
        self.builder = Builder { function: kernel, at: BlockId(0), span: function.span };
        let scopes = self.scopes.split_off(1);
        let result = self.scoped(|lowerer| lowerer.kernel_body(function));
        self.scopes.truncate(1);
        self.scopes.extend(scopes);
        self.frames.clear();
        self.depth = 0;
        let span = function.span;
        let empty = Builder { function: Kernel::new(String::new(), span), at: BlockId(0), span };
        let built = std::mem::replace(&mut self.builder, empty);
        if result.is_ok() {
            self.module.functions.push(built.function);
        }
    }

    fn mangled(&mut self, function: &Function) -> String {
        let mut name = format!("_Z{}{}", function.name.len(), function.name);
        if function.parameters.is_empty() {
            name.push('v');
        }
        // A compound that has come before is written by its number.
        let mut known: Vec<String> = Vec::new();
        for parameter in &function.parameters {
            if let Ok((ty, _)) = self.resolve(&parameter.ty, parameter.span) {
                mangle(&ty.ty, &mut known, &mut name);
            }
        }
        name
    }

    fn kernel_body(&mut self, function: &Rc<Function>) -> Lowered<()> {
        let result = self.plain_type(&function.result, function.span)?;
        if result.ty != Type::Void {
            let help = "write `void`, and let it write its result to memory";
            return self.error(function.span, "a kernel returns nothing", help);
        }
        for bound in &function.bounds {
            let (_, bits) = self.constant(bound, "a launch bound")?;
            self.builder.function.bounds.push(u32::try_from(bits).unwrap_or(u32::MAX));
        }
        let exit = self.builder.new_block();
        self.frames.push(Frame {
            name: function.name.clone(),
            result: Type::Void.into(),
            slot: None,
            returns_reference: false,
            exit,
            breaks: Vec::new(),
            continues: Vec::new(),
            labels: HashMap::new(),
            cases: Vec::new(),
            switch_types: Vec::new(),
            function: Rc::as_ptr(function),
        });
        let mut bytes: u64 = 0;
        let mut names = HashSet::new();
        for (index, parameter) in function.parameters.iter().enumerate() {
            if !parameter.name.is_empty() && !names.insert(parameter.name.clone()) {
                let message = format!("there are two parameters `{}`", parameter.name);
                return self.error(parameter.span, message, "rename one");
            }
            let (ty, reference) = self.resolve(&parameter.ty, parameter.span)?;
            if reference {
                let help = "pass a pointer, or the value itself";
                return self.error(
                    parameter.span,
                    "a kernel has no references as parameters",
                    help,
                );
            }
            if ty.ty.size() == 0 {
                let message = format!("a parameter can't be `{}`", ty.ty.name());
                return self.error(parameter.span, message, "");
            }
            bytes = bytes.next_multiple_of(ty.ty.align()) + ty.ty.size();
            self.kernel_parameter(index as u32, ty, parameter);
        }
        if bytes > PARAMETER_BYTES {
            let message = format!("{bytes} bytes of parameters; a kernel has {PARAMETER_BYTES}");
            return self.error(function.span, message, "put them into memory, and pass a pointer");
        }
        let body = function.body.as_deref().unwrap_or_default();
        let done = self.scoped(|lowerer| {
            let result = lowerer.statements(body);
            lowerer.check_body(function);
            result
        });
        self.check_labels();
        self.stand(function.end);
        self.builder.jump(exit);
        self.builder.at = exit;
        self.builder.end(Terminator::Return);
        done
    }

    fn kernel_parameter(
        &mut self,
        index: u32,
        ty: QualifiedType,
        written: &crate::syntax::Parameter,
    ) {
        let is_pointer = matches!(ty.ty, Type::Pointer(_));
        let whole = ty.ty.is_aggregate();
        self.builder.function.params.push(Parameter {
            size: ty.ty.size(),
            align: ty.ty.align(),
            memory: (!whole).then(|| memory_of(&ty.ty)),
            is_pointer,
            restrict: written.restrict,
            read_only: written.restrict
                && ty.ty.pointee().is_some_and(|to| to.is_const && !to.is_volatile),
        });
        let address = self.temporary(&ty.ty);
        let open = QualifiedType { is_const: false, ..ty.clone() };
        if whole {
            let from = self.builder.op(Op::ParamAddress(index), Ty::I64, Vec::new());
            self.copy(&open, address, from);
        } else {
            let memory = memory_of(&ty.ty);
            let value = self.builder.op(Op::Param(index), memory.ty(), Vec::new());
            self.builder.store(memory, false, address, value);
        }
        self.bind(&written.name, Symbol::Variable(Place { ty, address }));
    }

    /// Writes a function's body out where it is called; its parameters are bound already.
    pub(super) fn body(
        &mut self,
        function: &Rc<Function>,
        result: QualifiedType,
        returns_reference: bool,
    ) -> Lowered<Option<crate::ir::Value>> {
        let exit = self.builder.new_block();
        let slot = match () {
            () if returns_reference => Some(self.builder.slot(8, 8)),
            () if result.ty == Type::Void => None,
            () => Some(self.temporary(&result.ty)),
        };
        let open = QualifiedType { is_const: false, ..result };
        self.frames.push(Frame {
            name: function.name.clone(),
            result: open,
            slot,
            returns_reference,
            exit,
            breaks: Vec::new(),
            continues: Vec::new(),
            labels: HashMap::new(),
            cases: Vec::new(),
            switch_types: Vec::new(),
            function: Rc::as_ptr(function),
        });
        let span = self.builder.span;
        let body = function.body.as_deref().unwrap_or_default();
        let done = self.scoped(|lowerer| lowerer.statements(body));
        self.check_labels();
        self.frames.pop();
        self.builder.span = span;
        self.builder.jump(exit);
        self.builder.at = exit;
        done?;
        Ok(slot)
    }

    pub(super) fn load_reference(&mut self, slot: crate::ir::Value) -> crate::ir::Value {
        self.builder.load(Memory::B64, false, slot)
    }

    /// An expression that is wrong doesn't keep the rest from being looked at.
    pub(super) fn all(&mut self, arguments: &[Expr]) -> Lowered<Vec<super::expression::Any>> {
        arguments.iter().map(|argument| self.any(argument)).collect()
    }
}

fn mangle(ty: &Type, known: &mut Vec<String>, name: &mut String) {
    let plain = ty.mangled();
    if let Some(place) = known.iter().position(|other| *other == plain) {
        match place {
            0 => name.push_str("S_"),
            more => name.push_str(&format!("S{}_", base36(more - 1))),
        }
        return;
    }
    match ty {
        Type::Pointer(to) => {
            name.push('P');
            if to.is_const || to.is_volatile {
                let qualifiers = format!(
                    "{}{}",
                    if to.is_volatile { "V" } else { "" },
                    if to.is_const { "K" } else { "" }
                );
                let inner = format!("{qualifiers}{}", to.ty.mangled());
                if let Some(place) = known.iter().position(|other| *other == inner) {
                    match place {
                        0 => name.push_str("S_"),
                        more => name.push_str(&format!("S{}_", base36(more - 1))),
                    }
                } else {
                    name.push_str(&qualifiers);
                    mangle(&to.ty, known, name);
                    known.push(inner);
                }
            } else {
                mangle(&to.ty, known, name);
            }
            known.push(plain);
        }
        Type::Struct(_) | Type::Enum(..) => {
            name.push_str(&plain);
            known.push(plain);
        }
        _ => name.push_str(&plain),
    }
}

fn base36(number: usize) -> String {
    let digit =
        |value: usize| char::from_digit(value as u32, 36).unwrap_or('0').to_ascii_uppercase();
    if number < 36 {
        digit(number).to_string()
    } else {
        format!("{}{}", digit(number / 36), digit(number % 36))
    }
}
