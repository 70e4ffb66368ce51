//! Kernels, and the bodies of inlined and called functions.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::rc::Rc;

use super::convert::memory_of;
use super::expression::Operand;
use super::{Frame, Lowered, Lowerer, Lvalue, Symbol};
use crate::diagnostic::Problem;
use crate::ir::{BlockId, Builder, Function as Kernel, Op, Parameter, Terminator, Ty};
use crate::syntax::{Expr, Function};
use crate::types::{QualifiedType, Type};

/// The maximum size of a kernel's parameters in bytes, from sm_70 on and before.
const PARAMETER_BYTES: (u64, u64) = (32_764, 4096);

impl Lowerer<'_> {
    /// Whether a function needs no lowering: it is only a declaration, or an error was reported.
    pub(super) fn function_is_skipped(&mut self, function: &Rc<Function>) -> bool {
        let attributes = function.attributes;
        if attributes.global && (attributes.device || attributes.host) {
            let other = if attributes.device { "__device__" } else { "__host__" };
            let message = format!("`{}` can't be `__global__` and `{other}`", function.name);
            let help = format!(
                "a kernel is launched by the host and runs on the device: delete `{other}`"
            );
            self.problems.push(Problem::new(function.span, message).help(help));
            return true;
        }
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

    /// Lowers a kernel, or an instance of a kernel template, and returns its name; `None` after an
    /// error.
    pub(super) fn kernel(
        &mut self,
        function: &Rc<Function>,
        template: HashMap<Rc<str>, Symbol>,
    ) -> Option<String> {
        self.in_outer_scope(template, |lowerer| lowerer.lower_kernel(function))
    }

    fn lower_kernel(&mut self, function: &Rc<Function>) -> Option<String> {
        let own = self.scopes.last().cloned().unwrap_or_default();
        let name = self.mangled(function, &own).ok()?;
        self.check_ptx_name(&name, function.span).ok()?;
        if self.kernels.contains(&name) {
            if !own.is_empty() {
                return Some(name);
            }
            let message = format!("there are two kernels `{}`", function.name);
            self.problems.push(Problem::new(function.span, message).help("rename one"));
            return None;
        }
        let span = function.span;
        loop {
            let (globals, known) = (self.module.globals.len(), self.out_of_line.len());
            let problems = self.problems.len();
            let kernel = Kernel::new(name.clone(), span);
            self.builder = Builder { function: kernel, at: BlockId(0), span };
            let result = self.scoped(|lowerer| lowerer.kernel_body(function));
            self.frames.clear();
            self.depth = 0;
            let empty =
                Builder { function: Kernel::new(String::new(), span), at: BlockId(0), span };
            let built = std::mem::replace(&mut self.builder, empty);
            result.ok()?;
            if self.out_of_line.len() == known {
                self.lowered_values += built.function.values.len();
                self.kernels.insert(name.clone());
                self.module.functions.push(built.function);
                return Some(name);
            }
            // A function turned out to be recursive after one of its calls had been inlined, so the
            // kernel is lowered again.
            for global in self.module.globals.drain(globals..) {
                self.used_names.remove(&global.name);
            }
            self.constexpr_globals.retain(|number| (*number as usize) < globals);
            self.strings.retain(|_, number| (*number as usize) < globals);
            self.problems.truncate(problems);
        }
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
        self.frames.push(Frame::new(function, exit));
        let mut bytes: u64 = 0;
        let mut names = HashSet::default();
        for (index, parameter) in function.parameters.iter().enumerate() {
            if !parameter.name.is_empty() && !names.insert(parameter.name.clone()) {
                let message = format!("there are two parameters `{}`", parameter.name);
                return self.error(parameter.span, message, "rename one");
            }
            let (ty, reference) = self.resolve(&parameter.ty, parameter.span)?;
            if reference {
                let help = "pass a pointer, or the value itself";
                let message = "a kernel has no references as parameters";
                return self.error(parameter.span, message, help);
            }
            if ty.ty.size() == 0 {
                let message = format!("a parameter can't be `{}`", ty.ty.name());
                return self.error(parameter.span, message, "");
            }
            bytes = bytes.next_multiple_of(ty.ty.align()) + ty.ty.size();
            self.kernel_parameter(index as u32, ty, parameter);
        }
        let most = if self.options.arch >= 70 { PARAMETER_BYTES.0 } else { PARAMETER_BYTES.1 };
        if bytes > most {
            let arch = self.options.arch;
            let message = format!("{bytes} bytes of parameters; a kernel has {most} on sm_{arch}");
            return self.error(function.span, message, "put them into memory, and pass a pointer");
        }
        let body = function.body.as_deref().unwrap_or_default();
        let done = self.scoped(|lowerer| {
            let result = lowerer.statements(body);
            crate::mistakes::check_function(function, lowerer.problems);
            result
        });
        self.check_labels();
        self.set_place(function.end);
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
        let is_aggregate = ty.ty.is_aggregate();
        self.builder.function.params.push(Parameter {
            name: written.name.clone(),
            size: ty.ty.size(),
            align: ty.ty.align(),
            memory: (!is_aggregate).then(|| memory_of(&ty.ty)),
            is_pointer,
            restrict: written.restrict,
            read_only: written.restrict
                && ty.ty.pointee().is_some_and(|to| to.is_const && !to.is_volatile),
        });
        let address = self.temporary(&ty.ty);
        let open = ty.clone().mutable();
        if is_aggregate {
            let from = self.builder.op(Op::ParamAddress(index), Ty::I64, Vec::new());
            self.copy(&open, address, from);
        } else {
            let memory = memory_of(&ty.ty);
            let value = self.builder.op(Op::Param(index), memory.ty(), Vec::new());
            self.builder.store(memory, false, address, value);
        }
        self.bind(&written.name, Symbol::Variable(Lvalue { ty, address }));
    }

    /// Lowers a function's body at the call. Its parameters are already bound.
    pub(super) fn body(
        &mut self,
        function: &Rc<Function>,
        result: QualifiedType,
        returns_reference: bool,
        own: u32,
        template: &super::template::Bindings,
    ) -> Lowered<Option<crate::ir::Value>> {
        let exit = self.builder.new_block();
        let slot = match () {
            () if returns_reference => Some(self.builder.slot(8, 8)),
            () if result.ty == Type::Void => None,
            () => Some(self.temporary(&result.ty)),
        };
        let open = result.mutable();
        self.frames.push(Frame {
            result: open,
            slot,
            returns_reference,
            own,
            template: template.clone(),
            ..Frame::new(function, exit)
        });
        let span = self.builder.span;
        let body = function.body.as_deref().unwrap_or_default();
        let done = self.scoped(|lowerer| {
            lowerer.initialise_members(function)?;
            lowerer.statements(body)
        });
        self.check_labels();
        self.frames.pop();
        self.builder.span = span;
        self.builder.jump(exit);
        self.builder.at = exit;
        done?;
        Ok(slot)
    }

    /// Lowers all arguments; stops at the first one with an error.
    pub(super) fn operands(&mut self, arguments: &[Expr]) -> Lowered<Vec<Operand>> {
        arguments.iter().map(|argument| self.operand(argument)).collect()
    }
}
