//! Reconvergence of a warp's lanes at collective instructions, wherever in the program they wait.

use super::code::{Action, Step};
use super::collective::{Collective, CollectiveKind, Contributions};
use super::core::{Core, Outcome, Problem};
use super::turn::{Stopped, TurnRules};
use super::warp::{SplitState, Warp, WarpSplit};
use crate::fault::FaultKind;

/// Reports that a lane executes a collective whose mask doesn't include the lane.
fn outside_mask(active: u32, members: u32) -> Box<Problem> {
    let lane = (active & !members).trailing_zeros() as usize;
    let message =
        format!("lane {lane} executes this, but is not in the member mask {members:#010x}");
    Problem::new(FaultKind::BadMemberMask, message)
        .lane(lane)
        .note("every lane that executes a .sync instruction has to be named in its mask")
}

/// Executes the waiting collectives at which all members have arrived. Returns whether there were
/// any.
pub(super) fn run_converged(
    core: &mut Core<'_>,
    warp: &mut Warp,
    code: &[Step],
    rules: TurnRules,
) -> Result<bool, Stopped> {
    fn collective(code: &[Step], pc: u32) -> Option<&Collective> {
        match &code[pc as usize].action {
            Action::Collective(collective) => Some(collective),
            _ => None,
        }
    }
    let mut met = false;
    for first in 0..warp.splits.len() {
        let leader = &warp.splits[first];
        if leader.state != SplitState::AtCollective {
            continue;
        }
        let Some(own) = collective(code, leader.pc) else { continue };
        let kind = own.kind;
        let (members, _) = own.members_of(&core.registers, leader.mask);
        let group: Vec<usize> = (first..warp.splits.len())
            .filter(|&index| {
                let other = &warp.splits[index];
                other.state == SplitState::AtCollective
                    && collective(code, other.pc).is_some_and(|step| {
                        step.kind == own.kind
                            && step.members_of(&core.registers, other.mask).0 == members
                    })
            })
            .collect();
        let present = group.iter().fold(0, |mask, &index| mask | warp.splits[index].mask);
        if members & warp.alive & !present != 0 {
            continue;
        }
        let mut all = Contributions::default();
        for &index in &group {
            let split = &warp.splits[index];
            if let Some(step) = collective(code, split.pc) {
                step.collect_from(&core.registers, split.mask, &mut all);
            }
        }
        for &index in &group {
            let split = &mut warp.splits[index];
            if let Some(step) = collective(code, split.pc) {
                if rules.check_synchronisation {
                    let (pc, mask) = (split.pc, split.mask);
                    step.require_sources(mask, present, &all).map_err(|problem| Stopped {
                        problem,
                        pc,
                        mask,
                    })?;
                }
                step.write_results(&mut core.registers, split.mask, present, &all);
            }
            split.state = SplitState::Ready;
            split.pc += 1;
        }
        if let Some(threads) = &mut core.threads
            && kind != CollectiveKind::Converge
        {
            threads.warp_sync(core.warp, present, warp.alive);
        }
        met = true;
    }
    Ok(met)
}

/// Lanes arrive at a collective. Groups of lanes that name the same members execute it at once if
/// no member is missing; the others wait. Returns the lanes that have to wait.
pub(super) fn join_collective(
    core: &mut Core<'_>,
    warp: &mut Warp,
    collective: &Collective,
    (at, active): (&WarpSplit, u32),
    rules: TurnRules,
) -> Outcome<u32> {
    let (mut left, mut waiting) = (active, 0);
    while left != 0 {
        let (members, group) = collective.members_of(&core.registers, left);
        left &= !group;
        if group & !members != 0 {
            return Err(outside_mask(group, members));
        }
        if members & warp.alive & !group != 0 {
            let (pc, frames) = (at.pc, at.frames.clone());
            warp.splits.push(WarpSplit {
                pc,
                mask: group,
                frames,
                state: SplitState::AtCollective,
            });
            waiting |= group;
            continue;
        }
        let plain = !rules.check_synchronisation && core.threads.is_none();
        if plain && group == u32::MAX && collective.shuffle_rows(&mut core.registers) {
            continue;
        }
        let mut all = Contributions::default();
        collective.collect_from(&core.registers, group, &mut all);
        if rules.check_synchronisation {
            collective.require_sources(group, group, &all)?;
        }
        collective.write_results(&mut core.registers, group, group, &all);
        if let Some(threads) = &mut core.threads
            && collective.kind != CollectiveKind::Converge
        {
            threads.warp_sync(core.warp, group, warp.alive);
        }
    }
    Ok(waiting)
}

/// Reports a deadlock of the warp: all of its lanes wait for lanes that wait elsewhere.
pub(super) fn deadlock(warp: &Warp, code: &[Step], core: &Core<'_>) -> Stopped {
    let first = &warp.splits[0];
    let members = match &code[first.pc as usize].action {
        Action::Collective(collective) => collective.members_of(&core.registers, first.mask).0,
        _ => 0,
    };
    let missing = members & warp.alive & !first.mask;
    let here = |other: &&WarpSplit| other.pc == first.pc && other.mask & missing != 0;
    let (lanes, lane) = (first.mask, first.mask.trailing_zeros() as usize);
    let (message, note) = match warp.splits.iter().find(here) {
        Some(other) => (
            format!(
                "lanes {lanes:#010x} name {members:#010x} as members and wait for lanes \
                 {:#010x}, which are here too, but name other members",
                other.mask & missing
            ),
            "every lane in a member mask has to name the same mask",
        ),
        None => (
            format!(
                "lanes {lanes:#010x} wait for lanes {missing:#010x}, which wait at another instruction"
            ),
            "all lanes in a member mask have to execute the same .sync instruction",
        ),
    };
    let problem = Problem::new(FaultKind::Deadlock, message).lane(lane).note(note);
    Stopped { problem, pc: first.pc, mask: first.mask }
}
