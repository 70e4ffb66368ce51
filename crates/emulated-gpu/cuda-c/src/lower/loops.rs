//! Loops. The condition is asked once before the loop and again at the end of each iteration, so
//! that an iteration has one branch.

use super::{Lowered, Lowerer};
use crate::ir::{BlockId, Unrolling};
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, Loop, Unroll};

impl Lowerer<'_> {
    pub(super) fn repeat(&mut self, own: &Loop, span: Span) -> Lowered<()> {
        if let Some(init) = &own.init {
            self.statement(init)?;
        }
        self.stand(span);
        let unrolling = match &own.unroll {
            Unroll::Unsaid => None,
            Unroll::Full => Some(Unrolling::Full),
            Unroll::By(count) => {
                let (_, bits) = self.constant(count, "the count of `#pragma unroll`")?;
                Some(Unrolling::By(u32::try_from(bits).unwrap_or(u32::MAX)))
            }
        };
        let (body, next, exit) =
            (self.builder.new_block(), self.builder.new_block(), self.builder.new_block());
        if let Some(unrolling) = unrolling {
            self.builder.function.unrolling.insert(body, unrolling);
        }
        // A condition that calls something stands once, before the body.
        let once = own.condition.as_ref().filter(|condition| calls(condition) && !own.body_first);
        if let Some(condition) = once {
            let ask = self.builder.new_block();
            self.builder.jump(ask);
            self.builder.at = ask;
            self.ask(condition, body, exit)?;
            self.run(own, body, next, exit)?;
            self.builder.jump(ask);
            self.builder.at = exit;
            return Ok(());
        }
        match &own.condition {
            Some(condition) if !own.body_first => self.ask(condition, body, exit)?,
            _ => self.builder.jump(body),
        }
        self.run(own, body, next, exit)?;
        match &own.condition {
            Some(condition) => self.ask(condition, body, exit)?,
            None => self.builder.jump(body),
        }
        self.builder.at = exit;
        Ok(())
    }

    fn ask(&mut self, condition: &Expr, body: BlockId, exit: BlockId) -> Lowered<()> {
        self.stand(condition.span);
        let asked = self.rvalue(condition)?;
        let asked = self.truth(&asked, condition.span)?;
        self.builder.branch(asked, body, exit);
        Ok(())
    }

    /// The body and the step.
    fn run(&mut self, own: &Loop, body: BlockId, next: BlockId, exit: BlockId) -> Lowered<()> {
        self.builder.at = body;
        if let Some(frame) = self.frames.last_mut() {
            frame.breaks.push(exit);
            frame.continues.push(next);
        }
        let result = self.scoped(|lowerer| lowerer.statement(&own.body));
        if let Some(frame) = self.frames.last_mut() {
            frame.breaks.pop();
            frame.continues.pop();
        }
        self.builder.jump(next);
        self.builder.at = next;
        if let Some(step) = &own.step {
            self.stand(step.span);
            self.any(step)?;
        }
        result
    }
}

/// Whether a call is somewhere in an expression.
fn calls(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(..) => true,
        ExprKind::Unary(_, a) | ExprKind::Cast(_, _, a) => calls(a),
        ExprKind::Member { base, .. } => calls(base),
        ExprKind::Binary(_, a, b)
        | ExprKind::Assign(_, a, b)
        | ExprKind::Comma(a, b)
        | ExprKind::Index(a, b) => calls(a) || calls(b),
        ExprKind::Conditional(a, b, c) => calls(a) || calls(b) || calls(c),
        ExprKind::Construct(_, many) => many.iter().any(calls),
        _ => false,
    }
}
