//! Detection of functions that may end without returning a value.

use std::rc::Rc;

use crate::diagnostic::{Problem, Problems};
use crate::syntax::{
    Case, Expr, ExprKind, Function, Item, Loop, Statement, StatementKind, TypeExpr,
};

/// Warns of functions that may end without returning a value; those in the file `library` are skipped.
pub(crate) fn check(items: &[Item], library: u32, problems: &mut Problems) {
    for item in items {
        let functions = match item {
            Item::Function(function) => std::slice::from_ref(function),
            Item::StructTemplate(template) => {
                template.declaration.as_ref().map_or(&[][..], |own| &own.methods)
            }
            Item::Statement(Statement {
                kind: StatementKind::Type(TypeExpr::Struct(own)), ..
            }) => &own.methods,
            _ => &[],
        };
        for function in functions {
            check_function_end(function, library, problems);
        }
    }
}

fn check_function_end(function: &Rc<Function>, library: u32, problems: &mut Problems) {
    let returns = !matches!(function.result, TypeExpr::Void) && !function.attributes.global;
    let Some(body) = &function.body else { return };
    if !returns || function.span.file == library || !falls_through(body) {
        return;
    }
    let message = format!("`{}` may end without returning a value", function.name);
    let problem = Problem::warning(function.end, message)
        .label("nothing is returned here")
        .help("write `return value;` at its end, too");
    problems.push(problem);
}

/// Whether control can reach the end of some statements.
fn falls_through(statements: &[Statement]) -> bool {
    let mut reached = true;
    for statement in statements {
        // The target of a jump is reachable.
        reached |= matches!(statement.kind, StatementKind::Label(_) | StatementKind::Case(_));
        reached = reached && passes(statement);
    }
    reached
}

/// Whether control can pass a statement.
fn passes(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Return(_)
        | StatementKind::Goto(_)
        | StatementKind::Break
        | StatementKind::Continue => false,
        StatementKind::Expression(value) => !traps(value),
        StatementKind::Block(statements) => falls_through(statements),
        // The condition of `if constexpr` depends on the template arguments, so both branches
        // count.
        StatementKind::If { yes, no: None, is_constexpr, .. } => !is_constexpr || passes(yes),
        StatementKind::If { yes, no: Some(no), .. } => passes(yes) || passes(no),
        StatementKind::Loop(own) => !never_ends(own) || has_break(&own.body),
        StatementKind::Switch(_, body) => !all_cases(body) || passes(body) || has_break(body),
        _ => true,
    }
}

fn traps(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Call(callee, _) => {
            matches!(&callee.kind, ExprKind::Name(name, _) if matches!(&**name, "__trap" | "__assert_fail"))
        }
        _ => false,
    }
}

fn never_ends(own: &Loop) -> bool {
    own.condition.as_ref().is_none_or(|condition| {
        matches!(condition.kind, ExprKind::Bool(true) | ExprKind::Integer(1.., _))
    })
}

/// Whether a `switch` has a case for every value.
fn all_cases(body: &Statement) -> bool {
    match &body.kind {
        StatementKind::Case(Case::Default) => true,
        StatementKind::Block(statements) => statements.iter().any(all_cases),
        _ => false,
    }
}

/// Whether a `break` leaves the loop or `switch` with this body.
fn has_break(body: &Statement) -> bool {
    match &body.kind {
        StatementKind::Break => true,
        StatementKind::Block(statements) => statements.iter().any(has_break),
        StatementKind::If { yes, no, .. } => has_break(yes) || no.as_deref().is_some_and(has_break),
        _ => false,
    }
}
