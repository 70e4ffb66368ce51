//! The parameters of an operation that ranks compare, and the description of a mismatch.

use std::sync::atomic::Ordering::Relaxed;

use c_abi::c_enum;

use crate::element::DataType;
use crate::region::Call;

/// The `kind` of a send in [`Call`]. The kinds of collectives are smaller numbers.
pub(crate) const SEND: u32 = 6;
pub(crate) const RECEIVE: u32 = 7;

/// Describes a call that a rank has published, such as "calls ncclSend of 4 ncclFloat32 to rank 2".
/// `None` if the rank has not published a call.
pub(crate) fn describe(call: &Call) -> Option<String> {
    let data_type = DataType::from_code(call.data_type.load(Relaxed) as i32);
    let data_type = data_type.map_or("elements of another type", DataType::name);
    let (count, other) = (call.count.load(Relaxed), call.root.load(Relaxed));
    let (name, to) = match call.kind.load(Relaxed) {
        SEND => ("ncclSend", format!(" to rank {other}")),
        RECEIVE => ("ncclRecv", format!(" from rank {other}")),
        kind => {
            let kind = NcclCollective::from_code(kind as i32)?;
            let rest = match (kind, call.reduction.load(Relaxed)) {
                (NcclCollective::Broadcast, _) => format!(" from rank {other}"),
                (NcclCollective::Reduce, 0) => format!(" to rank {other}"),
                (NcclCollective::Reduce, by) => format!(" to rank {other} by operation {by}"),
                (NcclCollective::AllGather, _) | (_, 0) => String::new(),
                (_, by) => format!(" by operation {by}"),
            };
            (kind.texts()[0], rest)
        }
    };
    Some(format!("calls {name} of {count} {data_type}{to}"))
}

c_enum! {
    /// The kinds of collectives, with the names of the exported functions.
    pub(crate) enum NcclCollective: str {
        AllReduce 1 "ncclAllReduce";
        Reduce 2 "ncclReduce";
        Broadcast 3 "ncclBroadcast";
        AllGather 4 "ncclAllGather";
        ReduceScatter 5 "ncclReduceScatter";
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

    /// Describes how another rank's call differs from this one; `None` if it is the same.
    pub(crate) fn difference(&self, call: &Call) -> Option<String> {
        let kind_of_other = call.kind.load(Relaxed);
        if kind_of_other != self.kind as u32 {
            let name = NcclCollective::from_code(kind_of_other as i32)
                .map_or("another operation", |kind| kind.texts()[0]);
            return Some(format!("calls {name}"));
        }
        let data_type = call.data_type.load(Relaxed);
        if data_type != self.data_type as u32 {
            let name = DataType::from_code(data_type as i32).map_or("another type", DataType::name);
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
