//! The interpreter's main loop: one turn of a warp.

#![allow(unsafe_code, reason = "AVX2 and FMA code is called once the host was checked for it")]

use super::arrival::{arrive, check_missed_barrier, lanes_past, same_barrier};
use super::barrier::Barriers;
use super::code::{Action, BarrierKind, Step};
use super::collective::CollectiveKind;
use super::convergence::{deadlock, join_collective, run_converged};
use super::core::{Core, Problem};
use super::profile::Profile;
use super::registers::lanes;
use super::state_space::{LOCAL_WINDOW, in_window};
use super::straight::{POLL_COST, Progress, run_straight, tick};
use super::turn::{Stopped, Turn, TurnRules};
use super::warp::{SplitState, Warp, WarpSplit, push_frame};
use super::{asynchronous, atomics, builtin, copy_async, matrix, recursion, texture, workspace};
use crate::fault::FaultKind;
use crate::program::Special;

/// The number of loop iterations per turn.
const TURN_ITERATIONS: i64 = 16 << 10;

/// Runs a warp until it waits, exits, or has used up its turn. Its registers and local memory are
/// in `core`.
pub(super) fn turn(
    (core, code): (&mut Core<'_>, &[Step]),
    warp: &mut Warp,
    barriers: &mut Barriers,
    profile: Option<&mut Profile>,
    rules: TurnRules,
) -> Result<(Turn, u64), Stopped> {
    let result = match profile {
        Some(profile) => run::<true>((core, code), warp, barriers, profile, rules),
        None => run::<false>((core, code), warp, barriers, &mut Profile::default(), rules),
    }?;
    // The limit is checked after every turn, because a loop with a barrier never uses up its fuel.
    check_limit(warp, rules)?;
    Ok(result)
}

fn run<const PROFILE: bool>(
    (core, code): (&mut Core<'_>, &[Step]),
    warp: &mut Warp,
    barriers: &mut Barriers,
    profile: &mut Profile,
    rules: TurnRules,
) -> Result<(Turn, u64), Stopped> {
    let mut fuel = TURN_ITERATIONS;
    // The instructions executed in this turn, summed over lanes.
    let mut threads = 0;
    // The instructions executed by the warp so far.
    let mut executed = warp.executed;
    let begun = executed;
    // The limit is also checked during the turn, so that a loop with a long body doesn't exceed it
    // by much.
    let deadline = rules.instruction_limit;
    let end = |core: &mut Core<'_>, warp: &mut Warp, executed: u64| {
        core.clock += executed - begun;
        warp.executed = executed;
    };
    'split: loop {
        let Some((mut split, stop)) = warp.take_next_split() else {
            if run_converged(core, warp, code, rules)? {
                continue;
            }
            end(core, warp, executed);
            if warp.alive == 0 {
                return Ok((Turn::Exited, threads));
            }
            if warp.splits.iter().all(|split| split.state == SplitState::AtCollective) {
                return Err(deadlock(warp, code, core));
            }
            return Ok((Turn::Waiting, threads));
        };
        let width = u64::from(split.mask.count_ones());
        loop {
            if !PROFILE {
                let mut progress = Progress { pc: split.pc, remaining_iterations: fuel, executed };
                let lanes = (split.mask, stop);
                let over = run_straight(core, code, &mut progress, lanes, deadline)?;
                threads += width * (progress.executed - executed);
                (split.pc, fuel, executed) =
                    (progress.pc, progress.remaining_iterations, progress.executed);
                if over {
                    warp.splits.push(split);
                    warp.is_turn_used_up = true;
                    end(core, warp, executed);
                    return Ok((Turn::Yielded, threads));
                }
            }
            if split.pc >= stop {
                warp.splits.push(split);
                continue 'split;
            }
            let pc = split.pc;
            let step = &code[pc as usize];
            let active =
                split.mask & (core.registers.predicates[step.guard as usize] ^ step.negation_mask);
            executed += u64::from(step.weight);
            threads += width * u64::from(step.weight);
            if PROFILE {
                profile.count_step(core, step, pc, split.mask, active, warp);
            }
            if active == 0 {
                split.pc += 1;
                continue;
            }
            let stopped = |problem| Stopped { problem, pc, mask: active };
            match &step.action {
                Action::Compute(compute, operands) => {
                    // SAFETY: the lowering chose a version for this host's features.
                    unsafe { compute(&mut core.registers, operands, active) };
                }
                Action::Transfer(transfer, access) => {
                    core.step = pc;
                    if access.strong {
                        fuel -= POLL_COST;
                        core.memory_polls += 1;
                    }
                    // SAFETY: as above.
                    unsafe { transfer(core, access, active) }.map_err(stopped)?;
                }
                Action::General(general) => general(&mut core.registers, active),
                Action::Branch(target) => {
                    let backward = *target <= pc;
                    if active == split.mask {
                        split.pc = *target;
                    } else {
                        if PROFILE {
                            profile.count_divergence(pc);
                        }
                        let rest = WarpSplit {
                            pc: pc + 1,
                            mask: split.mask & !active,
                            frames: split.frames.clone(),
                            state: SplitState::Ready,
                        };
                        warp.splits.push(rest);
                        split.pc = *target;
                        split.mask = active;
                        warp.splits.push(split);
                        if !backward || tick(&mut fuel, executed, deadline) {
                            continue 'split;
                        }
                        warp.is_turn_used_up = true;
                        end(core, warp, executed);
                        return Ok((Turn::Yielded, threads));
                    }
                    if backward && !tick(&mut fuel, executed, deadline) {
                        warp.splits.push(split);
                        warp.is_turn_used_up = true;
                        end(core, warp, executed);
                        return Ok((Turn::Yielded, threads));
                    }
                    continue;
                }
                Action::BranchIndexed { index, targets } => {
                    for lane in lanes(active) {
                        let index = core.registers.get(*index, lane);
                        let target = targets.get(index as usize).copied();
                        let target = target.ok_or_else(|| {
                            let message = format!(
                                "branch to number {index} of a table of {} targets",
                                targets.len()
                            );
                            let kind = FaultKind::InvalidInstruction;
                            stopped(Problem::new(kind, message).lane(lane))
                        })?;
                        // Lanes with the same target are merged when one of their splits is picked.
                        warp.splits.push(WarpSplit {
                            pc: target,
                            mask: 1 << lane,
                            frames: split.frames.clone(),
                            state: SplitState::Ready,
                        });
                    }
                    split.mask &= !active;
                    split.pc += 1;
                    if split.mask != 0 {
                        warp.splits.push(split);
                    }
                    if !tick(&mut fuel, executed, deadline) {
                        warp.is_turn_used_up = true;
                        end(core, warp, executed);
                        return Ok((Turn::Yielded, threads));
                    }
                    continue 'split;
                }
                Action::Call(target) => {
                    let inside = WarpSplit {
                        pc: *target,
                        mask: active,
                        frames: push_frame(split.frames.clone(), pc + 1),
                        state: SplitState::Ready,
                    };
                    warp.splits.push(inside);
                    remove_lanes(warp, split, active);
                    continue 'split;
                }
                Action::Return => {
                    match &split.frames {
                        Some(frame) => {
                            let outside = WarpSplit {
                                pc: frame.return_to,
                                mask: active,
                                frames: frame.parent.clone(),
                                state: SplitState::Ready,
                            };
                            warp.splits.push(outside);
                        }
                        None => {
                            check_missed_barrier(warp, active)?;
                            warp.alive &= !active;
                        }
                    }
                    remove_lanes(warp, split, active);
                    continue 'split;
                }
                Action::Exit => {
                    check_missed_barrier(warp, active)?;
                    warp.alive &= !active;
                    remove_lanes(warp, split, active);
                    continue 'split;
                }
                Action::Atomic(atomic) => {
                    fuel -= POLL_COST;
                    core.memory_polls += 1;
                    core.step = pc;
                    atomics::run(core, atomic, active).map_err(stopped)?;
                }
                Action::Asynchronous(asynchronous) => {
                    core.step = pc;
                    let objects = &mut barriers.objects;
                    let waits = asynchronous::run(core, objects, asynchronous, active, rules)
                        .map_err(stopped)?;
                    if let Some(object) = waits {
                        split.pc += 1;
                        let registers = core.registers.digest(&core.image.clock_independent);
                        let others = (core.memory_polls, barriers.events());
                        warp.poll(registers, (&split, object), others);
                        warp.splits.push(split);
                        warp.is_turn_used_up = true;
                        end(core, warp, executed);
                        return Ok((Turn::Yielded, threads));
                    }
                }
                Action::Matrix(matrix) => {
                    core.step = pc;
                    matrix::run(core, matrix, active).map_err(stopped)?;
                }
                Action::Texture(texture) => {
                    core.step = pc;
                    texture::run(core, texture, active).map_err(stopped)?;
                }
                Action::Collective(collective)
                    if collective.kind == CollectiveKind::Converge && active == u32::MAX => {}
                Action::Collective(collective) => {
                    let waiting = join_collective(core, warp, collective, (&split, active), rules)
                        .map_err(stopped)?;
                    if waiting != 0 {
                        remove_lanes(warp, split, waiting);
                        run_converged(core, warp, code, rules)?;
                        continue 'split;
                    }
                }
                Action::Barrier(barrier) => {
                    let others = rules.check_synchronisation && barrier.aligned;
                    let missing = if others { lanes_past(warp, code, pc) } else { 0 };
                    let mut left = active;
                    while left != 0 {
                        let mask = same_barrier(core, barrier, left);
                        left &= !mask;
                        let waits = arrive(core, warp, barriers, barrier, pc, mask, rules)
                            .map_err(stopped)?;
                        if let Some(index) = waits {
                            let waiting = WarpSplit {
                                pc,
                                mask,
                                frames: split.frames.clone(),
                                state: SplitState::AtBarrier(index),
                            };
                            warp.splits.push(waiting);
                        }
                    }
                    if !matches!(barrier.action, BarrierKind::Arrive) {
                        if missing != 0 {
                            warp.missing = Some((pc, active, missing));
                        }
                        remove_lanes(warp, split, active);
                        continue 'split;
                    }
                }
                Action::Builtin(builtin, arguments) => {
                    core.memory_polls += 1;
                    builtin::run(core, *builtin, arguments, active).map_err(stopped)?;
                }
                Action::ReadClock { d, which } => {
                    core.clock_polls += 1;
                    let value = match which {
                        Special::GlobalTimer | Special::GlobalTimerLo => core.global_timer(),
                        Special::GlobalTimerHi => core.global_timer() >> 32,
                        Special::ClockHi => (core.clock + (executed - begun)) >> 32,
                        _ => core.clock + (executed - begun),
                    };
                    lanes(active).for_each(|lane| core.registers.set(*d, lane, value));
                }
                Action::StackAllocate { pointer, d, size, align } => {
                    let limit = core.thread_local_bytes();
                    for lane in lanes(active) {
                        let size = core.registers.get(*size, lane);
                        let at =
                            core.registers.get(*pointer, lane).min(limit).next_multiple_of(*align);
                        let end = at.checked_add(size).filter(|&end| end <= limit);
                        let Some(end) = end else {
                            let left = limit.saturating_sub(at);
                            let message = format!(
                                "{size} bytes of the thread's stack are needed, but only {left} are left"
                            );
                            let problem = Problem::new(FaultKind::IllegalAddress, message)
                                .lane(lane)
                                .note("alloca asks for too much, or the recursion is too deep");
                            return Err(stopped(problem));
                        };
                        core.registers.set(*d, lane, at);
                        core.registers.set(*pointer, lane, end);
                    }
                }
                Action::CopyLocal { to, from, bytes } => {
                    for lane in lanes(active) {
                        copy_async::local(core, *to, *from, *bytes, lane).map_err(stopped)?;
                    }
                }
                Action::ConvertParameter { to_space, d, a } => {
                    let base = core.parameters.as_slice().as_ptr() as u64;
                    for lane in lanes(active) {
                        let address = core.registers.get(*a, lane);
                        let converted = match to_space {
                            true if in_window(address, LOCAL_WINDOW) => address,
                            true => address.wrapping_sub(base),
                            false if address >= LOCAL_WINDOW => address,
                            false => address.wrapping_add(base),
                        };
                        core.registers.set(*d, lane, converted);
                    }
                }
                Action::IsSpace { space, constants, d, a } => {
                    for lane in lanes(active) {
                        let address = core.registers.get(*a, lane);
                        let own = core.is_in_space(*space, address, constants);
                        core.registers.set(*d, lane, u64::from(own));
                    }
                }
                Action::Fence { wide } => {
                    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
                    if let Some(threads) = &mut core.threads {
                        threads.fence(core.warp, active, *wide);
                    }
                }
                Action::Uses(uses) => uses.run(&mut core.registers, active).map_err(stopped)?,
                Action::Pause => fuel -= POLL_COST,
                Action::Nothing => {}
                Action::Trap => {
                    return Err(stopped(workspace::trap(core)));
                }
                Action::NoFunction(callee) => {
                    return Err(stopped(recursion::invalid_callee(core, *callee, active)));
                }
                Action::SaveFrame(frame) => frame.save(core, active).map_err(stopped)?,
                Action::RestoreFrame(frame) => frame.restore(core, active).map_err(stopped)?,
            }
            split.pc += 1;
        }
    }
}

/// Removes lanes from a split; the remaining lanes continue with the next step.
fn remove_lanes(warp: &mut Warp, mut split: WarpSplit, active: u32) {
    split.mask &= !active;
    split.pc += 1;
    if split.mask != 0 {
        warp.splits.push(split);
    }
}

fn check_limit(warp: &Warp, rules: TurnRules) -> Result<(), Stopped> {
    let Warp { executed, .. } = *warp;
    let Some(split) = warp.splits.last() else { return Ok(()) };
    if executed <= rules.instruction_limit {
        return Ok(());
    }
    let limit = rules.instruction_limit;
    let problem = Problem::new(
        FaultKind::Runaway,
        format!("a warp executed {executed} instructions, more than the limit of {limit}"),
    );
    Err(Stopped { problem, pc: split.pc, mask: split.mask })
}
