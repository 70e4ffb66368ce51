//! The result of lowering: functions and variables of a module.

use std::rc::Rc;

use super::Function;

with_rows! {
    /// A memory space, and the name of its instructions' modifier.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Space: &'static str {
        Generic = "";
        Global = ".global";
        Shared = ".shared";
        Local = ".local";
        Constant = ".const";
        Param = ".param";
    }
}

impl Space {
    pub(crate) fn name(self) -> &'static str {
        Self::ROWS[self as usize]
    }
}

/// A parameter of a kernel or of a function that stays a call.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    /// The variable's name in the source; empty if it has no name.
    pub(crate) name: Rc<str>,
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// The type of the element in memory; `None` for a struct.
    pub(crate) memory: Option<super::Memory>,
    pub(crate) is_pointer: bool,
    /// `__restrict__`
    pub(crate) restrict: bool,
    /// A pointer to `const` with `__restrict__`, which is only read from.
    pub(crate) read_only: bool,
}

/// A variable of the module.
#[derive(Clone, Debug)]
pub(crate) struct Global {
    pub(crate) name: String,
    pub(crate) space: Space,
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// The initial value; `None` for zeros.
    pub(crate) init: Option<Vec<u8>>,
    /// Whether this is `extern __shared__` memory, whose size the launch sets.
    pub(crate) dynamic: bool,
    /// Whether the host can find the variable by name.
    pub(crate) visible: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    pub(crate) functions: Vec<Function>,
    pub(crate) globals: Vec<Global>,
}
