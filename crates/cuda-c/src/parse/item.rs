//! The outermost level.

use std::rc::Rc;

use super::{Name, Parsed, Parser, Stop};
use crate::diagnostic::Problem;
use crate::lex::Kind;
use crate::syntax::{
    Instance, Item, Statement, StatementKind, TemplateArgument, TemplateParameter,
};

impl Parser<'_> {
    pub(super) fn all(&mut self) {
        while !self.ended() && !self.problems.are_many() {
            let before = self.at;
            if self.accept(";") {
                continue;
            }
            if self.accept("}") {
                let last = self.last();
                self.problems.push(Problem::new(last, "this `}` closes nothing").help("delete it"));
                continue;
            }
            if self.item().is_err() {
                self.scopes.truncate(1);
                self.depth = 0;
                self.recover();
                if self.at == before {
                    self.bump();
                }
            }
        }
    }

    fn item(&mut self) -> Result<(), Stop> {
        let span = self.span();
        if self.peek().kind == Kind::Pragma {
            self.bump();
            return Ok(());
        }
        if self.is("extern") && self.ahead(1).kind == Kind::String && self.ahead(2).is("{") {
            return self.linkage();
        }
        if self.is("namespace") {
            let problem = Problem::new(span, "namespaces aren't built");
            return self.fail(problem.help("delete it, and what closes it"));
        }
        if self.is("using") || self.is("static_assert") {
            let kind = if self.is("using") { self.using()? } else { self.static_assert()? };
            self.items.push(Item::Statement(Statement { kind, span }));
            return Ok(());
        }
        if self.is("template") && !self.ahead(1).is("<") {
            return self.instance();
        }
        if self.is("template") {
            return self.template();
        }
        self.declared(Vec::new(), false)
    }

    /// `extern "C" { … }`
    fn linkage(&mut self) -> Parsed<()> {
        self.bump();
        self.bump();
        self.bump();
        while !self.is("}") && !self.ended() {
            if self.accept(";") {
                continue;
            }
            self.declared(Vec::new(), true)?;
        }
        self.expect("}", "behind the functions")
    }

    fn declared(&mut self, template: Vec<TemplateParameter>, extern_c: bool) -> Parsed<()> {
        let span = self.span();
        let mut specifiers = self.specifiers()?;
        specifiers.attributes.extern_c |= extern_c;
        if self.is(";") {
            let kind = self.declaration(specifiers, None)?;
            self.items.push(Item::Statement(Statement { kind, span }));
            return Ok(());
        }
        let declarator = self.declarator(&specifiers.ty)?;
        let attributes = specifiers.attributes;
        // A variable with an initial value in brackets would look the same; kernels have none.
        if self.is("(") && !attributes.shared && !attributes.constant {
            let is = if template.is_empty() { Name::Value } else { Name::Template };
            if self.name(&declarator.name) != Some(Name::Template) {
                let scope = &mut self.scopes[0];
                scope.insert(declarator.name.clone(), is);
            }
            let function = self.function(specifiers, declarator, template)?;
            self.items.push(Item::Function(function));
            return Ok(());
        }
        if !template.is_empty() {
            let problem = Problem::new(span, "only functions may be templates");
            return self.fail(problem.help("write the type out"));
        }
        let kind = self.declaration(specifiers, Some(declarator))?;
        self.items.push(Item::Statement(Statement { kind, span }));
        Ok(())
    }

    /// `template <typename T, int N = 4> …`
    fn template(&mut self) -> Parsed<()> {
        self.bump();
        self.scoped(|parser| {
            parser.expect("<", "behind `template`")?;
            let mut parameters = Vec::new();
            while !parser.is(">") && !parser.ended() {
                if parser.is("template") || parser.ahead(1).is("...") {
                    let problem = Problem::new(parser.span(), "this kind of template isn't built");
                    return parser
                        .fail(problem.help("parameters of templates are types and integers"));
                }
                if parser.is("typename") || parser.is("class") {
                    parser.bump();
                    let (name, _) = parser.word("the parameter's name")?;
                    parser.declare(&name, Name::Type);
                    let default = if parser.accept("=") {
                        Some(TemplateArgument::Type(parser.type_name()?))
                    } else {
                        None
                    };
                    parameters.push(TemplateParameter { name, value: None, default });
                } else {
                    let specifiers = parser.specifiers()?;
                    let (name, _) = parser.word("the parameter's name")?;
                    parser.declare(&name, Name::Value);
                    let default = if parser.accept("=") {
                        Some(TemplateArgument::Value(Rc::new(parser.additive()?)))
                    } else {
                        None
                    };
                    parameters.push(TemplateParameter {
                        name,
                        value: Some(specifiers.ty),
                        default,
                    });
                }
                if !parser.accept(",") {
                    break;
                }
            }
            parser.expect_greater()?;
            if parameters.is_empty() {
                // An explicit specialisation or instantiation.
                let problem = Problem::new(parser.last(), "specialised templates aren't built");
                return parser
                    .fail(problem.help("use `if constexpr` in the template, or overloads"));
            }
            if parser.is("struct") || parser.is("class") {
                return parser.fail(
                    Problem::new(parser.span(), "templates of structs aren't built")
                        .help("write one struct for each type, or a template of a function"),
                );
            }
            parser.declared(parameters, false)
        })
    }

    /// `template __global__ void name<float>(float *);`
    fn instance(&mut self) -> Parsed<()> {
        self.bump();
        let specifiers = self.specifiers()?;
        if self.is(";") || self.is("{") {
            let problem = Problem::new(self.span(), "templates of structs aren't built");
            return self.fail(problem.help("delete it"));
        }
        let mut depth = 0;
        while self.is("*") || self.is("&") {
            self.bump();
        }
        let (name, span) = self.word("the name of a template")?;
        let arguments = if self.is("<") { self.template_arguments()? } else { Vec::new() };
        while !self.ended() && (depth > 0 || !self.is(";")) {
            depth += i32::from(self.is("(")) - i32::from(self.is(")"));
            self.bump();
        }
        self.expect(";", "behind the parameters")?;
        if specifiers.attributes.global && arguments.is_empty() {
            let problem =
                Problem::new(span, format!("of which types `{name}` is wanted isn't said"));
            return self.fail(problem.help(format!("write `{name}<float>(…)`, with its types")));
        }
        self.items.push(Item::Instance(Instance { name, arguments, span, by_host: false }));
        Ok(())
    }

    /// `name`, `&name`, `name<float, 4>`: what the host calls a kernel or a variable.
    pub(super) fn name_expression(&mut self) -> Parsed<()> {
        self.accept("&");
        self.accept("::");
        let (name, span) = self.word("the name of a kernel")?;
        let arguments = if self.is("<") { self.template_arguments()? } else { Vec::new() };
        if !self.ended() {
            let problem = Problem::new(self.span(), "this isn't the name of a kernel");
            return self.fail(problem.help("write `name`, or `name<float, 16>` of a template"));
        }
        self.items.push(Item::Instance(Instance { name, arguments, span, by_host: true }));
        Ok(())
    }

    /// `using name = T;`
    pub(super) fn using(&mut self) -> Parsed<StatementKind> {
        self.bump();
        if self.is("namespace") {
            while !self.is(";") && !self.ended() {
                self.bump();
            }
            self.expect(";", "behind the namespace")?;
            return Ok(StatementKind::Empty);
        }
        let (name, _) = self.word("a name")?;
        self.expect("=", "behind the name")?;
        let ty = self.type_name()?;
        self.expect(";", "behind the type")?;
        self.declare(&name, Name::Type);
        Ok(StatementKind::Alias(name, ty))
    }

    pub(super) fn static_assert(&mut self) -> Parsed<StatementKind> {
        self.bump();
        self.expect("(", "behind static_assert")?;
        let condition = self.assignment()?;
        let mut text = None;
        if self.accept(",") {
            let token = self.bump();
            text = Some(self.bytes(&token)?);
        }
        self.expect(")", "behind the condition")?;
        self.expect(";", "behind static_assert")?;
        Ok(StatementKind::StaticAssert(condition, text))
    }
}
