//! Warp-collective instructions, in which lanes exchange values. They are computed for all
//! participating lanes once all of them have arrived.

use super::core::{Outcome, Problem};
use super::registers::{LANES, Registers, Slot, Width, lanes};
use crate::arithmetic;
use crate::fault::FaultKind;
use crate::program::{Atomic, IntBinary, Shuffle, Type, Vote};

/// A collective instruction.
#[derive(Clone, Debug)]
pub(super) struct Collective {
    pub(super) kind: CollectiveKind,
    /// The participating lanes; `None` for the active ones.
    pub(super) members: Option<Slot>,
    /// The value that a lane contributes.
    pub(super) a: Slot,
    /// Whether a contributed predicate is negated.
    pub(super) negated: bool,
    /// `shfl`: the source lane or distance, and the clamp with the segment mask.
    pub(super) lane: Slot,
    pub(super) clamp: Slot,
    pub(super) d: Slot,
    pub(super) p: Slot,
}

/// The kind of a collective. Lanes can only meet if their kinds are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CollectiveKind {
    /// `bar.warp.sync`
    Barrier,
    /// Reconvergence before a matrix instruction, which is the next step. It has no ordering
    /// effect.
    Converge,
    Shuffle(Shuffle),
    Vote(Vote),
    MatchAny,
    MatchAll,
    Reduce(Atomic, Type),
    Elect,
}

/// The contributions of all lanes.
#[derive(Default)]
pub(super) struct Contributions {
    by_lane: [Contribution; LANES],
    /// The lanes whose value is initialised, if initialisation is tracked.
    known: u32,
}

/// The contribution of one lane.
#[derive(Clone, Copy, Default)]
struct Contribution {
    a: u64,
    lane: u32,
    clamp: u32,
}

impl Collective {
    /// The members that the lowest active lane names, and the active lanes that name the same
    /// members. Lanes that arrive together may form several groups, such as two tiles of a warp.
    #[inline]
    pub(super) fn members_of(&self, registers: &Registers, mask: u32) -> (u32, u32) {
        let Some(slot) = self.members else { return (mask, mask) };
        let named = registers.narrow(slot.index);
        let members = named[mask.trailing_zeros() as usize & (LANES - 1)];
        let mut same = 0;
        for (lane, own) in named.iter().enumerate() {
            same |= u32::from(*own == members) << lane;
        }
        (members, same & mask)
    }

    /// A shuffle of a whole warp by register rows. Returns false if that is not possible here.
    pub(super) fn shuffle_rows(&self, registers: &mut Registers) -> bool {
        let CollectiveKind::Shuffle(mode) = self.kind else { return false };
        let words = [self.a, self.lane, self.clamp, self.d];
        let written = registers.defined(self.a) == u32::MAX;
        if self.negated || !written || words.iter().any(|slot| slot.width != Width::Narrow(32)) {
            return false;
        }
        let [a, lane, clamp] =
            [self.a, self.lane, self.clamp].map(|slot| *registers.narrow(slot.index));
        let (mut d, mut p) = ([0; LANES], 0);
        for at in 0..LANES {
            let contribution = Contribution { a: 0, lane: lane[at], clamp: clamp[at] };
            let (source, inside) = shuffle_source(mode, at as u32, contribution);
            d[at] = a[source as usize % LANES];
            p |= u32::from(inside) << at;
        }
        *registers.narrow_mut(self.d.index) = d;
        registers.predicates[self.p.index as usize] = p;
        registers.define(self.d, u32::MAX, u32::MAX);
        true
    }

    /// Collects the contributions of the active lanes.
    pub(super) fn collect_from(&self, registers: &Registers, mask: u32, all: &mut Contributions) {
        all.known |= registers.defined(self.a) & mask;
        for lane in lanes(mask) {
            all.by_lane[lane] = Contribution {
                a: registers.get(self.a, lane) ^ u64::from(self.negated),
                lane: registers.get(self.lane, lane) as u32,
                clamp: registers.get(self.clamp, lane) as u32,
            };
        }
    }

