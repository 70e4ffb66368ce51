//! The handles that calls have returned. Their objects may have been destroyed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

macro_rules! kinds {
    ($($kind:ident $name:literal;)*) => {
        /// The kind of object that a handle belongs to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(super) enum ObjectKind {
            $($kind,)*
        }

        impl ObjectKind {
            /// The kind with this name in the list of functions.
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
    /// Whether objects of this kind live in memory that the client allocates, so that threads must
    /// not share them.
    pub(super) fn is_thread_private(self) -> bool {
        matches!(self, Self::Descriptor | Self::Layout | Self::Preference)
    }
}

/// Handles by kind. For device memory, these are addresses.
#[derive(Default)]
pub(super) struct Objects(Mutex<HashMap<ObjectKind, Vec<u64>>>);

impl Objects {
    pub(super) fn add(&self, kind: ObjectKind, handle: u64) {
        let mut objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        objects.entry(kind).or_default().push(handle);
    }

    /// A handle of this kind.
    pub(super) fn choose(&self, kind: ObjectKind, which: u8) -> Option<u64> {
        let objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let list = objects.get(&kind)?;
        list.get(usize::from(which) % list.len().max(1)).copied()
    }

    pub(super) fn remove(&self, kind: ObjectKind, handle: u64) {
        let mut objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        objects.entry(kind).or_default().retain(|&own| own != handle);
    }

    /// Removes and returns all handles of this kind.
    pub(super) fn drain(&self, kind: ObjectKind) -> Vec<u64> {
        let mut objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        objects.remove(&kind).unwrap_or_default()
    }
}
