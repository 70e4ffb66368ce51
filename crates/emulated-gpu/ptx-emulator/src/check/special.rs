//! Special registers (PTX ISA, "Special Registers").

use crate::limits::RESERVED_SHARED;
use crate::program::{Special, Type};

/// What a special register reads as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reads {
    As(Special),
    /// The fourth component of a position, and what hardware always reads as one number.
    Constant(u64),
    /// It exists, but means nothing without hardware or a driver.
    Nothing,
}

/// A special register, by its name with its component; its type.
pub(super) fn named(name: &str, member: Option<&str>) -> Option<(Reads, Type)> {
    if let Some(member) = member {
        let axis = ["x", "y", "z", "w"].iter().position(|axis| *axis == member)? as u8;
        let of: fn(u8) -> Special = match name {
            "%tid" => Special::Tid,
            "%ntid" => Special::Ntid,
            "%ctaid" => Special::Ctaid,
            "%nctaid" => Special::Nctaid,
            "%clusterid" => Special::ClusterId,
            "%nclusterid" => Special::NClusterId,
            "%cluster_ctaid" => Special::ClusterCtaId,
            "%cluster_nctaid" => Special::ClusterNCtaId,
            _ => return None,
        };
        let reads = if axis == 3 { Reads::Constant(0) } else { Reads::As(of(axis)) };
        return Some((reads, Type::U32));
    }
    let (special, ty) = match name {
        "%laneid" => (Special::LaneId, Type::U32),
        "%warpid" => (Special::WarpId, Type::U32),
        "%nwarpid" => (Special::NWarpId, Type::U32),
        "%smid" => (Special::SmId, Type::U32),
        "%nsmid" => (Special::NSmId, Type::U32),
        "%gridid" => (Special::GridId, Type::U64),
        "%lanemask_eq" => (Special::LanemaskEq, Type::U32),
        "%lanemask_le" => (Special::LanemaskLe, Type::U32),
        "%lanemask_lt" => (Special::LanemaskLt, Type::U32),
        "%lanemask_ge" => (Special::LanemaskGe, Type::U32),
        "%lanemask_gt" => (Special::LanemaskGt, Type::U32),
        "%clock" => (Special::Clock, Type::U32),
        "%clock_hi" => (Special::ClockHi, Type::U32),
        "%clock64" => (Special::Clock64, Type::U64),
        "%globaltimer" => (Special::GlobalTimer, Type::U64),
        "%globaltimer_lo" => (Special::GlobalTimerLo, Type::U32),
        "%globaltimer_hi" => (Special::GlobalTimerHi, Type::U32),
        "%dynamic_smem_size" => (Special::DynamicSharedSize, Type::U32),
        "%total_smem_size" | "%aggr_smem_size" => (Special::TotalSharedSize, Type::U32),
        "%cluster_ctarank" => (Special::ClusterCtaRank, Type::U32),
        "%cluster_nctarank" => (Special::ClusterNCtaRank, Type::U32),
        "%is_explicit_cluster" => (Special::IsExplicitCluster, Type::Pred),
        // The driver's, of which this is what compilers ask for.
        "%envreg1" => (Special::Workspace { high: true }, Type::U32),
        "%envreg2" => (Special::Workspace { high: false }, Type::U32),
        "%current_graph_exec" => return Some((Reads::Constant(0), Type::U64)),
        _ => {
            let number = |prefix: &str, below: u32| {
                let number = name.strip_prefix(prefix)?.parse::<u32>().ok()?;
                (number < below).then_some((Reads::Nothing, Type::U32))
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
                Some((Reads::As(special), Type::U32))
            };
            let wide = || {
                let middle = name.strip_prefix("%pm")?.strip_suffix("_64")?;
                (middle.parse::<u32>().ok()? < 8).then_some((Reads::Nothing, Type::U64))
            };
            return number("%envreg", 32)
                .or_else(|| number("%pm", 8))
                .or_else(wide)
                .or_else(reserved);
        }
    };
    Some((Reads::As(special), ty))
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
