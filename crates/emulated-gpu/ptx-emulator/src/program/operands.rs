//! The registers that an instruction reads and writes, with their types.

use super::modes::{Atomic, BarrierAction, IntBinary, IntUnary, Vote};
use super::op::{CallArgument, Op};
use super::operand::{Destination, Operand, Read, Written, base};
use super::types::Type;

impl Op {
    /// The operands that it reads, in the order of the PTX text, including immediate operands. Memory is not
    /// included, only the registers of addresses.
    #[must_use]
    pub fn reads(&self) -> Vec<Read> {
        let all = |ty: Type, operands: &[&Operand]| -> Vec<Read> {
            operands.iter().map(|&&operand| (operand, Some(ty))).collect()
        };
        let and = |mut list: Vec<Read>, more: Vec<Read>| {
            list.extend(more);
            list
        };
        match self {
            Self::Mov { ty, a, .. }
            | Self::Unpack { ty, a, .. }
            | Self::IntUnary { ty, a, .. }
            | Self::FloatUnary { ty, a, .. }
            | Self::TestProperty { ty, a, .. }
            | Self::ConvertAddress { ty, a, .. } => all(*ty, &[a]),
            Self::Pack { parts, part, .. } => all(*part, &parts.iter().collect::<Vec<_>>()),
            Self::IntBinary { op, ty, a, b, .. } => {
                let shift = matches!(op, IntBinary::ShiftLeft | IntBinary::ShiftRight);
                let second = if shift { Type::U32 } else { *ty };
                and(all(*ty, &[a]), all(second, &[b]))
            }
            Self::IntMad { product, ty, a, b, c, .. } => {
                let sum = if *product == IntBinary::MulWide { ty.doubled() } else { *ty };
                and(all(*ty, &[a, b]), all(sum, &[c]))
            }
            Self::Carry { ty, a, b, c, .. } => {
                and(all(*ty, &[a, b]), c.iter().map(|&c| (c, Some(*ty))).collect())
            }
            Self::FloatBinary { ty, a, b, .. } => all(*ty, &[a, b]),
            Self::Sad { ty, a, b, c, .. } | Self::Fma { ty, a, b, c, .. } => all(*ty, &[a, b, c]),
            Self::BitExtract { ty, a, position, length, .. } => {
                and(all(*ty, &[a]), all(Type::U32, &[position, length]))
            }
            Self::BitInsert { ty, a, b, position, length, .. } => {
                and(all(*ty, &[a, b]), all(Type::U32, &[position, length]))
            }
            Self::FindNthSet { mask, base, offset, .. } => and(
                all(Type::B32, &[mask]),
                and(all(Type::U32, &[base]), all(Type::S32, &[offset])),
            ),
            Self::Lop3 { a, b, c, predicate, .. } => and(
                all(Type::B32, &[a, b, c]),
                predicate.iter().map(|(_, _, q)| (*q, Some(Type::Pred))).collect(),
            ),
            Self::FunnelShift { a, b, c, .. } => and(all(Type::B32, &[a, b]), all(Type::U32, &[c])),
            Self::Permute { a, b, c, .. } => all(Type::B32, &[a, b, c]),
            Self::Video { a, b, c, .. } => {
                and(all(Type::B32, &[a, b]), c.iter().map(|&c| (c, Some(Type::B32))).collect())
            }
            Self::DotProduct { a_signed, b_signed, a, b, c, .. } => {
                let sum = if *a_signed || *b_signed { Type::S32 } else { Type::U32 };
                and(all(Type::B32, &[a, b]), all(sum, &[c]))
            }
            Self::SetPredicate { combine, ty, a, b, .. } | Self::Set { combine, ty, a, b, .. } => {
                and(
                    all(*ty, &[a, b]),
                    combine.iter().map(|(_, c)| (*c, Some(Type::Pred))).collect(),
                )
            }
            Self::Select { ty, a, b, c, .. } => and(all(*ty, &[a, b]), all(Type::Pred, &[c])),
            Self::SelectBySign { ty, sign, a, b, c, .. } => {
                and(all(*ty, &[a, b]), all(*sign, &[c]))
            }
            Self::Convert { from, a, b, .. } => {
                and(all(*from, &[a]), b.iter().map(|&b| (b, Some(*from))).collect())
            }
            Self::IsSpace { a, .. } => all(Type::B64, &[a]),
            Self::Load { address, .. } => base(address),
            Self::Store { ty, address, a, .. } => {
                and(base(address), all(*ty, &a.iter().collect::<Vec<_>>()))
            }
            Self::Atomic { ty, address, b, c, .. } => {
                let operands: Vec<&Operand> = std::iter::once(b).chain(c).collect();
                and(base(address), all(*ty, &operands))
            }
            Self::Hint { address, .. } => base(address),
            Self::Asynchronous(asynchronous) => asynchronous.reads(),
            Self::Texture(texture) => texture.reads(),
            Self::BranchIndexed { index, .. } => all(Type::U32, &[index]),
            Self::Call { callee, arguments, .. } => {
                let callee = std::iter::once(callee).filter(|o| matches!(o, Operand::Register(_)));
                let callee = callee.map(|&callee| (callee, Some(Type::U64)));
                let arguments = arguments.iter().filter_map(|argument| match argument {
                    CallArgument::Operand(operand) => Some((*operand, None)),
                    CallArgument::Variable(_) => None,
                });
                callee.chain(arguments).collect()
            }
            Self::Barrier { action, barrier, threads, .. } => {
                let numbers: Vec<&Operand> = std::iter::once(barrier).chain(threads).collect();
                let predicate = match action {
                    BarrierAction::Reduce { predicate, .. } => all(Type::Pred, &[predicate]),
                    BarrierAction::Sync | BarrierAction::Arrive => Vec::new(),
                };
                and(all(Type::U32, &numbers), predicate)
            }
            Self::WarpBarrier { mask } | Self::Elect { mask, .. } => all(Type::B32, &[mask]),
            Self::Shuffle { a, lane, clamp, mask, .. } => and(
                and(all(Type::B32, &[a]), all(Type::U32, &[lane, clamp])),
                mask.iter().map(|&mask| (mask, Some(Type::B32))).collect(),
            ),
            Self::Vote { a, mask, .. } => and(
                all(Type::Pred, &[a]),
                mask.iter().map(|&mask| (mask, Some(Type::B32))).collect(),
            ),
            Self::Match { ty, a, mask, .. } | Self::Reduce { ty, a, mask, .. } => {
                and(all(*ty, &[a]), all(Type::B32, &[mask]))
            }
            Self::StackAllocate { size: a, .. } | Self::StackRestore { a } => all(Type::U64, &[a]),
            Self::Matrix(matrix) => matrix.reads(),
            Self::StackSave { .. } => Vec::new(),
            Self::Fence { .. }
            | Self::Branch { .. }
            | Self::Return
            | Self::Exit
            | Self::Trap
            | Self::Nothing
            | Self::ActiveMask { .. } => Vec::new(),
        }
    }

