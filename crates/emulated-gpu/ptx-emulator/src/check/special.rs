//! Special registers (PTX ISA, "Special Registers").

use crate::limits::RESERVED_SHARED;
use crate::program::{Special, Type};

use super::since::Version;

/// What a special register reads as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reads {
    As(Special),
    /// The fourth component of a position, and what hardware always reads as one number.
    Constant(u64),
    /// It exists, but means nothing without hardware or a driver.
    Nothing,
}

/// The first target and version of PTX that have a register.
type Since = (u32, Version);

/// A special register, by its name with its component; its type, and what it came with.
pub(super) fn named(name: &str, member: Option<&str>) -> Option<(Reads, Type, Since)> {
    if let Some(member) = member {
        let axis = ["x", "y", "z", "w"].iter().position(|axis| *axis == member)? as u8;
        let (of, since): (fn(u8) -> Special, Since) = match name {
            "%tid" => (Special::Tid, (10, (1, 0))),
            "%ntid" => (Special::Ntid, (10, (1, 0))),
            "%ctaid" => (Special::Ctaid, (10, (1, 0))),
            "%nctaid" => (Special::Nctaid, (10, (1, 0))),
            "%clusterid" => (Special::ClusterId, (90, (7, 8))),
            "%nclusterid" => (Special::NClusterId, (90, (7, 8))),
            "%cluster_ctaid" => (Special::ClusterCtaId, (90, (7, 8))),
            "%cluster_nctaid" => (Special::ClusterNCtaId, (90, (7, 8))),
            _ => return None,
        };
        let reads = if axis == 3 { Reads::Constant(0) } else { Reads::As(of(axis)) };
        return Some((reads, Type::U32, since));
    }
    let (special, ty, since) = match name {
        "%laneid" => (Special::LaneId, Type::U32, (10, (1, 3))),
        "%warpid" => (Special::WarpId, Type::U32, (10, (1, 3))),
        "%nwarpid" => (Special::NWarpId, Type::U32, (20, (2, 0))),
        "%smid" => (Special::SmId, Type::U32, (10, (1, 3))),
        "%nsmid" => (Special::NSmId, Type::U32, (20, (2, 0))),
        "%gridid" => (Special::GridId, Type::U64, (10, (1, 0))),
        "%lanemask_eq" => (Special::LanemaskEq, Type::U32, (20, (2, 0))),
        "%lanemask_le" => (Special::LanemaskLe, Type::U32, (20, (2, 0))),
        "%lanemask_lt" => (Special::LanemaskLt, Type::U32, (20, (2, 0))),
        "%lanemask_ge" => (Special::LanemaskGe, Type::U32, (20, (2, 0))),
        "%lanemask_gt" => (Special::LanemaskGt, Type::U32, (20, (2, 0))),
        "%clock" => (Special::Clock, Type::U32, (10, (1, 0))),
        "%clock_hi" => (Special::ClockHi, Type::U32, (20, (5, 0))),
        "%clock64" => (Special::Clock64, Type::U64, (20, (2, 0))),
        "%globaltimer" => (Special::GlobalTimer, Type::U64, (30, (3, 1))),
        "%globaltimer_lo" => (Special::GlobalTimerLo, Type::U32, (30, (3, 1))),
        "%globaltimer_hi" => (Special::GlobalTimerHi, Type::U32, (30, (3, 1))),
        "%dynamic_smem_size" => (Special::DynamicSharedSize, Type::U32, (20, (4, 1))),
        "%total_smem_size" => (Special::TotalSharedSize, Type::U32, (20, (4, 1))),
        "%aggr_smem_size" => (Special::TotalSharedSize, Type::U32, (90, (8, 1))),
        "%cluster_ctarank" => (Special::ClusterCtaRank, Type::U32, (90, (7, 8))),
        "%cluster_nctarank" => (Special::ClusterNCtaRank, Type::U32, (90, (7, 8))),
        "%is_explicit_cluster" => (Special::IsExplicitCluster, Type::Pred, (90, (7, 8))),
        // The driver's, of which this is what compilers ask for.
        "%envreg1" => (Special::Workspace { high: true }, Type::U32, (10, (1, 0))),
        "%envreg2" => (Special::Workspace { high: false }, Type::U32, (10, (1, 0))),
        "%current_graph_exec" => return Some((Reads::Constant(0), Type::U64, (50, (8, 0)))),
        _ => {
            let number = |prefix: &str, from: u32, below: u32, since: Since| {
                let number = name.strip_prefix(prefix)?.parse::<u32>().ok()?;
                (from..below).contains(&number).then_some((Reads::Nothing, Type::U32, since))
            };
            // Two parts, of which cooperative groups use the second.
            let reserved = || {
                let special = match name.strip_prefix("%reserved_smem_offset_")? {
                    "begin" | "0" => Special::ReservedShared(0),
                    "1" => Special::ReservedShared(RESERVED_SHARED / 2),
                    "end" => Special::ReservedShared(RESERVED_SHARED),
                    "cap" => Special::ReservedSharedSize,
                    _ => return None,
                };
                Some((Reads::As(special), Type::U32, (80, (7, 6))))
            };
            let wide = || {
                let middle = name.strip_prefix("%pm")?.strip_suffix("_64")?;
                (middle.parse::<u32>().ok()? < 8).then_some((
                    Reads::Nothing,
                    Type::U64,
                    (50, (4, 0)),
                ))
            };
            return number("%envreg", 0, 32, (10, (1, 0)))
                .or_else(|| number("%pm", 0, 4, (10, (1, 3))))
                .or_else(|| number("%pm", 4, 8, (20, (3, 0))))
                .or_else(wide)
                .or_else(reserved);
        }
    };
    Some((Reads::As(special), ty, since))
}

/// Whether it is the name of a special register with components.
pub(super) fn is_vector(name: &str) -> bool {
    named(name, Some("x")).is_some()
}

/// The names that a misspelt one may have meant.
pub(super) const NAMES: [&str; 34] = [
    "%tid.x",
    "%tid.y",
    "%tid.z",
    "%ntid.x",
    "%ntid.y",
    "%ntid.z",
    "%ctaid.x",
    "%ctaid.y",
    "%ctaid.z",
    "%nctaid.x",
    "%nctaid.y",
    "%nctaid.z",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%dynamic_smem_size",
    "%total_smem_size",
    "%clusterid.x",
    "%cluster_ctaid.x",
    "%cluster_ctarank",
];
