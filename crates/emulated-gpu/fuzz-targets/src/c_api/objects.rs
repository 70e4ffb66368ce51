//! Handles that calls have given, of objects that live or are gone.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

macro_rules! kinds {
    ($($kind:ident $name:literal;)*) => {
        /// What a handle is of.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(super) enum ObjectKind {
            $($kind,)*
        }

        impl ObjectKind {
            /// The kind of that name in the list of functions.
            pub(super) fn find(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$kind),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    Array "array";
    Card "card";
    Condition "condition";
    Context "context";
    Cublas "cublas";
    Cublaslt "cublaslt";
    Description "description";
    Descriptor "descriptor";
    Device "device";
    Event "event";
    Exec "exec";
    Function "function";
    Graph "graph";
    Green "green";
    Kernel "kernel";
    Layout "layout";
    Library "library";
    Linker "linker";
    Memory "memory";
    Mipmap "mipmap";
    Module "module";
    Node "node";
    Pool "pool";
    Preference "preference";
    Reference "reference";
    Stream "stream";
    Texture "texture";
    User "user";
}

impl ObjectKind {
    /// Whether objects are memory of the client's, of which a thread keeps its own.
    pub(super) fn is_own(self) -> bool {
        matches!(self, Self::Descriptor | Self::Layout | Self::Preference)
    }
}

/// Handles by kind; of device memory, addresses.
#[derive(Default)]
pub(super) struct Objects(Mutex<HashMap<ObjectKind, Vec<u64>>>);

impl Objects {
    pub(super) fn add(&self, kind: ObjectKind, handle: u64) {
        let mut objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        objects.entry(kind).or_default().push(handle);
    }

    /// One of a kind.
    pub(super) fn choose(&self, kind: ObjectKind, which: u8) -> Option<u64> {
        let objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let list = objects.get(&kind)?;
        list.get(usize::from(which) % list.len().max(1)).copied()
    }

    pub(super) fn remove(&self, kind: ObjectKind, handle: u64) {
        let mut objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        objects.entry(kind).or_default().retain(|&own| own != handle);
    }

    /// All of a kind, which are forgotten.
    pub(super) fn drain(&self, kind: ObjectKind) -> Vec<u64> {
        let mut objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        objects.remove(&kind).unwrap_or_default()
    }
}
