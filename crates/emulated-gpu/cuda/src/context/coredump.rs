//! Core dump attributes (CUDA Driver API, "Coredump Attributes Control API"). The emulator writes no core dumps,
//! since a fault's report says what one would show. The attributes are kept and can be read; enabling core dumps is
//! refused.

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
/// A text has at most this many bytes, with the NUL behind it.
pub(crate) const TEXT: usize = 1024;

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

/// What was said, where it was.
#[derive(Clone, Debug, Default)]
struct Said {
    flags: Option<u32>,
    file: Option<String>,
    pipe: Option<String>,
}

/// What was said of each context, and of all of them.
#[derive(Debug, Default)]
pub(crate) struct Coredumps {
    contexts: Mutex<HashMap<Handle, Said>>,
}

/// The name that stands for all contexts.
pub(crate) const ALL: Handle = 0;

impl Attribute {
    /// Bytes of its value.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::File | Self::Pipe => TEXT,
            Self::Flags => size_of::<u32>(),
            _ => size_of::<bool>(),
        }
    }
}

/// "core.cuda.HOST.PROCESS", and the same of the pipe.
fn named(what: &str) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{what}.cuda.{}.{}", host.trim(), std::process::id())
}

impl Coredumps {
    fn contexts(&self) -> MutexGuard<'_, HashMap<Handle, Said>> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What holds for a context, or for all.
    pub(crate) fn get(&self, context: Handle, attribute: Attribute) -> Value {
        let contexts = self.contexts();
        let [own, all] =
            [context, ALL].map(|name| contexts.get(&name).cloned().unwrap_or_default());
        let flags = own.flags.or(all.flags).unwrap_or_default();
        match attribute {
            Attribute::OnException | Attribute::UserTrigger => Value::Switch(false),
            Attribute::TriggerHost => Value::Switch(flags & SKIP_ABORT == 0),
            Attribute::Lightweight => Value::Switch(flags & LIGHTWEIGHT == LIGHTWEIGHT),
            Attribute::Flags => Value::Flags(flags),
            Attribute::File => Value::Text(own.file.or(all.file).unwrap_or_else(|| named("core"))),
            Attribute::Pipe => {
                Value::Text(own.pipe.or(all.pipe).unwrap_or_else(|| named("corepipe")))
            }
        }
    }

    /// Says it of a context, or of all.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` where a dump would be written, `NOT_PERMITTED` of a context's own pipe, `INVALID_VALUE`.
    pub(crate) fn set(&self, context: Handle, attribute: Attribute, value: Value) -> Result {
        let mut contexts = self.contexts();
        let all = contexts.get(&ALL).and_then(|all| all.flags);
        let own = contexts.entry(context).or_default();
        let flags = own.flags.or(all).unwrap_or_default();
        let switched = |bits: u32, on: bool| Some(if on { flags | bits } else { flags & !bits });
        match (attribute, value) {
            (Attribute::OnException | Attribute::UserTrigger, Value::Switch(false)) => {}
            (Attribute::OnException | Attribute::UserTrigger, Value::Switch(true)) => {
                return Err(Code::NOT_SUPPORTED.because(
                    "core dumps are not written; the report of a fault is on standard error",
                ));
            }
            (Attribute::TriggerHost, Value::Switch(on)) => own.flags = switched(SKIP_ABORT, !on),
            (Attribute::Lightweight, Value::Switch(on)) => own.flags = switched(LIGHTWEIGHT, on),
            (Attribute::Flags, Value::Flags(flags)) if flags & !FLAGS == 0 => {
                own.flags = Some(flags);
            }
            (Attribute::File, Value::Text(text)) => own.file = Some(text),
            (Attribute::Pipe, Value::Text(_)) if context != ALL => {
                return Err(Code::NOT_PERMITTED.because("a process has one pipe, for all contexts"));
            }
            (Attribute::Pipe, Value::Text(text)) => own.pipe = Some(text),
            (attribute, value) => {
                return Err(Code::INVALID_VALUE.because(format!("{value:?} of {attribute:?}")));
            }
        }
        Ok(())
    }
}
