//! The variables of a loaded module: allocated and initialised by loading, freed when the module is dropped.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::{Problem, Problems};
use crate::memory::{AllocationKind, Home, Memory};
use crate::program::{Addressed, Linkage, Module, Space, VariableId};
use crate::texture::{Opaque, Sampling};

/// The variables of a module. Dropping them frees their memory.
#[derive(Debug)]
pub(super) struct Variables {
    memory: Arc<Memory>,
    home: Home,
    /// The name, address and size of each variable.
    pub(super) list: Vec<(String, u64, u64)>,
    /// The name and handle of each variable that represents a texture or a surface, and its initial sampling.
    pub(super) opaque: Vec<(String, u64, Opaque, Sampling)>,
}

impl Drop for Variables {
    fn drop(&mut self) {
        for (_, address, ..) in &self.opaque {
            self.memory.bindings().forget(*address);
        }
        let opaque = self.opaque.iter().map(|(_, address, ..)| address);
        for address in self.list.iter().map(|(_, address, _)| address).chain(opaque) {
            // This fails only if the program freed memory that it doesn't own, which can be ignored here.
            let _ = self.memory.free(*address);
        }
    }
}

impl Variables {
    /// An empty list.
    pub(super) fn new(memory: &Arc<Memory>, home: Home) -> Self {
        Self { memory: Arc::clone(memory), home, list: Vec::new(), opaque: Vec::new() }
    }

    /// Allocates and initialises the variables of module scope.
    pub(super) fn allocate(
        &mut self,
        module: &Module,
    ) -> Result<HashMap<VariableId, u64>, Problems> {
        let mut problems = Problems::default();
        let mut addresses = HashMap::new();
        for (index, variable) in module.variables.iter().enumerate() {
            if !matches!(variable.space, Space::Global | Space::Const) {
                continue;
            }
            if variable.linkage == Linkage::Extern {
                let message = format!("`{}` is not defined in this file", variable.name);
                problems.push(
                    Problem::new(variable.span, message)
                        .help("modules are not linked with each other: define it here"),
                );
                continue;
            }
            let name = Some(variable.name.clone());
            let kind = match variable.space {
                Space::Const => AllocationKind::Constant,
                _ => AllocationKind::Variable,
            };
            let align = variable.align.max(1);
            match self.memory.allocate_as(variable.size, align, kind, name, self.home) {
                Ok(address) => {
                    let name = variable.name.clone();
                    if let Some((kind, sampling)) = variable.opaque {
                        self.memory.bindings().declare(address, kind);
                        self.opaque.push((name, address, kind, sampling));
                    } else {
                        self.list.push((name, address, variable.size));
                    }
                    addresses.insert(VariableId(index as u32), address);
                }
                Err(error) => {
                    let problem = Problem::new(variable.span, error.to_string());
                    problems.push(problem.out_of_memory());
                }
            }
        }
        for (index, variable) in module.variables.iter().enumerate() {
            let id = VariableId(index as u32);
            let (Some(initial), Some(&address)) = (&variable.initial, addresses.get(&id)) else {
                continue;
            };
            // The remaining bytes are already zero.
            let mut bytes = initial.bytes.clone();
            for part in &initial.addresses {
                let target = match part.of {
                    Addressed::Variable(id) => addresses.get(&id).copied(),
                    Addressed::Function(id) => Some(crate::engine::function_address(id)),
                };
                let Some(target) = target else {
                    let message = "the address of a variable is not known before a launch";
                    problems.push(Problem::new(variable.span, message));
                    continue;
                };
                let value = target.wrapping_add_signed(part.offset).to_le_bytes();
                let value = match part.byte {
                    Some(byte) => &value[usize::from(byte)..][..1],
                    None => &value[..],
                };
                for (byte, value) in bytes.iter_mut().skip(part.at as usize).zip(value) {
                    *byte = *value;
                }
            }
            if self.memory.write(address, &bytes).is_err() {
                let message = format!("the initial value of `{}` is longer than it", variable.name);
                problems.push(Problem::new(variable.span, message));
            }
        }
        if problems.is_empty() { Ok(addresses) } else { Err(problems) }
    }
}