    /// Reports a problem if a lane of `mask` shuffles from a lane that doesn't participate.
    pub(super) fn require_sources(&self, mask: u32, members: u32, all: &Contributions) -> Outcome {
        let CollectiveKind::Shuffle(mode) = self.kind else { return Ok(()) };
        for lane in lanes(mask) {
            let (source, _) = shuffle_source(mode, lane as u32, all.by_lane[lane]);
            if members & 1 << source == 0 {
                let message = format!(
                    "lane {lane} reads the value of lane {source}, which does not take part: lanes {members:#010x} do"
                );
                return Err(Problem::new(FaultKind::InactiveLane, message).lane(lane).note(
                    "the value that it reads is undefined: let all lanes shuffle, or narrow the segment",
                ));
            }
        }
        Ok(())
    }

    /// Writes the results of the lanes in `mask`, given the participating `members`.
    pub(super) fn write_results(
        &self,
        registers: &mut Registers,
        mask: u32,
        members: u32,
        all: &Contributions,
    ) {
        let values = || lanes(members).map(|lane| all.by_lane[lane].a);
        match self.kind {
            CollectiveKind::Barrier | CollectiveKind::Converge => {}
            CollectiveKind::Shuffle(mode) => {
                let mut known = 0;
                for lane in lanes(mask) {
                    let (source, inside) = shuffle_source(mode, lane as u32, all.by_lane[lane]);
                    registers.set(self.d, lane, all.by_lane[source as usize].a);
                    registers.set(self.p, lane, u64::from(inside));
                    known |= (all.known >> source & 1) << lane;
                }
                // A lane may contribute an uninitialised value, as long as no lane reads it.
                registers.define(self.d, mask, known);
            }
            CollectiveKind::Vote(mode) => {
                let ballot = lanes(members)
                    .fold(0, |ballot, lane| ballot | ((all.by_lane[lane].a & 1) as u32) << lane);
                let result = match mode {
                    Vote::All => u64::from(ballot == members),
                    Vote::Any => u64::from(ballot != 0),
                    Vote::Uniform => u64::from(ballot == 0 || ballot == members),
                    Vote::Ballot => u64::from(ballot),
                };
                lanes(mask).for_each(|lane| registers.set(self.d, lane, result));
            }
            CollectiveKind::MatchAny => {
                for lane in lanes(mask) {
                    let same = lanes(members)
                        .filter(|&other| all.by_lane[other].a == all.by_lane[lane].a)
                        .fold(0u32, |same, other| same | 1 << other);
                    registers.set(self.d, lane, u64::from(same));
                }
            }
            CollectiveKind::MatchAll => {
                let first = values().next();
                let same = values().all(|value| Some(value) == first);
                for lane in lanes(mask) {
                    registers.set(self.d, lane, if same { u64::from(members) } else { 0 });
                    registers.set(self.p, lane, u64::from(same));
                }
            }
            CollectiveKind::Reduce(op, ty) => {
                let combine = |a, b| match op {
                    Atomic::Add => {
                        arithmetic::int_binary(IntBinary::Add { saturate: false }, ty, a, b)
                    }
                    Atomic::Min => arithmetic::int_binary(IntBinary::Min, ty, a, b),
                    Atomic::Max => arithmetic::int_binary(IntBinary::Max, ty, a, b),
                    Atomic::And => a & b,
                    Atomic::Or => a | b,
                    _ => a ^ b,
                };
                let result = values().reduce(combine).unwrap_or(0);
                lanes(mask).for_each(|lane| registers.set(self.d, lane, result));
            }
            CollectiveKind::Elect => {
                let leader = members.trailing_zeros();
                for lane in lanes(mask) {
                    registers.set(self.d, lane, u64::from(leader));
                    registers.set(self.p, lane, u64::from(lane as u32 == leader));
                }
            }
        }
    }
}

