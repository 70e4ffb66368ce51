//! Inference of the memory space of each address, so that accesses through C's pointers become
//! `ld.global`, `st.shared` and so on. An address that is stored, compared or mixed with others is
//! first converted to a generic address.

use rustc_hash::FxHashMap as HashMap;

use crate::ir::{Function, Global, Graph, Inst, Op, Space, Terminator, Ty, Value};

pub(super) fn run(function: &mut Function, globals: &[Global]) {
    let spaces = infer_spaces(function, globals);
    let mut converter = Converter { spaces, global: HashMap::default() };
    converter.rewrite(function);
}

/// The space of each value that is an address: `None` while it is unknown, generic if it can be any
/// space.
fn infer_spaces(function: &Function, globals: &[Global]) -> Vec<Option<Space>> {
    let graph = Graph::new(function);
    let mut spaces: Vec<Option<Space>> = vec![None; function.values.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for &id in &graph.order {
            let block = function.block(id);
            for (index, &param) in block.params.iter().enumerate() {
                if function.inst(param).ty != Ty::I64 {
                    continue;
                }
                let mut space = None;
                for &pred in graph.preds(id) {
                    for target in function.block(pred).end.targets() {
                        if target.block == id {
                            space = common_space(
                                space,
                                argument_space(function, &spaces, target.args[index]),
                            );
                        }
                    }
                }
                changed |= set(&mut spaces, param, space);
            }
            for &value in &block.insts {
                let inst = function.inst(value);
                if inst.ty != Ty::I64 {
                    continue;
                }
                let space = match &inst.op {
                    Op::Slot(_) => Some(Space::Local),
                    Op::Global(number) => Some(globals[*number as usize].space),
                    Op::ParamAddress(_) => Some(Space::Param),
                    Op::Param(index) if function.params[*index as usize].is_pointer => {
                        Some(Space::Global)
                    }
                    Op::PtrAdd => spaces[inst.args[0].0 as usize].or_else(|| {
                        matches!(function.inst(inst.args[0]).op, Op::Const(_))
                            .then_some(Space::Generic)
                    }),
                    Op::Select => common_space(
                        argument_space(function, &spaces, inst.args[1]),
                        argument_space(function, &spaces, inst.args[2]),
                    ),
                    _ => Some(Space::Generic),
                };
                changed |= set(&mut spaces, value, space);
            }
        }
    }
    spaces
}

fn argument_space(function: &Function, spaces: &[Option<Space>], value: Value) -> Option<Space> {
    if matches!(function.inst(value).op, Op::Const(_)) {
        Some(Space::Generic)
    } else {
        spaces[value.0 as usize]
    }
}

fn common_space(a: Option<Space>, b: Option<Space>) -> Option<Space> {
    match (a, b) {
        (None, other) | (other, None) => other,
        (Some(a), Some(b)) => Some(if a == b { a } else { Space::Generic }),
    }
}

fn set(spaces: &mut [Option<Space>], value: Value, space: Option<Space>) -> bool {
    let changed = spaces[value.0 as usize] != space;
    spaces[value.0 as usize] = space;
    changed
}

struct Converter {
    spaces: Vec<Option<Space>>,
    /// Pointer parameters, converted to global addresses.
    global: HashMap<Value, Value>,
}

impl Converter {
    fn space(&self, value: Value) -> Space {
        self.spaces.get(value.0 as usize).copied().flatten().unwrap_or(Space::Generic)
    }

    fn is_parameter(&self, function: &Function, value: Value) -> bool {
        matches!(function.inst(value).op, Op::Param(_)) && self.space(value) == Space::Global
    }

    /// Converts an address to an address in its own space.
    fn in_own_space(&mut self, function: &mut Function, value: Value) -> Value {
        if !self.is_parameter(function, value) {
            return value;
        }
        if let Some(known) = self.global.get(&value) {
            return *known;
        }
        let span = function.inst(value).span;
        let op = Op::ToSpace(Space::Global);
        let converted = function.value(Inst { op, ty: Ty::I64, args: vec![value], span });
        self.global.insert(value, converted);
        converted
    }

    /// Converts an address to a generic address.
    fn generic(&mut self, function: &mut Function, value: Value, place: &mut Vec<Value>) -> Value {
        let space = self.space(value);
        if space == Space::Generic || self.is_parameter(function, value) {
            return value;
        }
        let span = function.inst(value).span;
        let op = Op::ToGeneric(space);
        let converted = function.value(Inst { op, ty: Ty::I64, args: vec![value], span });
        place.push(converted);
        converted
    }

    fn rewrite(&mut self, function: &mut Function) {
        for id in function.ids() {
            let insts = std::mem::take(&mut function.block_mut(id).insts);
            let mut kept = Vec::with_capacity(insts.len());
            for value in insts {
                let mut inst = function.inst(value).clone();
                let addressed = match &inst.op {
                    Op::Load(_) | Op::Store(_) => true,
                    Op::Template(template) => template.text.contains("{s}"),
                    _ => false,
                };
                for index in 0..inst.args.len() {
                    let arg = inst.args[index];
                    if function.inst(arg).ty != Ty::I64 {
                        continue;
                    }
                    let keeps = match &inst.op {
                        _ if addressed => index == 0,
                        Op::PtrAdd => index == 0,
                        Op::Select => {
                            self.space(value) != Space::Generic
                                && self.space(value) == self.space(arg)
                        }
                        _ => false,
                    };
                    inst.args[index] = if keeps {
                        self.in_own_space(function, arg)
                    } else {
                        self.generic(function, arg, &mut kept)
                    };
                }
                *function.inst_mut(value) = inst;
                kept.push(value);
            }
            let mut end =
                std::mem::replace(&mut function.block_mut(id).end, Terminator::Unreachable);
            for target in end.targets_mut() {
                for (index, arg) in target.args.iter_mut().enumerate() {
                    if function.inst(*arg).ty != Ty::I64 {
                        continue;
                    }
                    let param = function.block(target.block).params[index];
                    let same = self.space(param) != Space::Generic
                        && self.space(param) == self.space(*arg);
                    *arg = if same {
                        self.in_own_space(function, *arg)
                    } else {
                        self.generic(function, *arg, &mut kept)
                    };
                }
            }
            let block = function.block_mut(id);
            (block.insts, block.end) = (kept, end);
        }
        // The conversions of parameters to global addresses follow the parameters.
        for id in function.ids() {
            let insts = std::mem::take(&mut function.block_mut(id).insts);
            let mut kept = Vec::with_capacity(insts.len());
            for value in insts {
                kept.push(value);
                kept.extend(self.global.get(&value));
            }
            function.block_mut(id).insts = kept;
        }
        self.record_spaces(function);
    }

    /// Records the spaces for the text: in atomic templates, and in the function's list.
    fn record_spaces(&self, function: &mut Function) {
        for id in function.ids() {
            for value in function.block(id).insts.clone() {
                let inst = function.inst(value);
                if let Op::Template(template) = &inst.op
                    && template.text.contains("{s}")
                {
                    let space = self.final_space(function, inst.args[0]);
                    let mut own = (**template).clone();
                    own.text = own.text.replace("{s}", space.name());
                    function.inst_mut(value).op = Op::Template(own.into());
                }
            }
        }
        function.spaces = (0..function.values.len() as u32)
            .map(|number| self.final_space(function, Value(number)))
            .collect();
    }

    fn final_space(&self, function: &Function, value: Value) -> Space {
        match function.inst(value).op {
            Op::ToSpace(space) => space,
            Op::ToGeneric(_) | Op::Param(_) => Space::Generic,
            _ => self.space(value),
        }
    }
}
