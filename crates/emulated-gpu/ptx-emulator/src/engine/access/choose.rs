//! Selection of the function that performs an access, by host features and enabled checks.

use super::element::Element;
use super::instruction::Access;
use super::{each, rows};
use crate::checks::Checks;
use crate::engine::code::Transfer;
use crate::engine::core::{Core, Outcome};
use crate::engine::registers::Width;
use crate::engine::state_space::StateSpace;

/// Settings of the lowering, in addition to the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostSettings {
    /// Whether the host has AVX2 and FMA.
    pub(in crate::engine) fast: bool,
    /// The enabled checks.
    pub(in crate::engine) checks: Checks,
}

/// The checks that access functions are compiled with.
pub(super) trait Checked {
    /// initcheck: record writes, and check that reads only read written bytes.
    const INIT: bool;
    /// racecheck: record the thread of each access.
    const RACE: bool;
}

struct CheckSet<const INIT: bool, const RACE: bool>;

impl<const INIT: bool, const RACE: bool> Checked for CheckSet<INIT, RACE> {
    const INIT: bool = INIT;
    const RACE: bool = RACE;
}

/// The function that performs an access on this host.
pub(in crate::engine) fn transfer(access: &Access, store: bool, host: HostSettings) -> Transfer {
    // Whether no other thread accesses this memory, or no thread writes it.
    let own =
        matches!(access.state_space, StateSpace::Local | StateSpace::Param) || access.constant;
    match (host.checks.initialisation, host.checks.races && !own) {
        (false, false) => with_checks::<CheckSet<false, false>>(access, store, host.fast),
        (false, true) => with_checks::<CheckSet<false, true>>(access, store, host.fast),
        (true, false) => with_checks::<CheckSet<true, false>>(access, store, host.fast),
        (true, true) => with_checks::<CheckSet<true, true>>(access, store, host.fast),
    }
}

fn with_checks<W: Checked>(access: &Access, store: bool, fast: bool) -> Transfer {
    let alone = W::RACE && access.is_guess || W::INIT && access.passes_on;
    let by_rows = !access.fence && access.state_space != StateSpace::Local && !alone;
    let all = |width| access.values.iter().all(|slot| slot.width == width);
    let found = match access.bytes {
        4 if by_rows && all(Width::Narrow(32)) => elements::<u32, W>(access, store, fast),
        8 if by_rows && all(Width::Wide) => elements::<u64, W>(access, store, fast),
        _ => None,
    };
    match (W::INIT || W::RACE, store) {
        _ if let Some(found) = found => found,
        (false, false) => each::load,
        (false, true) => each::store,
        (true, false) => each::load_watched::<W>,
        (true, true) => each::store_watched::<W>,
    }
}

fn elements<T: Element, W: Checked>(access: &Access, store: bool, fast: bool) -> Option<Transfer> {
    if access.strong {
        // Serve each lane separately. Only accesses of a single word can be atomic.
        return (access.values.len() == 1 && !W::RACE).then_some(match store {
            false => rows::load_scattered::<T, W, 1>,
            true => rows::store_scattered::<T, W, 1>,
        });
    }
    Some(match access.values.len() {
        1 => host::<T, W, 1>(store, fast),
        2 => host::<T, W, 2>(store, fast),
        4 => host::<T, W, 4>(store, fast),
        _ => return None,
    })
}

fn host<T: Element, W: Checked, const N: usize>(store: bool, fast: bool) -> Transfer {
    #[cfg(target_arch = "x86_64")]
    if fast {
        return if store { store_avx2::<T, W, N> } else { load_avx2::<T, W, N> };
    }
    let _ = fast;
    if store { store_portable::<T, W, N> } else { load_portable::<T, W, N> }
}

macro_rules! twins {
    ($($portable:ident, $avx2:ident = $function:ident;)*) => {
        $(
            fn $portable<T: Element, W: Checked, const N: usize>(
                core: &mut Core<'_>,
                access: &Access,
                mask: u32,
            ) -> Outcome {
                rows::$function::<T, W, N, false>(core, access, mask)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn $avx2<T: Element, W: Checked, const N: usize>(
                core: &mut Core<'_>,
                access: &Access,
                mask: u32,
            ) -> Outcome {
                rows::$function::<T, W, N, true>(core, access, mask)
            }
        )*
    };
}

twins! {
    load_portable, load_avx2 = load;
    store_portable, store_avx2 = store;
}
