//! The links that there are, by the numbers that callers have for pointers: what isn't here is no link,
//! whatever a caller passes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::link::Link;
use crate::status::Status;

#[derive(Debug)]
struct Registry {
    links: Option<HashMap<usize, Arc<Mutex<Link>>>>,
    last: usize,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { links: None, last: 0 });

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a link; its handle.
pub(crate) fn keep(link: Link) -> usize {
    let mut registry = registry();
    // As far apart as pointers are, and never null.
    registry.last += 16;
    let handle = registry.last;
    registry.links.get_or_insert_default().insert(handle, Arc::new(Mutex::new(link)));
    handle
}

fn missing(handle: usize) -> Status {
    if handle == 0 { Status::NullInput } else { Status::InvalidInput }
}

/// Does something with the link of a handle.
///
/// # Errors
/// Where there is none.
pub(crate) fn with<T>(
    handle: usize,
    work: impl FnOnce(&mut Link) -> Result<T, Status>,
) -> Result<T, Status> {
    // Others can be linked at the same time.
    let link = registry().links.as_ref().and_then(|all| all.get(&handle).cloned());
    let link = link.ok_or_else(|| missing(handle))?;
    let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
    work(&mut link)
}

/// Ends a link.
///
/// # Errors
/// Where there is none.
pub(crate) fn forget(handle: usize) -> Result<(), Status> {
    let link = registry().links.as_mut().and_then(|all| all.remove(&handle));
    link.map(drop).ok_or_else(|| missing(handle))
}
