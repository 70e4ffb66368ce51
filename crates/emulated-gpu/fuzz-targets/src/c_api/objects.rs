//! The handles that calls have returned. Their objects may have been destroyed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

macro_rules! kinds {
    ($($kind:ident $($destructor:literal)?;)*) => {
        /// The kind of object that a handle belongs to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(super) enum ObjectKind {
            $($kind,)*
        }

        impl ObjectKind {
            pub(super) const ALL: &[Self] = &[$(Self::$kind),*];

            /// The function that destroys an object, if it takes nothing but the handle.
            pub(super) fn destructor(self) -> Option<&'static str> {
                match self {
                    $(Self::$kind => [$($destructor)?].first().copied(),)*
                }
            }
        }
    };
}

// The kinds are in the order in which `Api::clean_up` destroys objects.
kinds! {
    Texture "cuTexObjectDestroy";
    Array "cuArrayDestroy";
    Mipmap "cuMipmappedArrayDestroy";
    Reference "cuTexRefDestroy";
    Cublas "cublasDestroy_v2";
    Cublaslt "cublasLtDestroy";
    Exec "cuGraphExecDestroy";
    Graph "cuGraphDestroy";
    Event "cuEventDestroy_v2";
    Linker "cuLinkDestroy";
    Module "cuModuleUnload";
    Library "cuLibraryUnload";
    Pool "cuMemPoolDestroy";
    Memory "cuMemRelease";
    User;
    Green "cuGreenCtxDestroy";
    Context "cuCtxDestroy_v2";
    Stream "cuStreamDestroy_v2";
    Descriptor "cublasLtMatmulDescDestroy";
    Layout "cublasLtMatrixLayoutDestroy";
    Preference "cublasLtMatmulPreferenceDestroy";
    Card;
    Condition;
    Description;
    Device;
    Function;
    Kernel;
    Node;
}

impl ObjectKind {
    /// The kind with this name in the list of functions: the variant's name in lower case.
    pub(super) fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| format!("{kind:?}").to_lowercase() == name)
    }

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

    /// Chooses a handle of this kind.
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
