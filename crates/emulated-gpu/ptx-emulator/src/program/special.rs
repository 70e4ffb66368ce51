//! Special registers.

use super::types::Type;

/// Special registers (PTX ISA, "Special Registers"). The components of three-dimensional registers contain their axis:
/// 0 for x, 1 for y, 2 for z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the PTX special register of the same name")]
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    GridId,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    GlobalTimer,
    GlobalTimerLo,
    GlobalTimerHi,
    DynamicSharedSize,
    TotalSharedSize,
    ClusterId(u8),
    NClusterId(u8),
    ClusterCtaId(u8),
    ClusterNCtaId(u8),
    ClusterCtaRank,
    ClusterNCtaRank,
    IsExplicitCluster,
    /// `%envreg1` and `%envreg2`: the address of the grid's workspace, which cooperative groups use.
    Workspace {
        high: bool,
    },
    /// `%reserved_smem_offset_…`: an offset into the shared memory that is reserved for the system.
    ReservedShared(u32),
    /// `%reserved_smem_offset_cap`: the size of the reserved shared memory.
    ReservedSharedSize,
}

/// The first target and version of PTX that have a register.
pub(crate) type Since = (u32, (u32, u32));

/// Returns the register for an axis.
type OfAxis = fn(u8) -> Special;

/// The registers with components, each for an axis.
pub(crate) const POSITIONS: [(&str, OfAxis, Since); 8] = [
    ("%tid", Special::Tid, (10, (1, 0))),
    ("%ntid", Special::Ntid, (10, (1, 0))),
    ("%ctaid", Special::Ctaid, (10, (1, 0))),
    ("%nctaid", Special::Nctaid, (10, (1, 0))),
    ("%clusterid", Special::ClusterId, (90, (7, 8))),
    ("%nclusterid", Special::NClusterId, (90, (7, 8))),
    ("%cluster_ctaid", Special::ClusterCtaId, (90, (7, 8))),
    ("%cluster_nctaid", Special::ClusterNCtaId, (90, (7, 8))),
];
pub(crate) const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

/// The registers without components.
pub(crate) const PLAIN: [(&str, Special, Type, Since); 25] = [
    ("%laneid", Special::LaneId, Type::U32, (10, (1, 3))),
    ("%warpid", Special::WarpId, Type::U32, (10, (1, 3))),
    ("%nwarpid", Special::NWarpId, Type::U32, (20, (2, 0))),
    ("%smid", Special::SmId, Type::U32, (10, (1, 3))),
    ("%nsmid", Special::NSmId, Type::U32, (20, (2, 0))),
    ("%gridid", Special::GridId, Type::U64, (10, (1, 0))),
    ("%lanemask_eq", Special::LanemaskEq, Type::U32, (20, (2, 0))),
    ("%lanemask_le", Special::LanemaskLe, Type::U32, (20, (2, 0))),
    ("%lanemask_lt", Special::LanemaskLt, Type::U32, (20, (2, 0))),
    ("%lanemask_ge", Special::LanemaskGe, Type::U32, (20, (2, 0))),
    ("%lanemask_gt", Special::LanemaskGt, Type::U32, (20, (2, 0))),
    ("%clock", Special::Clock, Type::U32, (10, (1, 0))),
    ("%clock_hi", Special::ClockHi, Type::U32, (20, (5, 0))),
    ("%clock64", Special::Clock64, Type::U64, (20, (2, 0))),
    ("%globaltimer", Special::GlobalTimer, Type::U64, (30, (3, 1))),
    ("%globaltimer_lo", Special::GlobalTimerLo, Type::U32, (30, (3, 1))),
    ("%globaltimer_hi", Special::GlobalTimerHi, Type::U32, (30, (3, 1))),
    ("%dynamic_smem_size", Special::DynamicSharedSize, Type::U32, (20, (4, 1))),
    ("%total_smem_size", Special::TotalSharedSize, Type::U32, (20, (4, 1))),
    ("%aggr_smem_size", Special::TotalSharedSize, Type::U32, (90, (8, 1))),
    ("%cluster_ctarank", Special::ClusterCtaRank, Type::U32, (90, (7, 8))),
    ("%cluster_nctarank", Special::ClusterNCtaRank, Type::U32, (90, (7, 8))),
    ("%is_explicit_cluster", Special::IsExplicitCluster, Type::Pred, (90, (7, 8))),
    // Registers of the driver. Compilers only read these two.
    ("%envreg1", Special::Workspace { high: true }, Type::U32, (10, (1, 0))),
    ("%envreg2", Special::Workspace { high: false }, Type::U32, (10, (1, 0))),
];

impl Special {
    /// Whether the register is a clock.
    pub(crate) fn is_clock(self) -> bool {
        matches!(
            self,
            Self::Clock
                | Self::ClockHi
                | Self::Clock64
                | Self::GlobalTimer
                | Self::GlobalTimerLo
                | Self::GlobalTimerHi
        )
    }

    /// The name of the register, including the component.
    pub(crate) fn name(self) -> String {
        let of_axis = |axis: usize| {
            let position = POSITIONS.iter().find(|(_, of, _)| of(axis as u8) == self);
            position.map(|(name, ..)| format!("{name}.{}", COMPONENTS[axis]))
        };
        match self {
            Self::ReservedShared(offset) => format!("%reserved_smem_offset_begin+{offset}"),
            Self::ReservedSharedSize => "%reserved_smem_offset_cap".into(),
            _ => match PLAIN.iter().find(|(_, special, ..)| *special == self) {
                Some((name, ..)) => (*name).into(),
                None => (0..COMPONENTS.len()).find_map(of_axis).unwrap_or_default(),
            },
        }
    }
}
