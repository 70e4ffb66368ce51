//! Prototypes and lists of functions, which give calls through registers their signatures.

use super::function::Body;
use crate::check::context::{Global, ModuleContext, Result};
use crate::check::scope::Binding;
use crate::check::signature::{ParameterShape, Signature};
use crate::check::variables;
use crate::diagnostic::Problem;
use crate::program::Space;
use crate::syntax::{self, Declaration, Name};

impl<'a> Body<'a> {
    pub(in crate::check) fn call_targets(
        &mut self,
        context: &ModuleContext<'a>,
        name: Name<'a>,
        functions: &[Name<'a>],
    ) -> Result<()> {
        let mut signature: Option<Signature> = None;
        for function in functions {
            let Some(Global::Function(id)) = context.names.get(function.text) else {
                return Err(self.undeclared(context, function.text, function.span));
            };
            let found = Signature::of_function(&context.module.functions[id.0 as usize]);
            let known = signature.get_or_insert_with(|| found.clone());
            if (&known.results, &known.parameters) != (&found.results, &found.parameters) {
                return Err(Problem::new(
                    function.span,
                    "the functions of a list take the same parameters",
                )
                .help("call those that differ through another list"));
            }
            known.functions.push(*id);
        }
        self.signatures.extend(signature);
        self.bind(name, Binding::Signature(self.signatures.len() - 1))
    }

    pub(in crate::check) fn prototype(
        &mut self,
        context: &ModuleContext<'a>,
        signature: &syntax::Signature<'a>,
    ) -> Result<Signature> {
        let shapes = |declarations: &[Declaration<'a>]| -> Result<Vec<ParameterShape>> {
            let mut shapes = Vec::new();
            for declaration in declarations {
                let Declaration { ty, lanes, .. } = *declaration;
                match declaration.space {
                    Space::Register => {
                        shapes.extend((0..lanes).map(|_| ParameterShape::in_register(ty, lanes)));
                    }
                    Space::Param => {
                        let declarator = &declaration.names[0];
                        let variable = variables::variable(context, declaration, declarator)?;
                        shapes.push(ParameterShape::in_memory(&variable));
                    }
                    _ => {
                        return Err(Problem::new(
                            declaration.ty_span,
                            "a parameter is declared `.param` or `.reg`",
                        )
                        .help("change the state space in front of it"));
                    }
                }
            }
            Ok(shapes)
        };
        if let [_, second, ..] = &signature.results[..] {
            let what = "a function that is called through a register has one result";
            return Err(Problem::new(second.names[0].name.span, what)
                .help("put several into one .param array, or call the function by its name"));
        }
        Ok(Signature {
            results: shapes(&signature.results)?,
            parameters: shapes(&signature.parameters)?,
            functions: Vec::new(),
        })
    }
}
