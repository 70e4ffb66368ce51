//! Lowering of asynchronous copies and barrier objects.

use super::Lowering;
use crate::engine::asynchronous::{AsynchronousStep, Bulk, ObjectOperation, pending_count};
use crate::engine::code::Action;
use crate::engine::copy_async::CopyAsync;
use crate::program::{Address, Asynchronous, ObjectAction, Operand, Space, Type};

impl Lowering<'_> {
    pub(super) fn asynchronous(&mut self, asynchronous: &Asynchronous) {
        let step = match asynchronous {
            Asynchronous::Copy { to, from, copy, source, ignore_source } => {
                let to = self.access(Space::Shared, *to, Type::B8);
                let from = self.access(Space::Global, *from, Type::B8);
                let source = source.map(|source| self.operand(source, Type::U32));
                let ignore = ignore_source.map(|ignore| (self.operand(ignore, Type::Pred), false));
                AsynchronousStep::Copy(CopyAsync { to, from, copy: *copy, source, ignore })
            }
            Asynchronous::Commit { bulk } => AsynchronousStep::Commit { bulk: *bulk },
            Asynchronous::Wait { pending } => {
                AsynchronousStep::Wait { pending: *pending, bulk: false }
            }
            // Copies are performed at once, so `.read` makes no difference.
            Asynchronous::WaitBulk { pending, .. } => {
                AsynchronousStep::Wait { pending: Some(*pending), bulk: true }
            }
            Asynchronous::Bulk { to, from, bytes, barrier } => AsynchronousStep::Bulk(Bulk {
                to: self.access(to.0, to.1, Type::B8),
                from: self.access(from.0, from.1, Type::B8),
                bytes: self.operand(*bytes, Type::U32),
                object: barrier.map(|barrier| self.access(Space::Shared, barrier, Type::B64)),
            }),
            Asynchronous::Barrier { action, space, address } => {
                self.object(action, *space, *address)
            }
            Asynchronous::PendingCount { d, a } => {
                let (d, a) = (self.destination(*d, Type::U32), self.operand(*a, Type::B64));
                self.lanes1(d, a, pending_count);
                return;
            }
        };
        self.emit(Action::Asynchronous(Box::new(step)));
    }

    fn object(
        &mut self,
        action: &ObjectAction,
        space: Space,
        address: Address,
    ) -> AsynchronousStep {
        let access = self.access(space, address, Type::B64);
        let mut count = |operand: Operand| self.operand(operand, Type::U32);
        let action = match action {
            ObjectAction::Initialise { count: a } => {
                ObjectOperation::Initialise { count: count(*a) }
            }
            ObjectAction::Invalidate => ObjectOperation::Invalidate,
            ObjectAction::Arrive { drop, incomplete, releases, count: a, expected, d } => {
                ObjectOperation::Arrive {
                    drop: *drop,
                    incomplete: *incomplete,
                    releases: *releases,
                    count: a.map(&mut count),
                    expected: expected.map(count),
                    d: self.destination(*d, Type::B64),
                }
            }
            ObjectAction::Expect { transactions } => {
                ObjectOperation::Transact { count: count(*transactions), completed: false }
            }
            ObjectAction::Complete { transactions } => {
                ObjectOperation::Transact { count: count(*transactions), completed: true }
            }
            ObjectAction::Test { acquires, parity, phase, d, .. } => {
                let ty = if *parity { Type::U32 } else { Type::B64 };
                ObjectOperation::Test {
                    acquires: *acquires,
                    parity: *parity,
                    phase: self.operand(*phase, ty),
                    d: self.destination(*d, Type::Pred),
                }
            }
            ObjectAction::CopiesArrive { counted } => {
                ObjectOperation::CopiesArrive { counted: *counted }
            }
        };
        AsynchronousStep::Object { access, action }
    }
}
