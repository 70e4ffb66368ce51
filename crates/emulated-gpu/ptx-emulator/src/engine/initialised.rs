//! Initialisation of memory, for initcheck: which bytes have been written. Registered memory,
//! module variables and parameters always count as initialised.

use super::access::instruction::Access;
use super::core::{Core, Outcome, Problem, Stretch};
use super::race::Effect;
use super::space::LaneAccess;
use super::state_space::{LOCAL_WINDOW, SHARED_WINDOW, StateSpace, in_window};
use crate::fault::FaultKind;
use crate::memory::InitialisedBytes;

impl LaneAccess {
    /// Whether the access is to the thread's local memory.
    pub(super) fn is_local(self) -> bool {
        match self.state_space {
            StateSpace::Local => true,
            StateSpace::Param => self.address >= LOCAL_WINDOW,
            StateSpace::Generic => in_window(self.address, LOCAL_WINDOW),
            StateSpace::Shared | StateSpace::Global => false,
        }
    }
}

impl Core<'_> {
    /// If initcheck is enabled, marks the bytes of a checked write as initialised, and reports a
    /// read of uninitialised bytes.
    #[inline]
    pub(super) fn check_written(&self, access: LaneAccess, effect: Effect) -> Outcome {
        match effect {
            _ if !self.initialisation => Ok(()),
            Effect::Write => {
                self.mark_written(access);
                Ok(())
            }
            Effect::Read | Effect::Update => self.require_written(access),
        }
    }

    /// The shadow of the bytes of an access, and their offset in the shadow; `None` if all bytes
    /// are initialised.
    fn shadow(&self, access: LaneAccess) -> Option<(&InitialisedBytes, usize)> {
        let LaneAccess { state_space, site, address, lane, .. } = access;
        let local = |offset: u64| {
            let at = self.thread_local_bytes() * lane as u64 + offset;
            (self.local.shadow(), at)
        };
        let (shadow, at) = match state_space {
            StateSpace::Shared => (self.shared.shadow(), address),
            StateSpace::Local => local(address),
            StateSpace::Param if address < LOCAL_WINDOW => return None,
            StateSpace::Param => local(address - LOCAL_WINDOW),
            StateSpace::Generic if in_window(address, SHARED_WINDOW) => {
                (self.shared.shadow(), address - SHARED_WINDOW)
            }
            StateSpace::Generic if in_window(address, LOCAL_WINDOW) => {
                local(address - LOCAL_WINDOW)
            }
            StateSpace::Global | StateSpace::Generic => {
                let site = &self.sites[site as usize];
                (site.shadow.as_deref(), address.checked_sub(site.region.base)?)
            }
        };
        Some((shadow?, usize::try_from(at).ok()?))
    }

    /// Marks the bytes of an access as initialised.
    #[inline]
    pub(super) fn mark_written(&self, access: LaneAccess) {
        if let Some((shadow, at)) = self.shadow(access) {
            shadow.set(at, access.bytes as usize, true);
        }
    }

    /// Marks the bytes of an access as uninitialised, because an uninitialised value was stored.
    pub(super) fn mark_uninitialised(&self, access: LaneAccess) {
        if let Some((shadow, at)) = self.shadow(access) {
            shadow.set(at, access.bytes as usize, false);
        }
    }

    /// Whether all bytes of an access are uninitialised.
    pub(super) fn is_uninitialised(&self, access: LaneAccess) -> bool {
        self.shadow(access).is_some_and(|(shadow, at)| {
            (0..access.bytes as usize).all(|byte| !shadow.are_initialised(at + byte, 1))
        })
    }

    /// Whether all bytes of both stretches are initialised.
    #[inline]
    pub(super) fn stretches_are_written(&self, access: &Access, found: &[Stretch; 2]) -> bool {
        found.iter().all(|stretch| {
            let shadow = self.shadow(access.lane_access(stretch.start, stretch.bytes, 0));
            shadow.is_none_or(|(shadow, at)| shadow.are_initialised(at, stretch.bytes as usize))
        })
    }

    /// Marks all bytes of both stretches as initialised.
    #[inline]
    pub(super) fn mark_stretches_written(&self, access: &Access, found: &[Stretch; 2]) {
        found.iter().for_each(|stretch| {
            self.mark_written(access.lane_access(stretch.start, stretch.bytes, 0))
        });
    }

    /// Reports a problem if an access reads uninitialised bytes.
    pub(super) fn require_written(&self, access: LaneAccess) -> Outcome {
        let unknown = self.shadow(access).and_then(|(shadow, at)| {
            Some(shadow.first_uninitialised(at, access.bytes as usize)? - at)
        });
        let Some(unknown) = unknown else { return Ok(()) };
        let LaneAccess { state_space, address, bytes, lane, .. } = access;
        let space = match state_space {
            StateSpace::Shared => "shared",
            StateSpace::Local | StateSpace::Param => "local",
            StateSpace::Global => "global",
            StateSpace::Generic => "generic",
        };
        let message = format!(
            "{space} read of {bytes} bytes at {address:#x}, of which byte {unknown} has never been written"
        );
        let problem = Problem::new(FaultKind::Uninitialised, message).lane(lane).address(address);
        Err(match self.describe_address(state_space, address) {
            Some(note) => problem.note(note),
            None => problem,
        })
    }

    /// Copies the initialisation of bytes within local memory.
    pub(super) fn copy_written(&self, to: u64, from: u64, bytes: u64, lane: usize) {
        let access = |address| LaneAccess::uncached(StateSpace::Local, address, bytes, lane);
        let (to, from) = (self.shadow(access(to)), self.shadow(access(from)));
        if let (Some((shadow, to)), Some((source, from))) = (to, from) {
            shadow.copy(to, source, from, bytes as usize);
        }
    }
}
