//! Warnings about likely mistakes in kernels: indices without a bounds check, barriers in branches,
//! and shared memory that is read without a barrier after it was written.
//!
//! These are heuristics that only look at the syntax, so they are warnings, and they stay silent if
//! the kernel could be right.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::rc::Rc;

use crate::diagnostic::{Problem, Problems};
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, Function, Statement, StatementKind, TypeExpr, Unary};

/// The state of the checks while they walk through a kernel.
struct Checker<'a> {
    problems: &'a mut Problems,
    /// Variables whose value depends on the thread index.
    thread_dependent: HashSet<Rc<str>>,
    pointers: HashSet<Rc<str>>,
    /// Whether the current statement is inside a condition that depends on the thread index.
    guarded: bool,
    unguarded: Option<Span>,
    /// The number of enclosing conditions that depend on the thread index.
    branches: usize,
    shared_arrays: HashSet<Rc<str>>,
    /// The shared arrays that were written since the last barrier, each with the index that was
    /// written.
    written_arrays: HashMap<Rc<str>, String>,
    warned: bool,
}

/// Checks a kernel.
pub(crate) fn check_function(function: &Function, problems: &mut Problems) {
    let is_pointer = |ty: &TypeExpr| matches!(ty, TypeExpr::Pointer(_));
    let pointers = function.parameters.iter().filter(|parameter| is_pointer(&parameter.ty));
    // Without a length among the parameters, there is nothing to compare an index with.
    let has_length = function.parameters.iter().any(|parameter| !is_pointer(&parameter.ty));
    let mut checker = Checker {
        problems,
        thread_dependent: HashSet::default(),
        pointers: pointers.map(|pointer| pointer.name.clone()).collect(),
        guarded: false,
        unguarded: None,
        branches: 0,
        shared_arrays: HashSet::default(),
        written_arrays: HashMap::default(),
        warned: false,
    };
    checker.statements(function.body.as_deref().unwrap_or_default());
    if let (Some(span), false, true) = (checker.unguarded, checker.guarded, has_length) {
        checker.problems.push(
            Problem::warning(
                span,
                "this index depends on the thread, but isn't compared with a length",
            )
            .label("threads beyond the end write here too")
            .help("return first if the index is too large: `if (i >= n) return;`"),
        );
    }
}

