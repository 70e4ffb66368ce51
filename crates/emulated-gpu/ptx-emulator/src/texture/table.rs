//! The table of texture handles. A handle is a number that was given out, or the address of a variable
//! of a module, `.texref` or `.surfref`, to which something is bound.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::{Opaque, Resource};

/// Handles are larger than any address of a host, so that none is taken for the other.
const FIRST: u64 = 1 << 62;

/// Nothing is known by a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{handle:#x} stands for no {}", match .kind { Opaque::Texture => "texture", Opaque::Surface => "surface" })]
pub struct NotBound {
    /// The handle.
    pub handle: u64,
    /// What it was to be.
    pub kind: Opaque,
}

/// What is known by a handle.
#[derive(Clone, Debug)]
struct Entry {
    kind: Opaque,
    /// It is a variable of a module: what is bound to it changes.
    variable: bool,
    resource: Option<Arc<Resource>>,
}

/// What a kernel meets at a handle.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    Bound(Arc<Resource>),
    /// It is a variable, to which nothing is bound.
    Empty(Opaque),
    /// It stood for something once.
    Destroyed,
    Unknown,
}

/// The textures and surfaces of the devices, by handle. A launch keeps what it has found until it ends.
#[derive(Debug)]
pub struct Bindings {
    table: RwLock<HashMap<u64, Entry>>,
    next: AtomicU64,
}

impl Default for Bindings {
    fn default() -> Self {
        Self { table: RwLock::default(), next: AtomicU64::new(FIRST) }
    }
}

impl Bindings {
    /// A new handle, which no other has been or will be.
    #[must_use]
    pub fn create(&self, resource: Resource) -> u64 {
        let handle = self.next.fetch_add(1, Ordering::Relaxed);
        let (kind, resource) = (resource.kind(), Some(Arc::new(resource)));
        self.write().insert(handle, Entry { kind, variable: false, resource });
        handle
    }

    /// Forgets a handle that [`create`](Self::create) gave. Launches that have found it keep what it
    /// stands for.
    ///
    /// # Errors
    /// When it stands for nothing of that kind.
    pub fn destroy(&self, handle: u64, kind: Opaque) -> Result<Resource, NotBound> {
        let mut table = self.write();
        let own = table.get(&handle).filter(|entry| entry.kind == kind && !entry.variable);
        let found = own.and_then(|entry| entry.resource.as_deref().copied());
        let found = found.ok_or(NotBound { handle, kind })?;
        table.remove(&handle);
        Ok(found)
    }

    /// Binds something to a variable of a module, or nothing any longer.
    ///
    /// # Errors
    /// When the variable is not known, or of the other kind.
    pub fn bind(
        &self,
        variable: u64,
        kind: Opaque,
        resource: Option<Resource>,
    ) -> Result<(), NotBound> {
        let mut table = self.write();
        let entry = table.get_mut(&variable).filter(|entry| entry.variable && entry.kind == kind);
        let entry = entry.ok_or(NotBound { handle: variable, kind })?;
        entry.resource = resource.filter(|resource| resource.kind() == kind).map(Arc::new);
        Ok(())
    }

    /// What a handle stands for now.
    #[must_use]
    pub fn get(&self, handle: u64) -> Option<Resource> {
        self.read().get(&handle)?.resource.as_deref().copied()
    }

    /// Notes a variable of a module, at an address.
    pub(crate) fn declare(&self, variable: u64, kind: Opaque) {
        self.write().insert(variable, Entry { kind, variable: true, resource: None });
    }

    /// The variable is gone.
    pub(crate) fn forget(&self, variable: u64) {
        self.write().remove(&variable);
    }

    /// What a kernel meets at a handle.
    pub(crate) fn find(&self, handle: u64) -> Wanted {
        match self.read().get(&handle) {
            Some(Entry { resource: Some(resource), .. }) => Wanted::Bound(Arc::clone(resource)),
            Some(Entry { kind, .. }) => Wanted::Empty(*kind),
            None if (FIRST..self.next.load(Ordering::Relaxed)).contains(&handle) => {
                Wanted::Destroyed
            }
            None => Wanted::Unknown,
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<u64, Entry>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<u64, Entry>> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}