/// The lane from which a lane reads, and whether the requested lane is inside the segment (this is
/// the pseudocode of the PTX ISA, "Data Movement and Conversion Instructions: shfl.sync").
fn shuffle_source(mode: Shuffle, lane: u32, contribution: Contribution) -> (u32, bool) {
    let distance = contribution.lane & 0x1f;
    let clamp = contribution.clamp & 0x1f;
    let segment = contribution.clamp >> 8 & 0x1f;
    let last = lane & segment | clamp & !segment & 0x1f;
    let first = lane & segment;
    let (source, inside) = match mode {
        // For `up` the clamp is the lower bound of the lanes.
        Shuffle::Up => {
            (lane.wrapping_sub(distance), lane as i64 - i64::from(distance) >= i64::from(last))
        }
        Shuffle::Down => (lane + distance, lane + distance <= last),
        Shuffle::Butterfly => (lane ^ distance, lane ^ distance <= last),
        Shuffle::Index => {
            let source = first | distance & !segment & 0x1f;
            (source, source <= last)
        }
    };
    (if inside { source & 0x1f } else { lane }, inside)
}

#[cfg(test)]
mod tests {
    use super::super::registers::{FIRST_PREDICATE, FIRST_ROW};
    use super::*;

    fn sources(mode: Shuffle, distance: u32, clamp: u32) -> Vec<(u32, bool)> {
        (0..32)
            .map(|lane| shuffle_source(mode, lane, Contribution { a: 0, lane: distance, clamp }))
            .collect()
    }

    #[test]
    fn shuffle_by_rows_equals_shuffle_by_lanes() {
        let narrow = |index| Slot { index, width: Width::Narrow(32) };
        let p = Slot { index: FIRST_PREDICATE, width: Width::Predicate };
        let [a, lane, clamp, d] = [0, 1, 2, 3].map(|row| narrow(FIRST_ROW + row));
        let word = |seed: u32| (seed.wrapping_mul(0x9e37_79b9) >> 7).wrapping_mul(0x85eb_ca6b);
        let modes = [Shuffle::Up, Shuffle::Down, Shuffle::Butterfly, Shuffle::Index];
        for (round, mode) in (0..400).flat_map(|round| modes.map(|mode| (round, mode))) {
            let kind = CollectiveKind::Shuffle(mode);
            let shuffle = Collective { kind, members: None, a, negated: false, lane, clamp, d, p };
            let mut registers = Registers::new(d.index + 1, p.index + 1).unwrap();
            for at in 0..LANES as u32 {
                registers.set(a, at as usize, u64::from(word(at + round * 91)));
                // Even rounds use one value for all lanes, odd rounds a different one for each.
                let own = if round % 2 == 0 { 0 } else { at };
                registers.set(lane, at as usize, u64::from(word(own + round * 97) >> 9));
                registers.set(clamp, at as usize, u64::from(word(own + round * 101) >> 11));
            }
            let mut by_rows = registers.clone();
            assert!(shuffle.shuffle_rows(&mut by_rows));
            let mut all = Contributions::default();
            shuffle.collect_from(&registers, u32::MAX, &mut all);
            shuffle.write_results(&mut registers, u32::MAX, u32::MAX, &all);
            assert_eq!(by_rows.narrow(d.index), registers.narrow(d.index), "{mode:?} {round}");
            assert_eq!(by_rows.predicates, registers.predicates, "{mode:?} {round}");
        }
    }

    #[test]
    fn shuffle_reads_inside_its_segment_or_from_itself() {
        // __shfl_down_sync(…, 16): c = 31.
        let down = sources(Shuffle::Down, 16, 0x1f);
        assert_eq!((down[0], down[15], down[16]), ((16, true), (31, true), (16, false)));
        // __shfl_up_sync(…, 1): c = 0.
        let up = sources(Shuffle::Up, 1, 0);
        assert_eq!((up[0], up[1], up[31]), ((0, false), (0, true), (30, true)));
        // __shfl_xor_sync(…, 1).
        let xor = sources(Shuffle::Butterfly, 1, 0x1f);
        assert_eq!((xor[0], xor[31]), ((1, true), (30, true)));
        // Width 8: c = ((32 - 8) << 8) | 31.
        let eight = sources(Shuffle::Index, 3, 0x181f);
        assert_eq!((eight[0], eight[9], eight[31]), ((3, true), (11, true), (27, true)));
        let eight = sources(Shuffle::Down, 4, 0x181f);
        assert_eq!((eight[3], eight[4], eight[8]), ((7, true), (4, false), (12, true)));
    }
}
