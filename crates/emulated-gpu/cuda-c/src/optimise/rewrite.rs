//! Helpers for several passes: replacing values, and removing dead code.

use crate::ir::{BlockId, Effect, Function, Op, Value};

/// Values to be replaced, and their replacements (a union-find structure).
#[derive(Debug)]
pub(super) struct Replacements(Vec<Value>);

impl Replacements {
    pub(super) fn new(function: &Function) -> Self {
        Self((0..function.values.len() as u32).map(Value).collect())
    }

    fn ensure_entry(&mut self, value: Value) {
        while self.0.len() <= value.0 as usize {
            self.0.push(Value(self.0.len() as u32));
        }
    }

    pub(super) fn find(&mut self, value: Value) -> Value {
        self.ensure_entry(value);
        let mut root = value;
        while self.0[root.0 as usize] != root {
            root = self.0[root.0 as usize];
            self.ensure_entry(root);
        }
        let mut at = value;
        while self.0[at.0 as usize] != root {
            at = std::mem::replace(&mut self.0[at.0 as usize], root);
        }
        root
    }

    pub(super) fn set(&mut self, value: Value, by: Value) {
        let (value, by) = (self.find(value), self.find(by));
        if value != by {
            self.0[value.0 as usize] = by;
        }
    }

    /// Replaces all uses in the function.
    pub(super) fn apply(&mut self, function: &mut Function) {
        // A value without a name gets the name of the value that it replaces.
        for (value, name) in std::mem::take(&mut function.variables) {
            let root = self.find(value);
            if !matches!(function.inst(root).op, Op::Const(_)) {
                function.variables.entry(root).or_insert(name);
            }
        }
        for id in function.ids() {
            let insts = std::mem::take(&mut function.block_mut(id).insts);
            for &value in &insts {
                for index in 0..function.inst(value).args.len() {
                    let arg = function.inst(value).args[index];
                    function.inst_mut(value).args[index] = self.find(arg);
                }
            }
            function.block_mut(id).insts = insts;
            for value in function.block_mut(id).end.values_mut() {
                *value = self.find(*value);
            }
        }
    }
}

/// The block in which each value is defined; the entry for constants.
pub(super) fn defining_blocks(function: &Function) -> Vec<BlockId> {
    let mut homes = vec![Function::ENTRY; function.values.len()];
    for id in function.ids() {
        let block = function.block(id);
        for value in block.insts.iter().chain(&block.params) {
            homes[value.0 as usize] = id;
        }
    }
    homes
}

/// Removes the instructions and block parameters that no side effect depends on. Returns whether
/// there were any.
pub(crate) fn drop_dead(function: &mut Function) -> bool {
    let mut live = vec![false; function.values.len()];
    let mut work: Vec<Value> = Vec::new();
    // The arguments that jumps pass for each block parameter.
    let mut incoming: Vec<Vec<Value>> = vec![Vec::new(); function.values.len()];
    for id in function.ids() {
        let block = function.block(id);
        for target in block.end.targets() {
            for (param, arg) in function.block(target.block).params.iter().zip(&target.args) {
                incoming[param.0 as usize].push(*arg);
            }
        }
        if let crate::ir::Terminator::Branch { condition, .. } = &block.end {
            work.push(*condition);
        }
        work.extend(
            block.insts.iter().filter(|value| function.inst(**value).op.effect() == Effect::Acts),
        );
    }
    while let Some(value) = work.pop() {
        if std::mem::replace(&mut live[value.0 as usize], true) {
            continue;
        }
        work.extend(&function.inst(value).args);
        work.extend(&incoming[value.0 as usize]);
    }
    let is_live = |value: &Value| live[value.0 as usize];
    let mut changed = false;
    for id in function.ids() {
        let mut end =
            std::mem::replace(&mut function.block_mut(id).end, crate::ir::Terminator::Unreachable);
        for target in end.targets_mut() {
            let params = &function.block(target.block).params;
            let mut index = 0;
            target.args.retain(|_| {
                index += 1;
                is_live(&params[index - 1])
            });
        }
        let block = function.block_mut(id);
        block.end = end;
        let before = block.insts.len();
        block.insts.retain(is_live);
        changed |= block.insts.len() < before;
    }
    // The parameters themselves are removed after all jumps have been updated.
    for id in function.ids() {
        let params = &mut function.block_mut(id).params;
        let before = params.len();
        params.retain(is_live);
        changed |= params.len() < before;
    }
    changed
}