    /// The registers that it writes, in the order of the PTX text. Memory is not included.
    #[must_use]
    pub fn writes(&self) -> Vec<Written> {
        let one = |d: &Destination, ty: Type| -> Vec<Written> {
            d.iter().map(|&register| (register, Some(ty))).collect()
        };
        let two = |d: &Destination, ty: Type, p: &Destination| {
            let mut list = one(d, ty);
            list.extend(one(p, Type::Pred));
            list
        };
        let many = |list: &[Destination], ty: Type| -> Vec<Written> {
            list.iter().flatten().map(|&register| (register, Some(ty))).collect()
        };
        match self {
            Self::Mov { ty, d, .. }
            | Self::Pack { ty, d, .. }
            | Self::Carry { ty, d, .. }
            | Self::Sad { ty, d, .. }
            | Self::BitExtract { ty, d, .. }
            | Self::BitInsert { ty, d, .. }
            | Self::Select { ty, d, .. }
            | Self::SelectBySign { ty, d, .. }
            | Self::FloatUnary { ty, d, .. }
            | Self::FloatBinary { ty, d, .. }
            | Self::Fma { ty, d, .. }
            | Self::ConvertAddress { ty, d, .. }
            | Self::Reduce { ty, d, .. } => one(d, *ty),
            Self::IntUnary { op, ty, d, .. } => {
                let counts = matches!(op, IntUnary::PopC | IntUnary::Clz | IntUnary::BFind { .. });
                one(d, if counts { Type::U32 } else { *ty })
            }
            Self::IntBinary { op: product, ty, d, .. } | Self::IntMad { product, ty, d, .. } => {
                one(d, if *product == IntBinary::MulWide { ty.doubled() } else { *ty })
            }
            Self::Unpack { parts, part, .. } => many(parts, *part),
            Self::FindNthSet { d, .. } => one(d, Type::U32),
            Self::FunnelShift { d, .. }
            | Self::Permute { d, .. }
            | Self::Video { d, .. }
            | Self::ActiveMask { d } => one(d, Type::B32),
            Self::Lop3 { d, predicate, .. } => {
                two(d, Type::B32, &predicate.as_ref().map(|(_, p, _)| *p))
            }
            Self::DotProduct { a_signed, b_signed, d, .. } => {
                one(d, if *a_signed || *b_signed { Type::S32 } else { Type::U32 })
            }
            Self::SetPredicate { p, q, .. } => many(&[*p, *q], Type::Pred),
            Self::Set { result, d, .. } => one(d, *result),
            Self::TestProperty { d, .. } | Self::IsSpace { d, .. } => one(d, Type::Pred),
            Self::Convert { to, d, .. } => one(d, *to),
            Self::Load { ty, d, .. } => many(d, *ty),
            Self::Atomic { ty, d, .. } => one(&d.flatten(), *ty),
            Self::Call { results, .. } => results
                .iter()
                .filter_map(|result| match result {
                    CallArgument::Operand(Operand::Register(register)) => Some((*register, None)),
                    _ => None,
                })
                .collect(),
            Self::Barrier {
                action: BarrierAction::Reduce { operation, destination, .. }, ..
            } => {
                let counts = *operation == Atomic::Add;
                one(destination, if counts { Type::U32 } else { Type::Pred })
            }
            Self::Shuffle { d, p, .. } | Self::Match { d, p, .. } => two(d, Type::B32, p),
            Self::Elect { d, p, .. } => two(d, Type::U32, p),
            Self::Vote { mode, d, .. } => {
                one(d, if *mode == Vote::Ballot { Type::B32 } else { Type::Pred })
            }
            Self::StackAllocate { d, .. } | Self::StackSave { d } => one(d, Type::U64),
            Self::Matrix(matrix) => matrix.writes(),
            Self::Asynchronous(asynchronous) => asynchronous.writes(),
            Self::Texture(texture) => texture.writes(),
            Self::StackRestore { .. } => Vec::new(),
            Self::Store { .. }
            | Self::Fence { .. }
            | Self::Hint { .. }
            | Self::Branch { .. }
            | Self::BranchIndexed { .. }
            | Self::Return
            | Self::Exit
            | Self::Trap
            | Self::Nothing
            | Self::Barrier { .. }
            | Self::WarpBarrier { .. } => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Register;
    use crate::source::Source;

    /// The names that each instruction of a body reads and writes.
    fn read_and_written_names(body: &str) -> Vec<(Vec<String>, Vec<String>)> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{{\n\
             .reg .pred %p, %q; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>;\n{body}\n}}\n"
        );
        let source = Source { name: "a.ptx".into(), text };
        let module = crate::parse(&source).unwrap_or_else(|list| panic!("{}", list[0]));
        let function = &module.functions[0];
        let name = |register: &Register| function.registers[register.0 as usize].name.clone();
        let instructions = function.body.as_deref().unwrap();
        instructions
            .iter()
            .map(|instruction| {
                let reads = instruction.op.reads();
                let reads = reads.iter().filter_map(|(operand, _)| match operand {
                    Operand::Register(register) | Operand::Not(register) => Some(name(register)),
                    _ => None,
                });
                let writes = instruction.op.writes();
                (reads.collect(), writes.iter().map(|(register, _)| name(register)).collect())
            })
            .collect()
    }

    #[test]
    fn registers_are_listed_in_the_order_of_the_text() {
        let found = read_and_written_names(
            "mad.wide.u32 %d0, %r1, %r2, %d3;
             setp.lt.and.f32 %p|%q, %f1, %f2, !%p;
             ld.global.v2.f32 {%f1, %f2}, [%d1+8];
             st.global.f32 [%d2], %f3;
             atom.global.cas.b32 %r0, [%d1], %r1, %r2;
             shfl.sync.bfly.b32 %r0|%p, %r1, %r2, 31, %r3;
             bar.red.popc.u32 %r0, %r1, %q;
             ret;",
        );
        let list =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        let expected = [
            ("%r1 %r2 %d3", "%d0"),
            ("%f1 %f2 %p", "%p %q"),
            ("%d1", "%f1 %f2"),
            ("%d2 %f3", ""),
            ("%d1 %r1 %r2", "%r0"),
            ("%r1 %r2 %r3", "%r0 %p"),
            ("%r1 %q", "%r0"),
            ("", ""),
        ];
        assert_eq!(found, expected.map(|(reads, writes)| (list(reads), list(writes))));
    }
}
