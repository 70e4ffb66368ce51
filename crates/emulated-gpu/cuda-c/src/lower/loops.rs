//! Loops. The condition is tested once before the loop, and then at the end of each iteration, so
//! that an iteration has only one branch.

use super::{Lowered, Lowerer};
use crate::ir::{BlockId, Unrolling};
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, Loop, Unroll};

impl Lowerer<'_> {
    pub(super) fn lower_loop(&mut self, own: &Loop, span: Span) -> Lowered<()> {
        if let Some(init) = &own.init {
            self.statement(init)?;
        }
        self.set_place(span);
        let unrolling = match &own.unroll {
            Unroll::Unspecified => None,
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
        // A condition that calls a function is emitted only once, before the body.
        let once = own.condition.as_ref().filter(|condition| calls(condition) && !own.body_first);
        if let Some(condition) = once {
            let test = self.builder.new_block();
            self.builder.jump(test);
            self.builder.at = test;
            self.loop_condition(condition, body, exit)?;
            self.loop_body(own, body, next, exit)?;
            self.builder.jump(test);
            self.builder.at = exit;
            return Ok(());
        }
        match &own.condition {
            Some(condition) if !own.body_first => self.loop_condition(condition, body, exit)?,
            _ => self.builder.jump(body),
        }
        self.loop_body(own, body, next, exit)?;
        match &own.condition {
            Some(condition) => self.loop_condition(condition, body, exit)?,
            None => self.builder.jump(body),
        }
        self.builder.at = exit;
        Ok(())
    }

    fn loop_condition(&mut self, condition: &Expr, body: BlockId, exit: BlockId) -> Lowered<()> {
        self.set_place(condition.span);
        let truth = self.condition(condition)?;
        self.builder.branch(truth, body, exit);
        Ok(())
    }

    /// Lowers the body and the step.
    fn loop_body(
        &mut self,
        own: &Loop,
        body: BlockId,
        next: BlockId,
        exit: BlockId,
    ) -> Lowered<()> {
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
            self.set_place(step.span);
            self.operand(step)?;
        }
        result
    }
}

/// Whether an expression contains a call.
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
        ExprKind::Construct(_, arguments) => arguments.iter().any(calls),
        _ => false,
    }
}
