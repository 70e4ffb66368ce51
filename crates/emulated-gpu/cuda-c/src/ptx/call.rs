//! The PTX of calls, of results, and of function declarations.

use std::fmt::Write as _;

use super::instruction::{Line, Names};
use crate::ir::{Callee, Function, Memory, Passed};

/// The declaration of a parameter or a result.
pub(super) fn declaration(passed: &Passed, name: &str) -> String {
    match passed {
        Passed::Value(ty) => format!(".param .b{} {name}", ty.bits()),
        Passed::Struct { size, align, .. } => format!(".param .align {align} .b8 {name}[{size}]"),
    }
}

/// The declaration of a function: its result, its name and its parameters.
pub(super) fn signature(function: &Function) -> String {
    let mut text = match (function.is_kernel, &function.result) {
        (true, _) => format!(".visible .entry {}(", function.name),
        (false, None) => format!(".func {}(", function.name),
        (false, Some(passed)) => {
            format!(".func ({}) {}(", declaration(passed, "func_retval0"), function.name)
        }
    };
    for (index, param) in function.params.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let name = format!("{}_param_{index}", function.name);
        let _ = match param.memory {
            Some(memory) if function.is_kernel => {
                write!(text, "{comma}\n\t.param .{} {name}", memory.suffix())
            }
            Some(memory) => {
                write!(text, "{comma}\n\t.param .b{} {name}", memory.ty().bits())
            }
            None => {
                write!(text, "{comma}\n\t.param .align {} .b8 {name}[{}]", param.align, param.size)
            }
        };
    }
    text.push_str(if function.params.is_empty() { ")" } else { "\n)" });
    text
}

/// Copies the pieces of a struct with instructions such as `ld` and `st.param`.
fn copy(names: &mut impl Names, pieces: &[(u64, Memory)], from: (&str, &str), to: (&str, &str)) {
    for (offset, memory) in pieces {
        let (temporary, suffix) = (names.temporary(memory.ty()), memory.suffix());
        names.line(&format!("{}.{suffix} \t{temporary}, [{}+{offset}];", from.0, from.1));
        names.line(&format!("{}.{suffix} \t[{}+{offset}], {temporary};", to.0, to.1));
    }
}

pub(super) fn call(line: &mut Line<'_, impl Names>, callee: &Callee) {
    let registers = line.registers();
    let (names, value) = (&mut *line.names, line.value);
    names.line("{");
    let mut list = Vec::new();
    for (index, (passed, register)) in callee.parameters.iter().zip(&registers).enumerate() {
        let name = format!("param{index}");
        names.line(&format!("{};", declaration(passed, &name)));
        match passed {
            Passed::Value(ty) => {
                names.line(&format!("st.param.b{} \t[{name}], {register};", ty.bits()));
            }
            Passed::Struct { pieces, .. } => {
                copy(names, pieces, ("ld", register), ("st.param", &name));
            }
        }
        list.push(name);
    }
    let (name, list) = (&callee.name, list.join(", "));
    match &callee.result {
        None => names.line(&format!("call {name}, ({list});")),
        Some(passed) => {
            names.line(&format!("{};", declaration(passed, "retval0")));
            names.line(&format!("call (retval0), {name}, ({list});"));
            match passed {
                Passed::Value(ty) => {
                    let to = names.register(value);
                    names.line(&format!("ld.param.b{} \t{to}, [retval0];", ty.bits()));
                }
                Passed::Struct { pieces, .. } => {
                    let to = registers.last().map_or("", String::as_str);
                    copy(names, pieces, ("ld.param", "retval0"), ("st", to));
                }
            }
        }
    }
    names.line("}");
}

/// Stores the result of a function.
pub(super) fn result(line: &mut Line<'_, impl Names>, passed: &Passed) {
    let from = line.in_register(0);
    let names = &mut *line.names;
    match passed {
        Passed::Value(ty) => {
            names.line(&format!("st.param.b{} \t[func_retval0], {from};", ty.bits()));
        }
        Passed::Struct { pieces, .. } => {
            copy(names, pieces, ("ld", &from), ("st.param", "func_retval0"));
        }
    }
}
