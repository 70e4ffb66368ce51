//! What instructions do that copy while a thread goes on, and the barrier objects that tell when they
//! have (PTX ISA, "Asynchronous Operations" and "mbarrier").

use super::operand::{Address, Destination, Operand, Read, Written, base};
use super::types::{Space, Type};

/// An asynchronous copy, or an instruction on a barrier object.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    missing_docs,
    reason = "fields are named as the ISA names them: d destination, a b c sources"
)]
pub enum Asynchronous {
    /// `cp.async`: `copy` bytes to shared memory, of which the first `source` are read.
    Copy {
        to: Address,
        from: Address,
        copy: u32,
        source: Option<Operand>,
        ignore_source: Option<Operand>,
    },
    /// `cp.async.commit_group`, and that of `cp.async.bulk`.
    Commit { bulk: bool },
    /// `cp.async.wait_group N`; `None` for `wait_all`.
    Wait { pending: Option<u32> },
    /// `cp.async.bulk.wait_group N`; with `.read` the sources have been read, and no more.
    WaitBulk { pending: u32, read: bool },
    /// `cp.async.bulk`: this many bytes to another space. Whoever copies to shared memory names a barrier
    /// object, which takes them as transactions; the others go into the thread's bulk group.
    Bulk { to: (Space, Address), from: (Space, Address), bytes: Operand, barrier: Option<Address> },
    /// An instruction on a barrier object, in shared or generic space.
    Barrier { action: ObjectAction, space: Space, address: Address },
    /// `mbarrier.pending_count`
    PendingCount { d: Destination, a: Operand },
}

/// What is done to a barrier object.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    missing_docs,
    reason = "fields are named as the ISA names them: d destination, a b c sources"
)]
pub enum ObjectAction {
    /// `mbarrier.init`: this many arrivals in each phase.
    Initialise { count: Operand },
    /// `mbarrier.inval`
    Invalidate,
    /// `mbarrier.arrive` and `mbarrier.arrive_drop`.
    Arrive {
        /// The phases that follow expect this many fewer.
        drop: bool,
        /// `.noComplete`: it does not end the phase.
        incomplete: bool,
        /// What the thread did before is known to who waits: `.release`, not `.relaxed`.
        releases: bool,
        /// `None` for one.
        count: Option<Operand>,
        /// `.expect_tx`: transactions that are expected besides.
        expected: Option<Operand>,
        d: Destination,
    },
    /// `mbarrier.expect_tx`
    Expect { transactions: Operand },
    /// `mbarrier.complete_tx`
    Complete { transactions: Operand },
    /// `mbarrier.test_wait` and `mbarrier.try_wait`: whether a phase is over, that of a state or that
    /// of a parity.
    Test {
        acquires: bool,
        parity: bool,
        phase: Operand,
        /// How long a thread may be suspended.
        hint: Option<Operand>,
        d: Destination,
    },
    /// `cp.async.mbarrier.arrive`: the thread's copies arrive when they are there. With `.noinc` that
    /// arrival is one of those that were expected at first.
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
