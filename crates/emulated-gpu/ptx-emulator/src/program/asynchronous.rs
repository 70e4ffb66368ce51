//! Asynchronous copies, and the barrier objects that signal their completion (PTX ISA, "Asynchronous
//! Operations" and "mbarrier").

use super::operand::{Address, Destination, Operand, Read, Written, base};
use super::types::{Space, Type};

/// An asynchronous copy, or an instruction on a barrier object.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named as in the ISA: d destination, a b c sources")]
pub enum Asynchronous {
    /// `cp.async`: copies `copy` bytes to shared memory. Only the first `source` bytes are read, the rest is
    /// zero.
    Copy {
        to: Address,
        from: Address,
        copy: u32,
        source: Option<Operand>,
        ignore_source: Option<Operand>,
    },
    /// `cp.async.commit_group` and `cp.async.bulk.commit_group`.
    Commit { bulk: bool },
    /// `cp.async.wait_group N`; `None` for `wait_all`.
    Wait { pending: Option<u32> },
    /// `cp.async.bulk.wait_group N`. With `.read`, it only waits until the sources have been read.
    WaitBulk { pending: u32, read: bool },
    /// `cp.async.bulk`: copies `bytes` bytes to another space. A copy to shared memory has a barrier object,
    /// which counts the bytes as transactions. Other copies join the thread's bulk group.
    Bulk { to: (Space, Address), from: (Space, Address), bytes: Operand, barrier: Option<Address> },
    /// An instruction on a barrier object, in shared or generic space.
    Barrier { action: ObjectAction, space: Space, address: Address },
    /// `mbarrier.pending_count`
    PendingCount { d: Destination, a: Operand },
}

/// An operation on a barrier object.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named as in the ISA: d destination, a b c sources")]
pub enum ObjectAction {
    /// `mbarrier.init`: sets the number of arrivals in each phase.
    Initialise { count: Operand },
    /// `mbarrier.inval`
    Invalidate,
    /// `mbarrier.arrive` and `mbarrier.arrive_drop`.
    Arrive {
        /// Whether later phases expect fewer arrivals, by `count`.
        drop: bool,
        /// `.noComplete`: the arrival does not complete the phase.
        incomplete: bool,
        /// `.release`, not `.relaxed`: waiting threads see the thread's earlier writes.
        releases: bool,
        /// The number of arrivals; `None` for one.
        count: Option<Operand>,
        /// `.expect_tx`: additional transactions that are expected.
        expected: Option<Operand>,
        d: Destination,
    },
    /// `mbarrier.expect_tx`
    Expect { transactions: Operand },
    /// `mbarrier.complete_tx`
    Complete { transactions: Operand },
    /// `mbarrier.test_wait` and `mbarrier.try_wait`: whether the phase of a state or of a parity is complete.
    Test {
        acquires: bool,
        parity: bool,
        phase: Operand,
        /// The time limit for suspending the thread.
        hint: Option<Operand>,
        d: Destination,
    },
    /// `cp.async.mbarrier.arrive`: arrives when the thread's copies are complete. With `.noinc`, the phase already
    /// expects this arrival.
    CopiesArrive { counted: bool },
}

impl Asynchronous {
    /// See [`Op::reads`](super::Op::reads).
    pub(super) fn reads(&self) -> Vec<Read> {
        let one = |a: &Operand, ty: Type| vec![(*a, Some(ty))];
        let maybe = |a: &Option<Operand>, ty: Type| -> Vec<Read> {
            a.iter().map(|&a| (a, Some(ty))).collect()
        };
        match self {
            Self::Copy { to, from, source, ignore_source, .. } => {
                [base(to), base(from), maybe(source, Type::U32), maybe(ignore_source, Type::Pred)]
                    .concat()
            }
            Self::Commit { .. } | Self::Wait { .. } | Self::WaitBulk { .. } => Vec::new(),
            Self::Bulk { to: (_, to), from: (_, from), bytes, barrier } => {
                let barrier = barrier.iter().flat_map(base).collect();
                [base(to), base(from), one(bytes, Type::U32), barrier].concat()
            }
            Self::Barrier { action, address, .. } => [base(address), action.reads()].concat(),
            Self::PendingCount { a, .. } => one(a, Type::B64),
        }
    }

    /// See [`Op::writes`](super::Op::writes).
    pub(super) fn writes(&self) -> Vec<Written> {
        let (d, ty) = match self {
            Self::Barrier { action: ObjectAction::Arrive { d, .. }, .. } => (d, Type::B64),
            Self::Barrier { action: ObjectAction::Test { d, .. }, .. } => (d, Type::Pred),
            Self::PendingCount { d, .. } => (d, Type::U32),
            _ => return Vec::new(),
        };
        d.iter().map(|&register| (register, Some(ty))).collect()
    }
}

impl ObjectAction {
    fn reads(&self) -> Vec<Read> {
        let count = |a: &Operand| vec![(*a, Some(Type::U32))];
        match self {
            Self::Initialise { count: a }
            | Self::Expect { transactions: a }
            | Self::Complete { transactions: a } => count(a),
            Self::Arrive { count: a, expected, .. } => {
                a.iter().chain(expected).flat_map(count).collect()
            }
            Self::Test { parity, phase, hint, .. } => {
                let ty = if *parity { Type::U32 } else { Type::B64 };
                let hint = hint.iter().flat_map(count);
                std::iter::once((*phase, Some(ty))).chain(hint).collect()
            }
            Self::Invalidate | Self::CopiesArrive { .. } => Vec::new(),
        }
    }
}
