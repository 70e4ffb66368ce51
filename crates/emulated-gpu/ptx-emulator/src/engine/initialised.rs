//! Which bytes of memory something has written: for each byte one more, 1 where it is known.
//! Registered memory, variables of the module and parameters always are.

use std::sync::atomic::{AtomicU8, Ordering};

use super::core::{Core, Outcome, Problem};
use super::space::{LOCAL_WINDOW, Room, SHARED_WINDOW, in_window};
use crate::fault::FaultKind;

/// An access that [`Core::resolve`] has found good.
#[derive(Clone, Copy)]
pub(super) struct Resolved {
    pub(super) room: Room,
    pub(super) site: u32,
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) lane: usize,
}

impl Core<'_> {
    /// The shadow of the bytes of an access; `None` where everything is known.
    fn shadow(&self, access: Resolved) -> Option<&[AtomicU8]> {
        let Resolved { room, site, address, bytes, lane } = access;
        let local = |offset: u64| {
            let at = self.thread_local_bytes() * lane as u64 + offset;
            (self.local.shadow(), at)
        };
        let (shadow, at) = match room {
            Room::Shared => (self.shared.shadow(), address),
            Room::Local => local(address),
            Room::Param if address < LOCAL_WINDOW => return None,
            Room::Param => local(address - LOCAL_WINDOW),
            Room::Generic if in_window(address, SHARED_WINDOW) => {
                (self.shared.shadow(), address - SHARED_WINDOW)
            }
            Room::Generic if in_window(address, LOCAL_WINDOW) => local(address - LOCAL_WINDOW),
            Room::Global | Room::Generic => {
                let site = &self.sites[site as usize];
                (&**site.shadow.as_deref()?, address.checked_sub(site.region.base)?)
            }
        };
        let at = usize::try_from(at).ok()?;
        shadow.get(at..at.checked_add(bytes as usize)?)
    }

    /// Notes that an access has written.
    pub(super) fn mark_written(&self, access: Resolved) {
        for byte in self.shadow(access).unwrap_or(&[]) {
            byte.store(1, Ordering::Relaxed);
        }
    }

    /// A problem if an access reads what nothing has written.
    pub(super) fn require_written(&self, access: Resolved) -> Outcome {
        let shadow = self.shadow(access).unwrap_or(&[]);
        let Some(unknown) = shadow.iter().position(|byte| byte.load(Ordering::Relaxed) == 0) else {
            return Ok(());
        };
        let Resolved { room, address, bytes, lane, .. } = access;
        let space = match room {
            Room::Shared => "shared",
            Room::Local | Room::Param => "local",
            Room::Global => "global",
            Room::Generic => "generic",
        };
        let message = format!(
            "{space} read of {bytes} bytes at {address:#x}, of which byte {unknown} has never been written"
        );
        let problem = Problem::new(FaultKind::Uninitialised, message).lane(lane).address(address);
        Err(match room {
            Room::Global => problem.note(self.memory.neighbourhood(address)),
            _ => problem,
        })
    }

    /// What is known of the source of a copy in a thread's own memory is known of the target.
    pub(super) fn copy_written(&self, to: u64, from: u64, bytes: u64, lane: usize) {
        let access = |address| Resolved { room: Room::Local, site: 0, address, bytes, lane };
        let (Some(to), Some(from)) = (self.shadow(access(to)), self.shadow(access(from))) else {
            return;
        };
        for (to, from) in to.iter().zip(from) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}
