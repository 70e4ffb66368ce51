//! Templates: parameters, arguments, explicit instantiations, and name expressions.

use std::rc::Rc;

use super::item::DeclarationContext;
use super::{Name, Parsed, Parser};
use crate::diagnostic::Problem;
use crate::lex::TokenKind;
use crate::syntax::{Instance, Item, TemplateArgument, TemplateParameter};

impl Parser<'_> {
    /// Parses `template <typename T, int N = 4>`.
    pub(super) fn template_parameters(&mut self) -> Parsed<Vec<TemplateParameter>> {
        self.bump();
        self.expect("<", "after `template`")?;
        let parameters = self.separated(">", Self::template_parameter)?;
        self.expect_greater()?;
        Ok(parameters)
    }

    fn template_parameter(&mut self) -> Parsed<TemplateParameter> {
        if self.is("template") || self.peek_ahead(1).is("...") {
            let problem = Problem::new(self.span(), "this kind of template isn't supported");
            return self.fail(problem.help("template parameters are types and integers"));
        }
        let is_type = (self.is("typename") || self.is("class"))
            && !(self.peek_ahead(1).kind == TokenKind::Word && self.peek_ahead(2).is("::"));
        if is_type {
            self.bump();
            let name = self.parameter_name()?;
            self.declare(&name, Name::Type);
            let default = self.accept("=").then(|| self.type_name()).transpose()?;
            let default = default.map(TemplateArgument::Type);
            return Ok(TemplateParameter { name, value: None, default });
        }
        let value = Some(self.specifiers()?.ty);
        let name = self.parameter_name()?;
        self.declare(&name, Name::Value);
        let default = self.accept("=").then(|| self.additive()).transpose()?;
        let default = default.map(|value| TemplateArgument::Value(Rc::new(value)));
        Ok(TemplateParameter { name, value, default })
    }

    fn parameter_name(&mut self) -> Parsed<Rc<str>> {
        if self.is(",") || self.is(">") || self.is("=") {
            return Ok(self.unnamed("parameter"));
        }
        Ok(self.word("the parameter's name")?.0)
    }

    /// Parses a template, `template <typename T, int N = 4> …`.
    pub(super) fn template(&mut self) -> Parsed<()> {
        self.scoped(|parser| {
            let parameters = parser.template_parameters()?;
            if parser.is("struct") || parser.is("union") {
                return parser.struct_template(parameters);
            }
            if parser.is("using") {
                let problem = Problem::new(parser.span(), "alias templates aren't supported");
                return parser.fail(problem.help("use the type itself"));
            }
            let specialises = parameters.is_empty();
            let around = if specialises {
                DeclarationContext::Specialisation
            } else {
                DeclarationContext::Nothing
            };
            parser.declared(parameters, around)
        })
    }

    /// An explicit instantiation, `template __global__ void name<float>(float *);`.
    pub(super) fn instance(&mut self) -> Parsed<()> {
        self.bump();
        if self.is("struct") || self.is("class") {
            // A struct is instantiated where it is used.
            while !self.is(";") && !self.ended() {
                self.bump();
            }
            return self.expect(";", "after the struct");
        }
        let specifiers = self.specifiers()?;
        while self.is("*") || self.is("&") {
            self.bump();
        }
        let (name, span) = self.path("the name of a template")?;
        let arguments = if self.is("<") { self.template_arguments()? } else { Vec::new() };
        let mut parameters = None;
        if specifiers.attributes.global {
            self.expect("(", "before the parameters of the kernel")?;
            parameters = Some(self.scoped(Self::parameters)?);
        }
        self.skip_item();
        self.expect(";", "after the parameters")?;
        let by_host = false;
        self.items.push(Item::Instance(Instance { name, arguments, parameters, span, by_host }));
        Ok(())
    }

    /// Parses a name expression, with which the host requests a kernel or a variable: `name`,
    /// `&name`, `name<float, 4>`.
    pub(super) fn name_expression(&mut self) -> Parsed<()> {
        self.accept("&");
        let (name, span) = self.path("the name of a kernel")?;
        let arguments = if self.is("<") { self.template_arguments()? } else { Vec::new() };
        if !self.ended() {
            let problem = Problem::new(self.span(), "this isn't the name of a kernel");
            return self.fail(problem.help("write `name`, or `name<float, 16>` for a template"));
        }
        let (parameters, by_host) = (None, true);
        self.items.push(Item::Instance(Instance { name, arguments, parameters, span, by_host }));
        Ok(())
    }

    pub(super) fn template_arguments(&mut self) -> Parsed<Vec<TemplateArgument>> {
        self.expect("<", "before the template's arguments")?;
        let arguments = self.separated(">", |parser| {
            Ok(if parser.begins_plain_type() {
                TemplateArgument::Type(parser.type_name()?)
            } else {
                TemplateArgument::Value(Rc::new(parser.additive()?))
            })
        })?;
        self.expect_greater()?;
        Ok(arguments)
    }
}
