//! Emission of steps that compute for every lane: a vectorised operation, or a function that runs
//! lane by lane.

use super::Lowering;
use crate::engine::code::{Action, Compute, Operands};
use crate::engine::registers::{Registers, Slot, Width, lanes};
use crate::program::{Combine, Destination, Operand, Type};

impl Lowering<'_> {
    /// Emits a step that calls a function for each active lane, starting from the lowest.
    pub(super) fn each_lane(&mut self, f: impl Fn(&mut Registers, usize) + Send + Sync + 'static) {
        self.emit(Action::General(Box::new(move |registers, mask| {
            lanes(mask).for_each(|lane| f(registers, lane));
        })));
    }

    pub(super) fn lanes1(
        &mut self,
        d: Slot,
        a: Slot,
        f: impl Fn(u64) -> u64 + Send + Sync + 'static,
    ) {
        self.each_lane(move |registers, lane| {
            let value = f(registers.get(a, lane));
            registers.set(d, lane, value);
        });
    }

    pub(super) fn lanes2(
        &mut self,
        d: Slot,
        (a, b): (Slot, Slot),
        f: impl Fn(u64, u64) -> u64 + Send + Sync + 'static,
    ) {
        self.each_lane(move |registers, lane| {
            let value = f(registers.get(a, lane), registers.get(b, lane));
            registers.set(d, lane, value);
        });
    }

    pub(super) fn lanes3(
        &mut self,
        d: Slot,
        (a, b, c): (Slot, Slot, Slot),
        f: impl Fn(u64, u64, u64) -> u64 + Send + Sync + 'static,
    ) {
        self.each_lane(move |registers, lane| {
            let (a, b) = (registers.get(a, lane), registers.get(b, lane));
            let value = f(a, b, registers.get(c, lane));
            registers.set(d, lane, value);
        });
    }

    /// Emits the vectorised operation, if there is one and all operands have the expected widths.
    /// Returns whether it did.
    pub(super) fn fast(&mut self, compute: Option<Compute>, expected: &[(Slot, Width)]) -> bool {
        let fits = expected.iter().all(|(slot, width)| slot.width == *width);
        let Some(compute) = compute.filter(|_| fits) else { return false };
        let index = |at: usize| expected.get(at).map_or(0, |(slot, _)| slot.index);
        let operands = Operands { d: index(0), a: index(1), b: index(2), c: index(3) };
        self.emit(Action::Compute(compute, operands));
        true
    }

    pub(super) fn three_sources(
        &mut self,
        ty: Type,
        (a, b, c): (Operand, Operand, Operand),
    ) -> (Slot, Slot, Slot) {
        (self.operand(a, ty), self.operand(b, ty), self.operand(c, ty))
    }

    pub(super) fn words(
        &mut self,
        d: Destination,
        operands: (Operand, Operand, Operand),
        f: impl Fn(u32, u32, u32) -> u32 + Send + Sync + 'static,
    ) {
        let operands = self.three_sources(Type::B32, operands);
        let d = self.destination(d, Type::B32);
        self.lanes3(d, operands, move |a, b, c| u64::from(f(a as u32, b as u32, c as u32)));
    }

    pub(super) fn combining(
        &mut self,
        combine: Option<(Combine, Operand)>,
    ) -> Option<(Combine, Slot)> {
        combine.map(|(combine, operand)| (combine, self.operand(operand, Type::Pred)))
    }
}
