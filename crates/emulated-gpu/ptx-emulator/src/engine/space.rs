//! Address resolution: converts the address of a lane to a host address, or reports a fault.

#![allow(unsafe_code, reason = "computes pointers into a block's or a thread's memory")]

use super::core::{Core, Outcome, Problem, Region, Site};
use super::state_space::{LOCAL_WINDOW, SHARED_WINDOW, StateSpace, WINDOW_BYTES, in_window};
use crate::fault::FaultKind;
use crate::memory::{Lookup, no_access, read_only, unmapped, wrong_device};
use crate::program::Space;

/// One lane's access to memory.
#[derive(Clone, Copy)]
pub(super) struct LaneAccess {
    pub(super) state_space: StateSpace,
    /// Index of the access in [`Core::sites`].
    pub(super) site: u32,
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) lane: usize,
}

impl LaneAccess {
    /// An access whose memory is not cached in a site: to local or shared memory, or to a generic
    /// address that is resolved each time.
    pub(super) fn uncached(state_space: StateSpace, address: u64, bytes: u64, lane: usize) -> Self {
        Self { state_space, site: 0, address, bytes, lane }
    }
}

impl Core<'_> {
    /// The host address of an access, which must be aligned. Its size is a power of two.
    pub(super) fn resolve(&mut self, access: LaneAccess, write: bool) -> Outcome<*mut u8> {
        let LaneAccess { state_space, address, bytes, lane, .. } = access;
        if address & bytes.wrapping_sub(1) != 0 {
            let what = access_name(state_space, bytes, write);
            return Err(Problem::new(
                FaultKind::Misaligned,
                format!("{what} at {address:#x}, which is not a multiple of {bytes}"),
            )
            .lane(lane)
            .address(address)
            .note("the address of an access has to be a multiple of its size (for a vector, the size of all elements)"));
        }
        self.resolve_bytes(access, write)
    }

    /// Like [`resolve`](Self::resolve), for any number of bytes at any address.
    pub(super) fn resolve_bytes(&mut self, access: LaneAccess, write: bool) -> Outcome<*mut u8> {
        let LaneAccess { state_space, address, bytes, lane, .. } = access;
        let found = match state_space {
            StateSpace::Global => return self.resolve_global(access, write),
            StateSpace::Shared => self.shared_region(0).host(address, bytes),
            StateSpace::Local => self.local_address(0, address, bytes, lane),
            StateSpace::Param if address < LOCAL_WINDOW && write => None,
            StateSpace::Param if address < LOCAL_WINDOW => {
                self.parameter_region(0).host(address, bytes)
            }
            StateSpace::Param => self.local_address(LOCAL_WINDOW, address, bytes, lane),
            StateSpace::Generic if in_window(address, SHARED_WINDOW) => {
                self.shared_region(SHARED_WINDOW).host(address, bytes)
            }
            StateSpace::Generic if in_window(address, LOCAL_WINDOW) => {
                self.local_address(LOCAL_WINDOW, address, bytes, lane)
            }
            StateSpace::Generic => {
                let base = self.parameters.as_slice().as_ptr() as u64;
                match self.parameter_region(base).host(address, bytes) {
                    Some(host) if !write => Some(host),
                    Some(_) => None,
                    None => return self.resolve_global(access, write),
                }
            }
        };
        found.ok_or_else(|| self.outside_problem(access, write))
    }

    /// Whether a generic address is in a state space; `constants` are the ranges of constant
    /// variables.
    pub(super) fn is_in_space(&self, space: Space, address: u64, constants: &[(u64, u64)]) -> bool {
        let shared = in_window(address, SHARED_WINDOW);
        let local = in_window(address, LOCAL_WINDOW);
        let base = self.parameters.as_slice().as_ptr() as u64;
        let parameter = address.wrapping_sub(base) < self.parameters.len();
        let constant = constants.iter().any(|&(base, size)| address.wrapping_sub(base) < size);
        match space {
            Space::Shared => shared,
            Space::Local => local,
            Space::Param => parameter,
            Space::Const => constant,
            _ => !(shared || local || parameter || constant),
        }
    }

    /// The region of shared memory, starting at the address `base`.
    pub(super) fn shared_region(&mut self, base: u64) -> Region {
        Region { base, len: self.shared.len(), host: self.shared.as_mut_ptr() }
    }

    /// The region of the launch's parameters, starting at the address `base`.
    pub(super) fn parameter_region(&self, base: u64) -> Region {
        let bytes = self.parameters.as_slice();
        Region { base, len: bytes.len() as u64, host: bytes.as_ptr().cast_mut() }
    }

    /// The host address of bytes in a thread's local memory, which starts at `base`; `None` for
    /// redzones.
    fn local_address(
        &mut self,
        base: u64,
        address: u64,
        bytes: u64,
        lane: usize,
    ) -> Option<*mut u8> {
        let found = self.local_region(base, lane).host(address, bytes)?;
        self.image.overlapped_redzone(address.wrapping_sub(base), bytes).is_none().then_some(found)
    }

    /// The region of one thread's local memory, starting at the address `base`.
    pub(super) fn local_region(&mut self, base: u64, lane: usize) -> Region {
        let len = self.thread_local_bytes();
        let at = len as usize * lane;
        // The region is a range of the slice, so that a lane can never access another lane's
        // memory.
        let own = self.local.as_mut_slice().get_mut(at..at + len as usize);
        own.map_or(Region::NONE, |own| Region { base, len, host: own.as_mut_ptr() })
    }

    fn resolve_global(
        &mut self,
        LaneAccess { site, address, bytes, lane, .. }: LaneAccess,
        write: bool,
    ) -> Outcome<*mut u8> {
        if let Some(host) = self.sites[site as usize].region.host(address, bytes) {
            return Ok(host);
        }
        let what = access_name(StateSpace::Global, bytes, write);
        let problem = match self.memory.open(address, bytes, write, self.reach) {
            // Constant memory is never cached for writes, so every one is checked here.
            Lookup::Live { constant: true, .. } if write => Problem::new(
                FaultKind::IllegalAddress,
                format!("{what} at {address:#x}, which is constant memory: kernels only read it"),
            ),
            Lookup::Live { base, size, shadow, .. } => {
                let region = Region { base, len: size, host: base as *mut u8 };
                let races = self.races.map(|races| races.shadow(base, size)).transpose();
                let races = races.map_err(|error| {
                    let message = format!("racecheck of an allocation of {size} bytes: {error}");
                    Problem::new(FaultKind::OutOfMemory, message).lane(lane).address(address)
                })?;
                self.sites[site as usize] = Site { region, shadow, races };
                return Ok(address as *mut u8);
            }
            Lookup::SpansMappings => {
                // Accesses that span several mappings are not cached, so their initialisation is
                // recorded here, and racecheck ignores them.
                self.sites[site as usize] = Site::NONE;
                if write {
                    self.memory.note_written(address, bytes);
                }
                return Ok(address as *mut u8);
            }
            Lookup::NoAccess { base, size, write, from } => {
                let message = format!("{what} at {address:#x}, where this device has no access");
                Problem::new(FaultKind::IllegalAddress, message)
                    .note(no_access(base, size, write, from))
            }
            Lookup::Freed => Problem::new(
                FaultKind::UseAfterFree,
                format!("{what} at {address:#x}, which has been freed"),
            ),
            Lookup::ReadOnly { base, size } => {
                let message = format!("{what} at {address:#x}, which is read-only");
                Problem::new(FaultKind::IllegalAddress, message).note(read_only(base, size))
            }
            Lookup::Unmapped { base, size } => {
                let message = format!("{what} at {address:#x}, which the host has unmapped");
                Problem::new(FaultKind::IllegalAddress, message).note(unmapped(base, size))
            }
            Lookup::OtherDevice { home, reach } => {
                let message = format!("{what} at {address:#x}, which is on another device");
                Problem::new(FaultKind::IllegalAddress, message).note(wrong_device(home, reach))
            }
            Lookup::Outside => Problem::new(
                FaultKind::IllegalAddress,
                format!("{what} at {address:#x}, which is outside of every allocation"),
            ),
        };
        let near = match address {
            0..4096 => "it is a null pointer, or close to one".to_owned(),
            _ if in_window(address, SHARED_WINDOW) => "it is the generic address of shared memory; ld.global and st.global take global ones".to_owned(),
            _ if in_window(address, LOCAL_WINDOW) => "it is the generic address of local memory; ld.global and st.global take global ones".to_owned(),
            _ => self.memory.neighbourhood(address),
        };
        Err(problem.lane(lane).address(address).note(near))
    }

    /// Describes the memory that contains an address, for a report.
    pub(super) fn describe_address(&self, state_space: StateSpace, address: u64) -> Option<String> {
        let shared = match state_space {
            StateSpace::Shared => Some(address),
            StateSpace::Generic if in_window(address, SHARED_WINDOW) => {
                Some(address - SHARED_WINDOW)
            }
            _ => None,
        };
        let Some(offset) = shared else {
            let global = matches!(state_space, StateSpace::Global | StateSpace::Generic);
            return global.then(|| self.memory.neighbourhood(address));
        };
        let variables = &self.image.shared_variables;
        let found = variables.iter().find(|(_, at, size)| offset.wrapping_sub(*at) < *size);
        Some(match found {
            Some((name, at, size)) => {
                format!(
                    "it is {} bytes into the shared variable `{name}` of {size} bytes",
                    offset - at
                )
            }
            None => {
                let dynamic = offset.saturating_sub(self.image.dynamic_start());
                format!("it is {dynamic} bytes into dynamic shared memory")
            }
        })
    }

    fn outside_problem(
        &self,
        LaneAccess { state_space, address, bytes, lane, .. }: LaneAccess,
        write: bool,
    ) -> Box<Problem> {
        let what = access_name(state_space, bytes, write);
        let (name, size) = match state_space {
            StateSpace::Shared => ("shared memory of the block", self.shared.len()),
            StateSpace::Generic if in_window(address, SHARED_WINDOW) => {
                ("shared memory of the block", self.shared.len())
            }
            StateSpace::Param if address < LOCAL_WINDOW && !write => {
                ("kernel's parameters", self.parameters.len())
            }
            StateSpace::Param | StateSpace::Generic if address < SHARED_WINDOW => {
                let message = format!("{what} at {address:#x}, in the kernel's parameters");
                return Problem::new(FaultKind::IllegalAddress, message)
                    .lane(lane)
                    .address(address)
                    .note("parameters are read-only: copy what is to change");
            }
            _ => {
                let redzones = u64::from(self.image.padding);
                ("local memory of the thread", self.thread_local_bytes() - redzones)
            }
        };
        let offset = address & (WINDOW_BYTES - 1);
        let is_local =
            !matches!(state_space, StateSpace::Shared) && !in_window(address, SHARED_WINDOW);
        if is_local && let Some(variable) = self.image.overlapped_redzone(offset, bytes) {
            let (size, name) = (variable.end - variable.start, &variable.name);
            let message =
                format!("{what} at {address:#x}, outside of the variable `{name}` ({size} bytes)");
            let note = match offset.checked_sub(variable.end) {
                Some(after) => format!("it is {after} bytes after the end"),
                None if offset < variable.start => {
                    format!("it begins {} bytes before the start", variable.start - offset)
                }
                None => format!("it begins {} bytes before the end", variable.end - offset),
            };
            return Problem::new(FaultKind::IllegalAddress, message)
                .lane(lane)
                .address(address)
                .note(note);
        }
        let message = format!("{what} at {address:#x}, outside of the {name} ({size} bytes)");
        let problem = Problem::new(FaultKind::IllegalAddress, message);
        let note = if offset >= size {
            format!("it is {} bytes after the end", offset - size)
        } else {
            format!("it begins {} bytes before the end", size - offset)
        };
        problem.lane(lane).address(address).note(note)
    }
}

pub(super) fn access_name(state_space: StateSpace, bytes: u64, write: bool) -> String {
    let space = match state_space {
        StateSpace::Global => "global ",
        StateSpace::Shared => "shared ",
        StateSpace::Local => "local ",
        StateSpace::Param => "parameter ",
        StateSpace::Generic => "generic ",
    };
    let verb = if write { "write" } else { "read" };
    format!("{space}{verb} of {bytes} {}", if bytes == 1 { "byte" } else { "bytes" })
}
