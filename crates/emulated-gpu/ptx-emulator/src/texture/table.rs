//! The table of texture handles. A handle is a number that [`Bindings::create`] returned, or the
//! address of a `.texref` or `.surfref` variable of a module, to which a resource can be bound.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::{Opaque, Resource};

/// Handles are larger than any host address, so that the two can't be confused.
const FIRST_HANDLE: u64 = 1 << 62;

/// No resource of that kind has this handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{handle:#x} is not a valid {} handle", match .kind { Opaque::Texture => "texture", Opaque::Surface => "surface" })]
pub struct NotBound {
    /// The handle.
    pub handle: u64,
    /// The kind that was expected.
    pub kind: Opaque,
}

/// A handle in the table.
#[derive(Clone, Debug)]
struct BoundObject {
    kind: Opaque,
    /// Whether the handle is a variable of a module, so that its resource can change.
    variable: bool,
    resource: Option<Arc<Resource>>,
}

/// The result of looking up a handle in a kernel.
#[derive(Clone, Debug)]
pub(crate) enum HandleLookup {
    Bound(Arc<Resource>),
    /// A variable to which nothing is bound.
    Empty(Opaque),
    /// A handle that was destroyed.
    Destroyed,
    Unknown,
}

/// The textures and surfaces of the devices, by handle. A launch keeps the resources that it found
/// until it ends.
#[derive(Debug)]
pub struct Bindings {
    table: RwLock<HashMap<u64, BoundObject>>,
    next: AtomicU64,
}

impl Default for Bindings {
    fn default() -> Self {
        Self { table: RwLock::default(), next: AtomicU64::new(FIRST_HANDLE) }
    }
}

impl Bindings {
    /// Creates a new, unique handle.
    #[must_use]
    pub fn create(&self, resource: Resource) -> u64 {
        let handle = self.next.fetch_add(1, Ordering::Relaxed);
        let (kind, resource) = (resource.kind(), Some(Arc::new(resource)));
        self.write().insert(handle, BoundObject { kind, variable: false, resource });
        handle
    }

    /// Destroys a handle from [`create`](Self::create). Launches that have found it keep its
    /// resource.
    ///
    /// # Errors
    /// If it is not the handle of a resource of that kind.
    pub fn destroy(&self, handle: u64, kind: Opaque) -> Result<Resource, NotBound> {
        let mut table = self.write();
        let own = table.get(&handle).filter(|entry| entry.kind == kind && !entry.variable);
        let found = own.and_then(|entry| entry.resource.as_deref().copied());
        let found = found.ok_or(NotBound { handle, kind })?;
        table.remove(&handle);
        Ok(found)
    }

    /// Binds a resource to a variable of a module, or unbinds it (`None`).
    ///
    /// # Errors
    /// If the variable is unknown, or of the other kind.
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

    /// The resource of a handle.
    #[must_use]
    pub fn get(&self, handle: u64) -> Option<Resource> {
        self.read().get(&handle)?.resource.as_deref().copied()
    }

    /// Adds a variable of a module, by address.
    pub(crate) fn declare(&self, variable: u64, kind: Opaque) {
        self.write().insert(variable, BoundObject { kind, variable: true, resource: None });
    }

    /// Removes the variable at this address.
    pub(crate) fn forget(&self, variable: u64) {
        self.write().remove(&variable);
    }

    /// Looks up a handle for a kernel.
    pub(crate) fn find(&self, handle: u64) -> HandleLookup {
        match self.read().get(&handle) {
            Some(BoundObject { resource: Some(resource), .. }) => {
                HandleLookup::Bound(Arc::clone(resource))
            }
            Some(BoundObject { kind, .. }) => HandleLookup::Empty(*kind),
            None if (FIRST_HANDLE..self.next.load(Ordering::Relaxed)).contains(&handle) => {
                HandleLookup::Destroyed
            }
            None => HandleLookup::Unknown,
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<u64, BoundObject>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<u64, BoundObject>> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}
