//! Instances of kernel templates, and the names that the host asks for.

use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

use super::expression::Operand;
use super::overload::SelectedFunction;
use super::{Lowered, Lowerer, Symbol, Typed};
use crate::diagnostic::Problem;
use crate::syntax::{Function, Instance, Parameter};
use crate::types::Type;

impl Lowerer<'_> {
    /// Lowers an instance of a kernel template, and returns its name in PTX.
    pub(super) fn instance(&mut self, instance: &Instance) -> Lowered<Option<String>> {
        let Instance { name, arguments, parameters, span, by_host } = instance;
        let span = *span;
        self.set_place(span);
        if let (true, Some(Symbol::Global(number, _))) = (*by_host, self.lookup(name)) {
            return Ok(Some(self.module.globals[*number as usize].name.clone()));
        }
        let all = self.functions.get(name).cloned().unwrap_or_default();
        if !by_host && !all.is_empty() && all.iter().all(|one| !one.attributes.global) {
            // A function needs no instance, because it is inlined where it is called.
            return Ok(None);
        }
        let given = parameters.as_deref().map(|own| self.types_of(own)).transpose()?;
        let mut fitting: Vec<SelectedFunction> = Vec::new();
        for function in all
            .iter()
            .filter(|one| one.attributes.global && one.body.is_some() && one.specialises.is_none())
        {
            let types = given.as_deref().unwrap_or_default();
            if given.is_some() && types.len() != function.parameters.len() {
                continue;
            }
            let void = self.void().value;
            let values =
                types.iter().map(|ty| Operand::Value(Typed { ty: ty.clone(), value: void }));
            let values: Vec<Operand> = values.collect();
            let base = HashMap::default();
            let Some(template) = self.deduce(function, arguments, &values, base, span)? else {
                continue;
            };
            let own = |lowerer: &mut Self| lowerer.types_of(&function.parameters);
            if given.is_none() || self.in_outer_scope(template.clone(), own)? == types {
                fitting.push(SelectedFunction { function: function.clone(), template });
            }
        }
        match fitting.len() {
            1 => {
                let SelectedFunction { function, template } = fitting.remove(0);
                if function.template.is_empty() && *by_host {
                    // This instance will be lowered with the other kernels.
                    return self.mangled(&function, &template).map(Some);
                }
                Ok(self.kernel(&function, template))
            }
            0 if all.iter().any(|one| one.attributes.global) => self.error(
                span,
                format!("no kernel `{name}` has these template parameters"),
                "write a type or a number for each: `name<float, 16>`",
            ),
            0 => {
                let is_kernel = |own: &[Rc<Function>]| own.iter().any(|one| one.attributes.global);
                let kernels = self.functions.iter().filter(|(_, own)| is_kernel(own));
                let problem = Problem::new(span, format!("there is no kernel `{name}`"));
                let problem = problem.did_you_mean(name, kernels.map(|(name, _)| &**name));
                self.fail(problem)
            }
            _ => self.error(
                span,
                format!("several kernels `{name}` fit"),
                "rename one: a name without parameters doesn't distinguish them",
            ),
        }
    }

    /// The types of parameters, without the qualifiers of the parameters themselves.
    fn types_of(&mut self, parameters: &[Parameter]) -> Lowered<Vec<Type>> {
        let resolve = |one: &Parameter| Ok(self.resolve(&one.ty, one.span)?.0.ty);
        parameters.iter().map(resolve).collect()
    }

    /// Warns about kernel templates without instances.
    pub(super) fn check_instances(&mut self, instances: &[Instance]) {
        let mut unused: Vec<Rc<Function>> = self
            .functions
            .values()
            .flatten()
            .filter(|function| {
                function.attributes.global
                    && !function.template.is_empty()
                    && function.body.is_some()
            })
            .filter(|function| instances.iter().all(|instance| instance.name != function.name))
            .cloned()
            .collect();
        unused.sort_by_key(|one| one.span);
        for function in unused {
            let name = &function.name;
            let message =
                format!("the template `{name}` isn't compiled, because it is never instantiated");
            let help =
                format!("write after it, with its types, `template __global__ void {name}<…>(…);`");
            self.warn(Problem::warning(function.span, message).help(help));
        }
    }
}
