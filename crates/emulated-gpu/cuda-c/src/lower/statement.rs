//! Lowering of statements.

use std::rc::Rc;

use super::{Lowered, Lowerer, Stop, Symbol, Typed};
use crate::diagnostic::Problem;
use crate::ir::{BlockId, Compare, CompareKind, Terminator};
use crate::source::Span;
use crate::syntax::{Case, Expr, Statement, StatementKind};
use crate::types::{Scalar, Type};

impl Lowerer<'_> {
    /// Lowers all statements. An error in one doesn't prevent the next from being checked.
    pub(super) fn statements(&mut self, statements: &[Statement]) -> Lowered<()> {
        let mut result = Ok(());
        for statement in statements {
            if self.statement(statement).is_err() {
                result = Err(Stop);
                if self.problems.too_many() {
                    break;
                }
            }
        }
        result
    }

    pub(super) fn statement(&mut self, statement: &Statement) -> Lowered<()> {
        self.one_level_deeper(statement.span, |lowerer| lowerer.statement_inner(statement))
    }

    fn statement_inner(&mut self, statement: &Statement) -> Lowered<()> {
        self.set_place(statement.span);
        match &statement.kind {
            StatementKind::Expression(value) => {
                self.operand(value)?;
                Ok(())
            }
            StatementKind::Variables(variables) => self.local_variables(variables),
            StatementKind::Aliases(aliases) => {
                for (name, ty) in aliases {
                    let ty = self.plain_type(ty, statement.span)?;
                    self.bind(name, Symbol::Alias(ty));
                }
                Ok(())
            }
            StatementKind::Type(ty) => {
                if let crate::syntax::TypeExpr::Named(name, _) = ty {
                    // `struct name;` is only a declaration.
                    if self.lookup(name).is_none() {
                        return Ok(());
                    }
                }
                let (ty, _) = self.resolve(ty, statement.span)?;
                self.bind_unnamed_union(&ty.ty);
                Ok(())
            }
            StatementKind::Block(statements) => {
                self.scoped(|lowerer| lowerer.statements(statements))
            }
            StatementKind::If { condition, yes, no, is_constexpr } => {
                if *is_constexpr {
                    let (_, bits) = self.constant(condition, "the condition of `if constexpr`")?;
                    return match (bits, no) {
                        (0, None) => Ok(()),
                        (0, Some(no)) => self.scoped(|lowerer| lowerer.statement(no)),
                        _ => self.scoped(|lowerer| lowerer.statement(yes)),
                    };
                }
                self.conditional(condition, yes, no.as_deref())
            }
            StatementKind::Loop(own) => {
                self.scoped(|lowerer| lowerer.lower_loop(own, statement.span))
            }
            StatementKind::Switch(value, body) => self.switch(value, body),
            StatementKind::Case(case) => self.case(case, statement.span),
            StatementKind::Break => {
                let to = self.frames.last().and_then(|frame| frame.breaks.last().copied());
                self.break_or_continue(to, statement.span, "break")
            }
            StatementKind::Continue => {
                let to = self.frames.last().and_then(|frame| frame.continues.last().copied());
                self.break_or_continue(to, statement.span, "continue")
            }
            StatementKind::Return(value) => self.lower_return(value.as_ref(), statement.span),
            StatementKind::Goto(label) => {
                let (block, _) = self.label(label, statement.span);
                self.builder.jump(block);
                self.builder.at = self.builder.new_block();
                Ok(())
            }
            StatementKind::Label(label) => {
                let (block, defined) = self.label(label, statement.span);
                if defined {
                    let message = format!("there are two labels `{label}`");
                    return self.error(statement.span, message, "rename one");
                }
                if let Some(frame) = self.frames.last_mut() {
                    frame.labels.insert(label.clone(), (block, true, statement.span));
                }
                self.builder.jump(block);
                self.builder.at = block;
                Ok(())
            }
            StatementKind::Asm(asm) => self.asm(asm, statement.span),
            StatementKind::StaticAssert(condition, text) => {
                let (_, bits) = self.constant(condition, "a static assertion")?;
                if bits != 0 {
                    return Ok(());
                }
                let text = text.as_ref().map(|text| String::from_utf8_lossy(text).into_owned());
                let message = text.unwrap_or_else(|| "a static assertion doesn't hold".into());
                self.error(condition.span, message, "")
            }
            StatementKind::Empty => Ok(()),
        }
    }

    /// The members of an anonymous union in a function are bound like local variables.
    fn bind_unnamed_union(&mut self, ty: &Type) {
        let Type::Struct(own) = ty else { return };
        let is_union = own.declaration.as_ref().is_some_and(|own| own.is_union);
        if !is_union || !crate::syntax::is_unnamed(&own.name) || self.frames.is_empty() {
            return;
        }
        let address = self.temporary(ty);
        for field in &own.fields {
            let place = super::Lvalue { ty: field.ty.clone(), address };
            self.bind(&field.name, Symbol::Variable(place));
        }
    }

    fn break_or_continue(&mut self, to: Option<BlockId>, span: Span, word: &str) -> Lowered<()> {
        let Some(to) = to else {
            let message = format!("`{word}` outside of a loop");
            return self.error(span, message, "use `return`, or an `if`");
        };
        self.builder.jump(to);
        self.builder.at = self.builder.new_block();
        Ok(())
    }

    fn label(&mut self, label: &Rc<str>, span: Span) -> (BlockId, bool) {
        let known = self.frames.last().and_then(|frame| frame.labels.get(label).copied());
        if let Some((block, defined, _)) = known {
            return (block, defined);
        }
        let block = self.builder.new_block();
        if let Some(frame) = self.frames.last_mut() {
            frame.labels.insert(label.clone(), (block, false, span));
        }
        (block, false)
    }

    fn conditional(
        &mut self,
        condition: &Expr,
        yes: &Statement,
        no: Option<&Statement>,
    ) -> Lowered<()> {
        self.check_condition(condition);
        let truth = self.condition(condition)?;
        let (first, join) = (self.builder.new_block(), self.builder.new_block());
        let second = if no.is_some() { self.builder.new_block() } else { join };
        self.builder.branch(truth, first, second);
        self.builder.at = first;
        let mut result = self.scoped(|lowerer| lowerer.statement(yes));
        self.builder.jump(join);
        if let Some(no) = no {
            self.builder.at = second;
            result = self.scoped(|lowerer| lowerer.statement(no)).and(result);
            self.builder.jump(join);
        }
        self.builder.at = join;
        result
    }

    fn lower_return(&mut self, value: Option<&Expr>, span: Span) -> Lowered<()> {
        let Some(frame) = self.frames.last() else { return Err(Stop) };
        let (result, slot, exit) = (frame.result.clone(), frame.slot, frame.exit);
        let (name, reference) = (frame.name.clone(), frame.returns_reference);
        match value {
            Some(value) if reference => {
                let place = self.place(value, "a returned reference")?;
                if let Some(slot) = slot {
                    self.builder.store(crate::ir::Memory::B64, false, slot, place.address);
                }
            }
            Some(value) => {
                if result.ty == Type::Void {
                    let typed = self.rvalue(value)?;
                    if typed.ty != Type::Void {
                        let message = format!("`{name}` returns nothing, and a value is given");
                        let help = "write `return;`, or give the function a type";
                        return self.error(value.span, message, help);
                    }
                } else if let Some(slot) = slot {
                    let place = super::Lvalue { ty: result, address: slot };
                    self.initialise(&place, value)?;
                }
            }
            None if result.ty != Type::Void => {
                let message =
                    format!("`{name}` returns `{}`, and nothing is given", result.ty.name());
                return self.error(span, message, "write `return value;`");
            }
            None => {}
        }
        self.builder.jump(exit);
        self.builder.at = self.builder.new_block();
        Ok(())
    }

    /// Lowers a `switch`: first the comparisons, one after the other, and then the body.
    fn switch(&mut self, value: &Expr, body: &Statement) -> Lowered<()> {
        let typed = self.rvalue(value)?;
        let typed = self.as_number(typed, value.span)?;
        let Some(scalar) = typed.ty.scalar().filter(|scalar| scalar.is_integer()) else {
            let message = format!("`switch` is over an integer, and this is `{}`", typed.ty.name());
            return self.error(value.span, message, "use `if` and `else if`");
        };
        let promoted = scalar.promoted();
        let selector = self.scalar_to_scalar(typed.value, scalar, promoted);
        let (start, exit) = (self.builder.at, self.builder.new_block());
        // Statements before the first case are unreachable.
        self.builder.at = self.builder.new_block();
        if let Some(frame) = self.frames.last_mut() {
            frame.breaks.push(exit);
            frame.cases.push(Vec::new());
            frame.switch_types.push(Type::Scalar(promoted));
        }
        let result = self.scoped(|lowerer| lowerer.statement(body));
        self.builder.jump(exit);
        let mut cases = Vec::new();
        if let Some(frame) = self.frames.last_mut() {
            frame.breaks.pop();
            frame.switch_types.pop();
            cases = frame.cases.pop().unwrap_or_default();
        }
        self.builder.at = start;
        let mut default = exit;
        for (number, block) in cases {
            let Some(number) = number else {
                default = block;
                continue;
            };
            let ty = self.builder.ty(selector);
            let number = self.builder.function.constant(ty, number);
            let same = self.builder.compare(Compare::Eq, CompareKind::Signed, selector, number);
            let next = self.builder.new_block();
            self.builder.branch(same, block, next);
            self.builder.at = next;
        }
        self.builder.jump(default);
        self.builder.at = exit;
        result
    }

    fn case(&mut self, case: &Case, span: Span) -> Lowered<()> {
        let ty = self.frames.last().and_then(|frame| frame.switch_types.last().cloned());
        let Some(ty) = ty else {
            return self.error(span, "a case outside of `switch`", "");
        };
        let number = match case {
            Case::Value(value) => {
                let (from, bits) = self.constant(value, "a case")?;
                let value = self.builder.function.constant(super::convert::ty_of(&from), bits);
                let scalar = ty.scalar().unwrap_or(Scalar::Int);
                let from = from.scalar().unwrap_or(Scalar::Int);
                let value = self.scalar_to_scalar(value, from, scalar);
                self.builder.function.constant_of(value)
            }
            Case::Default => None,
        };
        let block = self.builder.new_block();
        self.builder.jump(block);
        self.builder.at = block;
        let mut twice = false;
        if let Some(cases) = self.frames.last_mut().and_then(|frame| frame.cases.last_mut()) {
            twice = cases.iter().any(|(other, _)| *other == number);
            cases.push((number, block));
        }
        if twice {
            return self.error(span, "this case comes twice", "delete one");
        }
        Ok(())
    }

    /// Reports labels that are the target of a `goto`, but not defined.
    pub(super) fn check_labels(&mut self) {
        let Some(frame) = self.frames.last() else { return };
        let missing: Vec<(Rc<str>, Span)> = frame
            .labels
            .iter()
            .filter(|(_, (_, defined, _))| !defined)
            .map(|(name, (_, _, span))| (name.clone(), *span))
            .collect();
        for (name, span) in missing {
            let problem = Problem::new(span, format!("there is no label `{name}`"));
            self.problems.push(problem.help(format!("write `{name}:` where it jumps to")));
        }
    }

    /// Ends the block: the code after it is unreachable.
    pub(super) fn unreachable(&mut self) {
        self.builder.end(Terminator::Unreachable);
        self.builder.at = self.builder.new_block();
    }

    pub(super) fn void(&mut self) -> Typed {
        let value = self.builder.integer(crate::ir::Ty::I32, 0);
        Typed { ty: Type::Void, value }
    }
}
