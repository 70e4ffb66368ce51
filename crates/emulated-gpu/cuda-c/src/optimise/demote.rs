//! Demotion to memory of values that are used after a loop, so that the loop can be copied without
//! changing their uses. `promote` makes them values again.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::rewrite::defining_blocks;
use crate::ir::{Access, BlockId, Function, Inst, Memory, NaturalLoop, Op, Terminator, Ty, Value};

/// A value that is stored in memory.
struct DemotedValue {
    memory: Memory,
    address: Value,
}

/// Demotes the values that are computed in a loop and used after it.
pub(super) fn demote(function: &mut Function, own: &NaturalLoop) {
    let homes = defining_blocks(function);
    let inside = |value: Value| own.blocks.contains(&homes[value.0 as usize]);
    let mut outside: Vec<Value> = Vec::new();
    let mut seen: HashSet<Value> = HashSet::default();
    let mut readers: Vec<BlockId> = Vec::new();
    for id in function.ids().filter(|id| !own.blocks.contains(id)) {
        let block = function.block(id);
        let args = block.insts.iter().flat_map(|value| function.inst(*value).args.iter().copied());
        for value in args.chain(block.end.values()) {
            if matches!(function.inst(value).op, Op::Const(_)) || !inside(value) {
                continue;
            }
            if readers.last() != Some(&id) {
                readers.push(id);
            }
            if seen.insert(value) {
                outside.push(value);
            }
        }
    }
    if outside.is_empty() {
        return;
    }
    let mut demoted: HashMap<Value, DemotedValue> = HashMap::default();
    let mut addresses = Vec::new();
    let mut stores: HashMap<Value, Vec<Value>> = HashMap::default();
    for &value in &outside {
        let own = store(function, value, stores.entry(value).or_default());
        addresses.push(own.address);
        demoted.insert(value, own);
    }
    addresses.reverse();
    function.block_mut(Function::ENTRY).insts.splice(0..0, addresses);
    for id in own.blocks.iter().copied() {
        let block = function.block(id);
        if !block.params.iter().chain(&block.insts).any(|value| stores.contains_key(value)) {
            continue;
        }
        let stores_of = |value: &Value| stores.get(value).into_iter().flatten().copied();
        let first = block.params.iter().rev().flat_map(stores_of);
        let rest =
            block.insts.iter().flat_map(|value| [*value].into_iter().chain(stores_of(value)));
        let insts = first.chain(rest).collect();
        function.block_mut(id).insts = insts;
    }
    let order: HashMap<Value, usize> =
        outside.iter().enumerate().map(|(place, value)| (*value, place)).collect();
    for id in readers {
        let insts = std::mem::take(&mut function.block_mut(id).insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts {
            let mut args = std::mem::take(&mut function.inst_mut(inst).args);
            replace_by_loads(function, args.iter_mut(), &order, &demoted, &mut kept);
            function.inst_mut(inst).args = args;
            kept.push(inst);
        }
        let mut end = std::mem::replace(&mut function.block_mut(id).end, Terminator::Unreachable);
        replace_by_loads(function, end.values_mut(), &order, &demoted, &mut kept);
        let block = function.block_mut(id);
        (block.insts, block.end) = (kept, end);
    }
}

/// Replaces uses of demoted values by loads. Several uses in one instruction share a load.
fn replace_by_loads<'a>(
    function: &mut Function,
    places: impl Iterator<Item = &'a mut Value>,
    order: &HashMap<Value, usize>,
    demoted: &HashMap<Value, DemotedValue>,
    kept: &mut Vec<Value>,
) {
    let mut places: Vec<&mut Value> = places.filter(|place| order.contains_key(place)).collect();
    places.sort_by_key(|place| order[*place]);
    let mut last: Option<(Value, Value)> = None;
    for place in places {
        let read = match last {
            Some((value, read)) if value == *place => read,
            _ => {
                let ty = function.inst(*place).ty;
                let span = function.inst(*place).span;
                reload(function, &demoted[place], ty, span, kept)
            }
        };
        last = Some((*place, read));
        *place = read;
    }
}

/// Allocates memory for a value, and appends the store.
fn store(function: &mut Function, value: Value, added: &mut Vec<Value>) -> DemotedValue {
    let (ty, span) = (function.inst(value).ty, function.inst(value).span);
    let memory = match ty {
        Ty::F32 => Memory::F32,
        Ty::F64 => Memory::F64,
        Ty::I64 => Memory::B64,
        Ty::B16 => Memory::B16,
        _ => Memory::B32,
    };
    let slot = function.new_slot(8, 8);
    let address = function.value(Inst { op: Op::Slot(slot), ty: Ty::I64, args: Vec::new(), span });
    let op = Op::Store(Access::plain(memory));
    let mut stored = value;
    if ty == Ty::Pred {
        let op = Op::Convert(crate::ir::Convert::FromBool);
        stored = function.value(Inst { op, ty: Ty::I32, args: vec![value], span });
        added.push(stored);
    }
    added.push(function.value(Inst { op, ty: Ty::None, args: vec![address, stored], span }));
    DemotedValue { memory, address }
}

fn reload(
    function: &mut Function,
    &DemotedValue { memory, address }: &DemotedValue,
    ty: Ty,
    span: crate::source::Span,
    place: &mut Vec<Value>,
) -> Value {
    let op = Op::Load(Access::plain(memory));
    let read = function.value(Inst { op, ty: memory.ty(), args: vec![address], span });
    place.push(read);
    if ty != Ty::Pred {
        return read;
    }
    let zero = function.constant(Ty::I32, 0);
    let op = Op::Compare(crate::ir::Compare::Ne, crate::ir::CompareKind::Signed);
    let truth = function.value(Inst { op, ty, args: vec![read, zero], span });
    place.push(truth);
    truth
}
