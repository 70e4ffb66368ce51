//! Arrival of lanes at a barrier of the block, with synccheck's reports.

use super::barrier::Barriers;
use super::code::{Barrier, BarrierKind, Step, ends};
use super::core::{Core, Outcome, Problem};
use super::registers::{LANES, lanes};
use super::turn::{Stopped, TurnRules};
use super::warp::{SplitState, Warp, WarpSplit};
use crate::fault::FaultKind;
use crate::limits::BARRIERS;

/// Of the lanes that arrive at a barrier instruction, the ones that name the same barrier as the
/// lowest lane.
pub(super) fn same_barrier(core: &Core<'_>, barrier: &Barrier, mask: u32) -> u32 {
    let named = |lane: usize| {
        let threads = barrier.threads.map(|slot| core.registers.get(slot, lane));
        (core.registers.get(barrier.index, lane), threads)
    };
    let first = named(mask.trailing_zeros() as usize);
    lanes(mask).filter(|&lane| named(lane) == first).fold(0, |same, lane| same | 1 << lane)
}

/// Lanes that are past a barrier at which others of their warp have arrived, and are not about to
/// exit.
pub(super) fn lanes_past(warp: &Warp, code: &[Step], pc: u32) -> u32 {
    let behind = |split: &&WarpSplit| {
        let exits = split.frames.is_none() && ends(&code[split.pc as usize].action);
        split.state == SplitState::Ready && split.pc > pc && !exits
    };
    warp.splits.iter().filter(behind).fold(0, |mask, split| mask | split.mask)
}

/// Reports lanes that exit after passing by a barrier at which others of their warp wait.
pub(super) fn check_missed_barrier(warp: &Warp, exiting: u32) -> Result<(), Stopped> {
    let Some((pc, mask, missing)) = warp.missing.filter(|(_, _, missing)| missing & exiting != 0)
    else {
        return Ok(());
    };
    let lanes = missing & exiting;
    let message = format!(
        "lanes {mask:#010x} of a warp wait at this barrier; lanes {lanes:#010x} passed by it and have exited"
    );
    let problem = Problem::new(FaultKind::BarrierDivergence, message)
        .note("all threads of a warp have to execute the same barrier instruction");
    Err(Stopped { problem, pc, mask })
}

/// Lanes arrive at a barrier. Returns the barrier's number if they have to wait.
pub(super) fn arrive(
    core: &mut Core<'_>,
    warp: &Warp,
    barriers: &mut Barriers,
    barrier: &Barrier,
    pc: u32,
    active: u32,
    rules: TurnRules,
) -> Outcome<Option<u8>> {
    let lane = active.trailing_zeros() as usize;
    let index = core.registers.get(barrier.index, lane);
    if index >= BARRIERS as u64 {
        let message = format!("barrier {index}: a block has barriers 0 to 15");
        return Err(Problem::new(FaultKind::InvalidInstruction, message).lane(lane));
    }
    let expected = barrier.threads.map(|slot| core.registers.get(slot, lane) as u32);
    if let Some(threads) = expected
        && (threads == 0 || !threads.is_multiple_of(LANES as u32))
    {
        let message = format!("a barrier of {threads} threads: it has to be a multiple of 32");
        return Err(Problem::new(FaultKind::InvalidInstruction, message).lane(lane));
    }
    if rules.check_synchronisation && barrier.aligned {
        let elsewhere = warp
            .splits
            .iter()
            .find(|other| matches!(other.state, SplitState::AtBarrier(_)) && other.pc != pc);
        if let Some(other) = elsewhere {
            let message = format!(
                "lanes {active:#010x} of a warp come to this barrier while lanes {:#010x} wait at another one",
                other.mask
            );
            return Err(Problem::new(FaultKind::BarrierDivergence, message)
                .lane(lane)
                .note("all threads of a warp have to execute the same barrier instruction"));
        }
    }
    let index = index as u8;
    let weight = Barriers::weight(active, warp.alive, expected.is_some());
    barriers.arrive(index, weight, expected);
    if let Some(threads) = &mut core.threads {
        let waits = !matches!(barrier.action, BarrierKind::Arrive);
        threads.arrive(index, core.warp, active, waits);
    }
    match barrier.action {
        BarrierKind::Arrive => return Ok(None),
        BarrierKind::Sync => {}
        BarrierKind::Reduce { predicate, negated, .. } => {
            let votes = lanes(active)
                .filter(|&lane| (core.registers.get(predicate, lane) != 0) != negated)
                .count();
            barriers.vote(index, active.count_ones(), votes as u32);
        }
    }
    Ok(Some(index))
}
