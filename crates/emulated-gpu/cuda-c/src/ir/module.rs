//! What a compilation makes.

use super::Function;

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Constant,
    Param,
}

impl Space {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Generic => "",
            Self::Global => ".global",
            Self::Shared => ".shared",
            Self::Local => ".local",
            Self::Constant => ".const",
            Self::Param => ".param",
        }
    }
}

/// A parameter of a kernel, or of a function that is called.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// What it is in a register; nothing for a struct.
    pub(crate) memory: Option<super::Memory>,
    pub(crate) is_pointer: bool,
    /// `__restrict__`
    pub(crate) restrict: bool,
    /// Only read from: a pointer to `const` that is `__restrict__`.
    pub(crate) read_only: bool,
}

/// A variable of the module.
#[derive(Clone, Debug)]
pub(crate) struct Global {
    pub(crate) name: String,
    pub(crate) space: Space,
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// What it begins with; nothing for zeros.
    pub(crate) init: Option<Vec<u8>>,
    /// `extern __shared__`: as large as the launch says.
    pub(crate) dynamic: bool,
    /// Whether the host finds it by its name.
    pub(crate) visible: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    pub(crate) functions: Vec<Function>,
    pub(crate) globals: Vec<Global>,
}
