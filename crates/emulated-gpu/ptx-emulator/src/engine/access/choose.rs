//! The choice of the function that does an access, by host and checks.

use super::element::Element;
use super::instruction::Access;
use super::{each, rows};
use crate::checks::Checks;
use crate::engine::code::Transfer;
use crate::engine::core::{Core, Outcome};
use crate::engine::registers::Width;
use crate::engine::state_space::StateSpace;

/// What the lowering has to know beside the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    /// It has AVX2 and FMA.
    pub(in crate::engine) fast: bool,
    /// What is to be found beside faults.
    pub(in crate::engine) checks: Checks,
}

/// The function that does an access, for this host.
pub(in crate::engine) fn transfer(access: &Access, store: bool, host: Host) -> Transfer {
    // No other thread reaches these, or none writes them.
    let own = matches!(access.room, StateSpace::Local | StateSpace::Param) || access.constant;
    match (host.checks.initialisation, host.checks.races && !own) {
        (false, false) => watched::<false, false>(access, store, host.fast),
        (false, true) => watched::<false, true>(access, store, host.fast),
        (true, false) => watched::<true, false>(access, store, host.fast),
        (true, true) => watched::<true, true>(access, store, host.fast),
    }
}

fn watched<const INIT: bool, const RACE: bool>(
    access: &Access,
    store: bool,
    fast: bool,
) -> Transfer {
    let alone = RACE && access.guess || INIT && access.carries;
    let by_rows = !access.fence && access.room != StateSpace::Local && !alone;
    let all = |width| access.values.iter().all(|slot| slot.width == width);
    let found = match access.bytes {
        4 if by_rows && all(Width::Narrow(32)) => elements::<u32, INIT, RACE>(access, store, fast),
        8 if by_rows && all(Width::Wide) => elements::<u64, INIT, RACE>(access, store, fast),
        _ => None,
    };
    match (INIT || RACE, store) {
        _ if let Some(found) = found => found,
        (false, false) => each::load,
        (false, true) => each::store,
        (true, false) => each::load_watched::<INIT, RACE>,
        (true, true) => each::store_watched::<INIT, RACE>,
    }
}

fn elements<T: Element, const INIT: bool, const RACE: bool>(
    access: &Access,
    store: bool,
    fast: bool,
) -> Option<Transfer> {
    if access.strong {
        // Every lane on its own; one word at once.
        return (access.values.len() == 1 && !RACE).then_some(match store {
            false => rows::load_scattered::<T, 1, INIT, RACE>,
            true => rows::store_scattered::<T, 1, INIT, RACE>,
        });
    }
    Some(match access.values.len() {
        1 => host::<T, 1, INIT, RACE>(store, fast),
        2 => host::<T, 2, INIT, RACE>(store, fast),
        4 => host::<T, 4, INIT, RACE>(store, fast),
        _ => return None,
    })
}

fn host<T: Element, const N: usize, const INIT: bool, const RACE: bool>(
    store: bool,
    fast: bool,
) -> Transfer {
    #[cfg(target_arch = "x86_64")]
    if fast {
        return if store { store_avx2::<T, N, INIT, RACE> } else { load_avx2::<T, N, INIT, RACE> };
    }
    let _ = fast;
    if store { store_portable::<T, N, INIT, RACE> } else { load_portable::<T, N, INIT, RACE> }
}

macro_rules! twins {
    ($($portable:ident, $avx2:ident = $function:ident;)*) => {
        $(
            fn $portable<T: Element, const N: usize, const INIT: bool, const RACE: bool>(
                core: &mut Core<'_>,
                access: &Access,
                mask: u32,
            ) -> Outcome {
                rows::$function::<T, N, false, INIT, RACE>(core, access, mask)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn $avx2<T: Element, const N: usize, const INIT: bool, const RACE: bool>(
                core: &mut Core<'_>,
                access: &Access,
                mask: u32,
            ) -> Outcome {
                rows::$function::<T, N, true, INIT, RACE>(core, access, mask)
            }
        )*
    };
}

twins! {
    load_portable, load_avx2 = load;
    store_portable, store_avx2 = store;
}
