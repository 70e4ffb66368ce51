//! Core dump attributes (CUDA Driver API, "Coredump Attributes Control API"). The emulator writes no core dumps,
//! because its report of a fault contains the same information. Attributes can be set and read, but enabling core
//! dumps gives an error.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::Handle;
use crate::abi::enumeration::enumeration;
use crate::abi::error::{Code, Result};

/// `CU_COREDUMP_LIGHTWEIGHT_FLAGS`, `CU_COREDUMP_SKIP_ABORT`
const LIGHTWEIGHT: u32 = 0b1_0010_1111;
const SKIP_ABORT: u32 = 1 << 4;
/// Every flag of `CUCoredumpGenerationFlags`.
const FLAGS: u32 = 0xc000_01ff;
/// The maximum length of a text value in bytes, including its NUL.
pub(crate) const MAX_TEXT: usize = 1024;

enumeration! {
    /// An attribute (`CUcoredumpSettings`).
    Attribute, "core dumps have no attribute {}" {
        OnException = 1, TriggerHost = 2, Lightweight = 3, UserTrigger = 4, File = 5, Pipe = 6, Flags = 7,
    }
}

/// The value of an attribute.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Switch(bool),
    Text(String),
    Flags(u32),
}

/// The attributes that were set explicitly.
#[derive(Clone, Debug, Default)]
struct Attributes {
    flags: Option<u32>,
    file: Option<String>,
    pipe: Option<String>,
}

/// The attributes of each context, and the global ones.
#[derive(Debug, Default)]
pub(crate) struct Coredumps {
    contexts: Mutex<HashMap<Handle, Attributes>>,
}

/// The key of the global attributes.
pub(crate) const GLOBAL: Handle = 0;

impl Attribute {
    /// The size of the attribute's value in bytes.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::File | Self::Pipe => MAX_TEXT,
            Self::Flags => size_of::<u32>(),
            _ => size_of::<bool>(),
        }
    }
}

/// The default name of a file or pipe: "core.cuda.HOST.PROCESS" for `what` = "core".
fn default_name(what: &str) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{what}.cuda.{}.{}", host.trim(), std::process::id())
}

impl Coredumps {
    fn contexts(&self) -> MutexGuard<'_, HashMap<Handle, Attributes>> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value for a context, or the global one.
    pub(crate) fn get(&self, context: Handle, attribute: Attribute) -> Value {
        let contexts = self.contexts();
        let [stored, all] =
            [context, GLOBAL].map(|key| contexts.get(&key).cloned().unwrap_or_default());
        let flags = stored.flags.or(all.flags).unwrap_or_default();
        match attribute {
            Attribute::OnException | Attribute::UserTrigger => Value::Switch(false),
            Attribute::TriggerHost => Value::Switch(flags & SKIP_ABORT == 0),
            Attribute::Lightweight => Value::Switch(flags & LIGHTWEIGHT == LIGHTWEIGHT),
            Attribute::Flags => Value::Flags(flags),
            Attribute::File => {
                Value::Text(stored.file.or(all.file).unwrap_or_else(|| default_name("core")))
            }
            Attribute::Pipe => {
                Value::Text(stored.pipe.or(all.pipe).unwrap_or_else(|| default_name("corepipe")))
            }
        }
    }

    /// Sets the value for a context, or the global one.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` when enabling core dumps, `NOT_PERMITTED` for the pipe of a single context, `INVALID_VALUE` if
    /// the value doesn't fit the attribute.
    pub(crate) fn set(&self, context: Handle, attribute: Attribute, value: Value) -> Result {
        let mut contexts = self.contexts();
        let all = contexts.get(&GLOBAL).and_then(|all| all.flags);
        let stored = contexts.entry(context).or_default();
        let flags = stored.flags.or(all).unwrap_or_default();
        let switched = |bits: u32, on: bool| Some(if on { flags | bits } else { flags & !bits });
        match (attribute, value) {
            (Attribute::OnException | Attribute::UserTrigger, Value::Switch(false)) => {}
            (Attribute::OnException | Attribute::UserTrigger, Value::Switch(true)) => {
                return Err(Code::NOT_SUPPORTED
                    .because("core dumps are not written; faults are reported on standard error"));
            }
            (Attribute::TriggerHost, Value::Switch(on)) => stored.flags = switched(SKIP_ABORT, !on),
            (Attribute::Lightweight, Value::Switch(on)) => stored.flags = switched(LIGHTWEIGHT, on),
            (Attribute::Flags, Value::Flags(flags)) if flags & !FLAGS == 0 => {
                stored.flags = Some(flags);
            }
            (Attribute::File, Value::Text(text)) => stored.file = Some(text),
            (Attribute::Pipe, Value::Text(_)) if context != GLOBAL => {
                return Err(Code::NOT_PERMITTED
                    .because("the pipe can only be set globally, since a process has only one"));
            }
            (Attribute::Pipe, Value::Text(text)) => stored.pipe = Some(text),
            (attribute, value) => {
                return Err(Code::INVALID_VALUE
                    .because(format!("{value:?} is not valid for {attribute:?}")));
            }
        }
        Ok(())
    }
}