impl Checker<'_> {
    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Expression(value) => self.expr(value),
            StatementKind::Variables(variables) => {
                for variable in variables {
                    if variable.attributes.shared {
                        self.shared_arrays.insert(variable.name.clone());
                    }
                    if let Some(init) = &variable.init {
                        self.expr(init);
                        if self.depends_on_thread(init) {
                            self.thread_dependent.insert(variable.name.clone());
                        }
                    }
                }
            }
            StatementKind::Block(inner) => self.statements(inner),
            StatementKind::If { condition, yes, no, .. } => {
                self.expr(condition);
                let own = self.depends_on_thread(condition);
                self.guarded |= own;
                self.branches += usize::from(own);
                self.statement(yes);
                if let Some(no) = no {
                    self.statement(no);
                }
                self.branches -= usize::from(own);
            }
            StatementKind::Loop(own) => {
                if let Some(init) = &own.init {
                    self.statement(init);
                }
                if let Some(condition) = &own.condition {
                    self.expr(condition);
                    self.guarded |= self.depends_on_thread(condition);
                }
                self.statement(&own.body);
                if let Some(step) = &own.step {
                    self.expr(step);
                }
            }
            StatementKind::Switch(value, body) => {
                self.expr(value);
                self.guarded |= self.depends_on_thread(value);
                self.statement(body);
            }
            StatementKind::Return(Some(value)) => self.expr(value),
            StatementKind::Asm(_) => self.written_arrays.clear(),
            _ => {}
        }
    }

    /// Whether a value depends on the thread index.
    fn depends_on_thread(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Name(name, _) => {
                &**name == "threadIdx" || self.thread_dependent.contains(name)
            }
            _ => children(expr).into_iter().any(|child| self.depends_on_thread(child)),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Call(callee, arguments) => {
                arguments.iter().for_each(|argument| self.expr(argument));
                if let ExprKind::Name(name, _) = &callee.kind
                    && &**name == "__syncthreads"
                    && self.branches > 0
                {
                    let message = "a thread waits at a barrier that others may not reach";
                    let problem = Problem::warning(expr.span, message)
                        .label("in a branch that depends on the thread")
                        .help("move `__syncthreads()` out of the branch");
                    self.problems.push(problem);
                }
                // Any function may contain a barrier.
                self.written_arrays.clear();
            }
            ExprKind::Assign(operator, left, right) => {
                self.expr(right);
                if operator.is_some() {
                    self.expr(left);
                } else {
                    self.children(left);
                }
                self.index(left);
                if let ExprKind::Name(name, _) = &left.kind
                    && self.depends_on_thread(right)
                {
                    self.thread_dependent.insert(name.clone());
                }
                if let Some(name) = self.shared_array_of(left) {
                    self.written_arrays.insert(name, syntax_key(left));
                }
            }
            ExprKind::Conditional(condition, yes, no) => {
                self.guarded |= self.depends_on_thread(condition);
                [condition, yes, no].into_iter().for_each(|one| self.expr(one));
            }
            ExprKind::Unary(Unary::AddressOf, inner) => self.children(inner),
            ExprKind::Index(..) => {
                self.index(expr);
                self.check_shared_read(expr);
                self.children(expr);
            }
            _ => self.children(expr),
        }
    }

    fn children(&mut self, expr: &Expr) {
        children(expr).into_iter().for_each(|child| self.expr(child));
    }

    /// Records an index into a pointer parameter that depends on the thread.
    fn index(&mut self, expr: &Expr) {
        let ExprKind::Index(base, index) = &expr.kind else { return };
        let ExprKind::Name(name, _) = &base.kind else { return };
        let plain = matches!(index.kind, ExprKind::Name(..) | ExprKind::Binary(..));
        if self.pointers.contains(name)
            && plain
            && self.depends_on_thread(index)
            && self.unguarded.is_none()
        {
            self.unguarded = Some(expr.span);
        }
    }

    fn shared_array_of(&self, expr: &Expr) -> Option<Rc<str>> {
        match &expr.kind {
            ExprKind::Index(base, _) => self.shared_array_of(base),
            ExprKind::Name(name, _) => self.shared_arrays.get(name).cloned(),
            _ => None,
        }
    }

    /// Warns of a read of shared memory at a different index from a write, without a barrier in
    /// between.
    fn check_shared_read(&mut self, expr: &Expr) {
        let Some(name) = self.shared_array_of(expr) else { return };
        let Some(place) = self.written_arrays.get(&name) else { return };
        if !self.warned && *place != syntax_key(expr) && place.contains("threadIdx") {
            self.warned = true;
            let message = format!("`{name}` is read here without a barrier after it was written");
            self.problems.push(
                Problem::warning(expr.span, message)
                    .label("another thread may not have written this yet")
                    .help("write `__syncthreads();` in between"),
            );
        }
    }
}

/// The direct subexpressions of an expression.
fn children(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Unary(_, a) | ExprKind::Cast(_, _, a) | ExprKind::Member { base: a, .. } => {
            vec![a]
        }
        ExprKind::Binary(_, a, b)
        | ExprKind::Assign(_, a, b)
        | ExprKind::Comma(a, b)
        | ExprKind::Index(a, b) => vec![a, b],
        ExprKind::Conditional(a, b, c) => vec![a, b, c],
        ExprKind::Call(_, arguments) | ExprKind::Construct(_, arguments) => {
            arguments.iter().collect()
        }
        ExprKind::List(elements) => elements.iter().map(|(_, element)| element).collect(),
        _ => Vec::new(),
    }
}

/// A text that is the same for two expressions with the same syntax.
fn syntax_key(expr: &Expr) -> String {
    let inner: Vec<String> = children(expr).into_iter().map(syntax_key).collect();
    let own = match &expr.kind {
        ExprKind::Name(name, _) => name.to_string(),
        ExprKind::Integer(number, _) => number.to_string(),
        ExprKind::Member { name, .. } => format!(".{name}"),
        ExprKind::Binary(operator, ..) => operator.text().to_owned(),
        ExprKind::Unary(operator, _) => format!("{operator:?}"),
        ExprKind::Index(..) => "[]".to_owned(),
        _ => "?".to_owned(),
    };
    format!("{own}({})", inner.join(","))
}
