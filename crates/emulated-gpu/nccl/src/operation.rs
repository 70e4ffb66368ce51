//! The parameters of an operation that ranks compare, and the description of a mismatch.

use std::sync::atomic::Ordering::Relaxed;

use crate::element::DataType;
use crate::region::Call;

/// The `kind` of a send and of a receive; the kinds of collectives are smaller.
pub(crate) const SEND: u32 = 6;
pub(crate) const RECEIVE: u32 = 7;

/// Describes a call that a rank has published, such as "calls ncclSend of 4 ncclFloat32 to rank 2".
/// `None` if it has published none.
pub(crate) fn describe(call: &Call) -> Option<String> {
    let data_type = DataType::from_number(call.data_type.load(Relaxed) as i32);
    let data_type = data_type.map_or("elements of another type", DataType::name);
    let (count, other) = (call.count.load(Relaxed), call.root.load(Relaxed));
    let (name, to) = match call.kind.load(Relaxed) {
        SEND => ("ncclSend", format!(" to rank {other}")),
        RECEIVE => ("ncclRecv", format!(" from rank {other}")),
        kind => {
            let kind = NcclCollective::from_number(kind)?;
            let rest = match (kind, call.reduction.load(Relaxed)) {
                (NcclCollective::Broadcast, _) => format!(" from rank {other}"),
                (NcclCollective::Reduce, 0) => format!(" to rank {other}"),
                (NcclCollective::Reduce, by) => format!(" to rank {other} by operation {by}"),
                (NcclCollective::AllGather, _) | (_, 0) => String::new(),
                (_, by) => format!(" by operation {by}"),
            };
            (kind.name(), rest)
        }
    };
    Some(format!("calls {name} of {count} {data_type}{to}"))
}

/// The kinds of collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum NcclCollective {
    AllReduce = 1,
    Reduce = 2,
    Broadcast = 3,
    AllGather = 4,
    ReduceScatter = 5,
}

impl NcclCollective {
    /// The name of the exported function.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "ncclAllReduce",
            Self::Reduce => "ncclReduce",
            Self::Broadcast => "ncclBroadcast",
            Self::AllGather => "ncclAllGather",
            Self::ReduceScatter => "ncclReduceScatter",
        }
    }

    fn from_number(number: u32) -> Option<Self> {
        [Self::AllReduce, Self::Reduce, Self::Broadcast, Self::AllGather, Self::ReduceScatter]
            .into_iter()
            .find(|kind| *kind as u32 == number)
    }
}

/// The parameters of a collective that must be the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CollectiveParameters {
    pub(crate) kind: NcclCollective,
    pub(crate) data_type: DataType,
    /// The number of elements, as the exported function counts them.
    pub(crate) count: u64,
    /// The `ncclRedOp_t` number; 5 for every custom reduction.
    pub(crate) reduction: u32,
    pub(crate) root: u32,
}

impl CollectiveParameters {
    /// Publishes the parameters for the other ranks.
    pub(crate) fn publish(&self, call: &Call) {
        call.kind.store(self.kind as u32, Relaxed);
        call.data_type.store(self.data_type as u32, Relaxed);
        call.count.store(self.count, Relaxed);
        call.reduction.store(self.reduction, Relaxed);
        call.root.store(self.root, Relaxed);
    }

    /// How the call of another rank differs, or `None` if it is the same.
    pub(crate) fn difference(&self, call: &Call) -> Option<String> {
        let theirs = call.kind.load(Relaxed);
        if theirs != self.kind as u32 {
            let name = NcclCollective::from_number(theirs)
                .map_or("another operation", NcclCollective::name);
            return Some(format!("calls {name}"));
        }
        let data_type = call.data_type.load(Relaxed);
        if data_type != self.data_type as u32 {
            let name =
                DataType::from_number(data_type as i32).map_or("another type", DataType::name);
            return Some(format!("has elements of {name}, not of {}", self.data_type.name()));
        }
        let count = call.count.load(Relaxed);
        if count != self.count {
            return Some(format!("has {count} elements, not {}", self.count));
        }
        let (reduction, root) = (call.reduction.load(Relaxed), call.root.load(Relaxed));
        if reduction != self.reduction {
            return Some(format!("reduces by operation {reduction}, not by {}", self.reduction));
        }
        (root != self.root).then(|| format!("has rank {root} as its root, not {}", self.root))
    }
}
