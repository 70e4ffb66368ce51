//! Accesses that initcheck and racecheck watch.

use super::super::core::{Core, Outcome};
use super::super::initialised::Resolved;
use super::super::race::{Does, Manner, Races};
use super::super::registers::lanes;
use super::words::{load_words, store_words};
use super::{Access, Word, load_any, store_any};

fn require_all_written(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    for lane in lanes(mask) {
        let (room, site, bytes) = (access.room, access.site, access.total());
        let address = access.of_lane(core, lane);
        core.resolve(room, site, address, bytes, lane, false)?;
        core.require_written(Resolved { room, site, address, bytes, lane })?;
    }
    Ok(())
}

/// A load that has to find what something has written.
pub(super) fn load_checked(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    require_all_written(core, access, mask)?;
    load_any(core, access, mask)
}

fn mark_all_written(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    for lane in lanes(mask) {
        let (room, site, bytes) = (access.room, access.site, access.total());
        let address = access.of_lane(core, lane);
        core.resolve(room, site, address, bytes, lane, true)?;
        core.mark_written(Resolved { room, site, address, bytes, lane });
    }
    Ok(())
}

/// A store that is remembered.
pub(super) fn store_checked(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    mark_all_written(core, access, mask)?;
    store_any(core, access, mask)
}

/// A load that is remembered, to find races.
pub(super) fn load_raced(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = access.addresses(core);
    if !access.manner.strong {
        let guess = Manner { strong: true, wide: true, asynchronous: false };
        let manner = if access.guess { guess } else { access.manner };
        core.race(access, &addresses, mask, (access.total(), manner), Does::Read)?;
        return load_any(core, access, mask);
    }
    let _turn = core.races.map(Races::in_turn);
    core.race(access, &addresses, mask, (access.total(), access.manner), Does::Read)?;
    load_any(core, access, mask)?;
    lanes(mask).for_each(|lane| core.look(access, lane, addresses[lane], access.fence));
    Ok(())
}

/// A store that is remembered, to find races.
pub(super) fn store_raced(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = access.addresses(core);
    let _turn = core.races.filter(|_| access.manner.strong).map(Races::in_turn);
    core.race(access, &addresses, mask, (access.total(), access.manner), Does::Write)?;
    if access.manner.strong {
        lanes(mask).for_each(|lane| core.publish(access, lane, access.fence));
    }
    store_any(core, access, mask)
}

#[inline(always)]
pub(super) fn load_words_raced<T: Word>(
    core: &mut Core<'_>,
    access: &Access,
    mask: u32,
) -> Outcome {
    let addresses = access.addresses(core);
    if !core.quiet(access, &addresses, mask) {
        core.race(access, &addresses, mask, (T::BYTES, access.manner), Does::Read)?;
    }
    load_words::<T>(core, access, mask)
}

#[inline(always)]
pub(super) fn store_words_raced<T: Word>(
    core: &mut Core<'_>,
    access: &Access,
    mask: u32,
) -> Outcome {
    let addresses = access.addresses(core);
    core.race(access, &addresses, mask, (T::BYTES, access.manner), Does::Write)?;
    store_words::<T>(core, access, mask)
}

/// All that is asked of a load.
pub(super) fn load_watched(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    require_all_written(core, access, mask)?;
    load_raced(core, access, mask)
}

/// All that is asked of a store.
pub(super) fn store_watched(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    mark_all_written(core, access, mask)?;
    store_raced(core, access, mask)
}
